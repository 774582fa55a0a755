// The interface of backends, which execute ops and transfers. Each backend has its own folder; all
// are listed in registry.cpp.
#pragma once

#include "core/backend/mode.hpp"
#include "core/base/time.hpp"
#include "core/machine/machine.hpp"
#include "core/memory/memory_store.hpp"
#include "core/memory/token.hpp"
#include "core/ops/op_kind.hpp"
#include "core/ops/registry.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

class NetworkPort;
struct LinkUse;

// The result of start(): the work is finished; or it finishes `after` this time on the caller's
// clock; or it is pending, and the backend will report its end to Completions.
struct Started {
  enum class State : std::uint8_t { finished, after, pending };
  State state = State::finished;
  Duration after{0};
};

// What start() needs for work that is issued before what it depends on has ended, and what it
// answers. With a token, resources of the same order may be given work that depends on this one.
struct Issue {
  std::span<const Token> after = {};  // what the work must wait for
  Instant now{};                      // on the clock of the run
  Token token = {};                   // of the work; none: it wasn't issued ahead
  Duration begins{0};                 // if Started says when it ends: it begins this time from now
};

// Receives the end of pending work. Thread-safe. Backends may call it before start() has returned.
class Completions {
 public:
  virtual ~Completions() = default;
  virtual void completed(std::uint32_t slot) = 0;
  // The same, and lends the calling thread, which must have nothing else to do and hold no lock:
  // the receiver may start on it what is next, on this slot, too, before it returns.
  virtual void completed_and_lend(std::uint32_t slot) { completed(slot); }
  // The same, with the times at which the work began and ended, on the clock of the run.
  virtual void completed(std::uint32_t slot, Instant /*start*/, Instant /*end*/) {
    completed(slot);
  }
  // Several, in any order.
  struct Ended {
    std::uint32_t slot;
    Instant start;
    Instant end;
  };
  virtual void completed(std::span<const Ended> all) {
    for (const Ended& ended : all) completed(ended.slot, ended.start, ended.end);
  }
  // No cause: it has ended, but something that it depends on has failed, which is reported, too.
  virtual void failed(std::uint32_t slot, std::string cause) = 0;
};

struct KernelCall {
  OpKindId kind;
  const Attrs* attrs = nullptr;            // must outlive the work
  std::span<const ReplicaId> inputs = {};  // in the device's memory
  ReplicaId output = {};                   // must have been acquired
  std::uint32_t further = 0;  // further outputs: the replicas behind `output`, likewise
  Duration expected{0};       // by the cost model
  std::uint32_t index = 0;    // of the op in its group
  Issue* issue = nullptr;     // null: the device issues nothing ahead
};

// Executes the ops of one device. Call from one thread at a time; which one may change where
// threads are lent (Completions).
class DeviceBackend {
 public:
  virtual ~DeviceBackend() = default;
  // Pins the device's thread to the device's cores and warms up the libraries. Must be called once,
  // before any other function. Throws a run Error if the device can't begin.
  virtual void enter_thread() {}
  // Starts an op in a slot, which must be free. Each stream has a slot, or, if the device issues
  // ahead, as many as its depth, in the order of the streams. May block until the op has finished.
  // Throws a run Error if the op fails at once.
  virtual Started start(std::uint32_t slot, const KernelCall& call) = 0;
  // What was started with an Issue may be held back until now, so that it goes to the device
  // together. To be called before others wait for its tokens, and when no more ops are ready.
  virtual void submit() {}
};

// An op that a device will compute, for DeviceBackendEntry::warm_up.
struct KernelSample {
  std::string_view kind;  // OpKind::name
  const Attrs& attrs;
  std::vector<TensorType> inputs = {};
  std::vector<TensorType> outputs = {};
};

// A part of a transfer over one link: bytes [offset, offset + bytes) of a tensor.
struct ChunkMove {
  ReplicaId from;
  ReplicaId to;  // must have been acquired
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  bool first = true;  // of its transfer on this link
  bool last = true;
  Duration expected{0};  // by the cost model
  // The item of the next link of the route, which waits for this chunk; none: the tensor is there.
  struct Next {
    std::uint32_t window = 0;
    std::uint32_t resource = 0;
    std::uint32_t item = 0;
  };
  std::optional<Next> next = {};
  Issue* issue = nullptr;   // null: the link issues nothing ahead
  std::uint32_t slot = 0;   // for Completions; of most links that of the direction
  std::uint32_t index = 0;  // of the op that has made the tensor in its group
};

// Executes the transfers of one link. Call from one thread at a time, which isn't always the same:
// links share threads.
class LinkBackend {
 public:
  virtual ~LinkBackend() = default;
  // Starts a chunk in a direction, in a slot of its own. The chunks of a direction must end in the
  // order in which they were started, unless they leave tokens. Throws a run Error if the chunk
  // fails at once.
  virtual Started start(Direction direction, const ChunkMove& move) = 0;
};

struct BackendContext {
  const Machine& machine;
  const OpRegistry& ops;
  MemoryStore& store;
  Completions& completions;
  NetworkPort* network = nullptr;  // to the other nodes of the run; null: there are none
  LinkUse* use = nullptr;  // of a link: where its backend says how it copies; null: nobody asks
  std::int64_t widest_team = 1;  // as in RunSetting
};

// A backend as the registry lists it. It serves one mode.
//
// A backend may be given work before what the work depends on has ended, if that was issued by a
// backend of the same `order`, which understands its tokens. `issue_depth` says how many items a
// device may have for each stream, or a link for each direction, that were issued and have not
// ended; 0: it issues nothing ahead. A link without an `order` gets chunks when what they depend on
// has ended, and may have so many under way; a device without one has an op for each stream.
struct DeviceBackendEntry {
  std::string_view name;
  // Whether the backend can execute the ops of this device, as far as the machine says.
  bool (*fits)(const Machine&, DeviceId);
  bool (*has_kernel)(const Machine&, DeviceId, const OpKind&);
  std::unique_ptr<DeviceBackend> (*make)(const BackendContext&, DeviceId);
  Mode mode = Mode::run;
  std::string_view order = {};
  std::uint32_t (*issue_depth)(const Machine&, DeviceId) = nullptr;  // null: 0
  // Whether its results have the bits of the CPU's. Else they are as near as their type allows.
  bool is_exact = true;
  // Whether this host has what a device that fits needs; may block while a driver starts. Asked for
  // devices of this process only, not for those of other nodes. Null: it has.
  bool (*is_here)(const Machine&, DeviceId) = nullptr;
  // Computes such ops once, of made-up values, where the first op of a kind takes longer than
  // others. Called before the clock of a run starts. Blocks. Ops that don't work are left out.
  // Throws a run Error if the device is of no use any more. Null: not needed.
  void (*warm_up)(const Machine&, DeviceId, std::span<const KernelSample>) = nullptr;
};

struct LinkBackendEntry {
  std::string_view name;
  bool (*fits)(const Machine&, LinkId);
  std::unique_ptr<LinkBackend> (*make)(const BackendContext&, LinkId);
  Mode mode = Mode::run;
  std::string_view order = {};
  std::uint32_t (*issue_depth)(const Machine&, LinkId) = nullptr;  // null: 0
  bool (*is_here)(const Machine&, LinkId) = nullptr;               // as of a device
};

// Whether the backend can serve this device or link of this process.
template <class Entry, class IdType>
bool serves(const Entry& entry, const Machine& machine, IdType id) {
  return entry.fits(machine, id) && (entry.is_here == nullptr || entry.is_here(machine, id));
}

}  // namespace troupe
