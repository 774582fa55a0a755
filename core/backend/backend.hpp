// How an op or a transfer is carried out. One folder per backend; registry.hpp finds them by name.
#pragma once

#include "core/backend/memory_store.hpp"
#include "core/base/time.hpp"
#include "core/machine/machine.hpp"
#include "core/ops/registry.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace troupe {

enum class Mode : std::uint8_t {
  run,       // real devices, real time
  simulate,  // the cost model's times, virtual time, no values
  rehearse,  // the cost model's times, virtual time, and the values that such a run would give
};
constexpr bool has_virtual_time(Mode mode) {
  return mode != Mode::run;
}
constexpr bool computes_values(Mode mode) {
  return mode != Mode::simulate;
}

// What start() answers: the work is finished, will be after a time (which the caller lets pass on
// its clock), or its end will be told to Completions.
struct Started {
  enum class State : std::uint8_t { finished, after, pending };
  State state = State::finished;
  Duration after{0};
};

// Where backends tell the end of pending work. Called from any thread, never from within start().
class Completions {
 public:
  virtual ~Completions() = default;
  virtual void completed(std::uint32_t lane) = 0;
  virtual void failed(std::uint32_t lane, std::string cause) = 0;
};

struct KernelCall {
  OpKindId kind;
  const Attrs* attrs = nullptr;            // outlive the work
  std::span<const ReplicaId> inputs = {};  // in the device's memory
  ReplicaId output = {};                   // acquired
  Duration expected{0};                    // by the cost model
  std::uint32_t index = 0;                 // of the op in its group
};

// Carries out ops of one device. All calls come from one thread, the device's own.
class DeviceBackend {
 public:
  virtual ~DeviceBackend() = default;
  // Called once on the device's thread before anything else there (pins it to the device's cores,
  // warms the libraries up).
  virtual void enter_thread() {}
  // Begins an op on a free lane; may block until it is finished. Throws a run Error where it fails
  // at once.
  virtual Started start(std::uint32_t lane, const KernelCall& call) = 0;
};

// A part of a transfer over one link: bytes [offset, offset + bytes) of a tensor.
struct ChunkMove {
  ReplicaId from;
  ReplicaId to;  // acquired
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  bool first = true;  // of its transfer on this link
  bool last = true;
  Duration expected{0};  // by the cost model
};

// Carries out transfers of one link; a lane is a Direction.
class LinkBackend {
 public:
  virtual ~LinkBackend() = default;
  virtual void enter_thread() {}
  // Begins a chunk in a direction that is idle. Throws a run Error where it fails at once.
  virtual Started start(Direction direction, const ChunkMove& move) = 0;
};

struct BackendContext {
  const Machine& machine;
  const OpRegistry& ops;
  MemoryStore& store;
  Completions& completions;
};

// An entry serves one mode: real backends a run, simulated ones a simulation.
struct DeviceBackendEntry {
  std::string_view name;
  // Whether it can carry out the work of this device here and now.
  bool (*fits)(const Machine&, DeviceId);
  bool (*has_kernel)(const Machine&, DeviceId, const OpKind&);
  std::unique_ptr<DeviceBackend> (*make)(const BackendContext&, DeviceId);
  Mode mode = Mode::run;
};

struct LinkBackendEntry {
  std::string_view name;
  bool (*fits)(const Machine&, LinkId);
  std::unique_ptr<LinkBackend> (*make)(const BackendContext&, LinkId);
  Mode mode = Mode::run;
};

}  // namespace troupe
