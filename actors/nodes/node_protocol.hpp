// The messages between the leader of a run on several nodes and the agents of its nodes. A message
// to or from the actor of a device or a link is one of messages.hpp, or one that stands for it
// here, behind the number of the run and the resource.
#pragma once

#include "actors/messages.hpp"
#include "actors/nodes/machine_values.hpp"
#include "actors/nodes/packed_replicas.hpp"
#include "actors/nodes/packed_share.hpp"
#include "actors/nodes/share_records.hpp"
#include "core/backend/cuda/gpu_of_device.hpp"
#include "core/backend/link_use.hpp"
#include "core/base/error.hpp"
#include "core/base/time.hpp"
#include "core/machine/machine.hpp"
#include "core/memory/digest.hpp"
#include "core/memory/memory_store.hpp"
#include "core/ops/op_kind.hpp"
#include "core/ops/value_source.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include <caf/all.hpp>

namespace troupe {

// leader → agent: the leader asks for the node. Answered with Welcome or Refusal.
struct Hello {
  struct Kind {
    std::string name;
    std::string signature;  // see signature_of()
  };
  std::vector<Kind> kinds;          // of ops, by OpKindId
  bool needs_no_others = false;     // else the node is to have the same
  caf::actor leader;                // when it is gone, so is the node's work
  bool uses_shared_memory = false;  // for tensors, as all nodes are on one host; else TCP
  // The leader has given up the node that was there, which may be this one.
  bool begins_anew = false;
  std::uint64_t process = 0;  // of the leader: see process_number()
  std::string leader_name;    // "process 4711 on login"
};
struct Welcome {
  std::string name;     // the node's own, or empty
  std::string host;     // the same for all nodes of one host
  std::string pids;     // the same for those of them that see each other's processes
  std::string clock;    // the same for those of them that have one clock
  Machine machine;      // what the node has
  std::string address;  // of its wire
};
// agent → leader: what was asked for can't be done.
struct Refusal {
  PackedError error;
};
// leader → agent: the run is to have the node's GPUs, too. Answered with MachineIs or Refusal.
struct GpusRequest {};
struct MachineIs {
  Machine machine;          // in place of Welcome's
  std::string why_no_gpus;  // none, or not all; empty: all that there are
};
// leader → agent, before the run is planned: has the node the devices of this machine that are its
// own, and which GPUs are they? Answered with OwnGpusAre or Refusal.
struct OwnGpusRequest {
  NodeId self;
  Machine machine;  // of all nodes
};
struct OwnGpusAre {
  std::vector<GpuOfDevice> gpus;
};
// leader → agent, when the run is planned: has the node these files? Answered with Prepared or
// Refusal.
struct FilesRequest {
  std::vector<FileLocation> files;
};
// leader → agent: one more run, or, after a loss, more of the same. Answered with Prepared or
// Refusal.
struct BeginRun {
  // Of what a device of the node will compute, so that it is ready when the clock starts.
  struct Samples {
    ResourceId device;
    PackedShare share;  // kernel_samples()
  };
  std::uint32_t run = 0;
  NodeId self;
  Machine machine;                      // of all nodes
  std::vector<std::string> addresses;   // of their wires, by NodeId; empty: the node is lost
  Duration clock_offset{0};             // what the node's clock is behind the leader's
  ReplicaId first;                      // of those that come now; 0: a new scenario
  std::vector<MemoryStore::Kept> kept;  // of earlier ones
  PackedReplicas replicas;
  std::int64_t widest_team = 1;  // of all nodes, as the leader knows them
  std::vector<Samples> samples;
  bool grows = false;  // its windows are planned while it is on, and bring their replicas
};
struct Prepared {};
// leader → agent, of a run that grows: what becomes of the tensors in memories of the node. What
// can't be done fails the shares that come next.
struct ChangeTensors {
  std::uint32_t run = 0;
  std::uint32_t first_window = 0;     // windows before it are done
  std::vector<ReplicaId> read_again;  // one more reader each
  std::vector<ReplicaId> released;    // then one less
  PackedReplicas added;               // which get the next ids
};
// leader → agent, of a run that grows and has no window under way. Answered with Prepared or
// Refusal.
struct RenumberTensors {
  std::uint32_t run = 0;
  std::vector<ReplicaId> released;  // as above
  std::vector<ReplicaId> kept;  // of all nodes: they get the ids 0, 1, …, and nothing else is left
};
// leader → agent, of a run that grows: a part of the values of a tensor that was added, and that no
// item makes. The parts come in their order. Answered likewise; what can't be done fails the shares
// that come next, too.
struct GiveValues {
  std::uint32_t run = 0;
  ReplicaId tensor;
  std::uint64_t offset = 0;  // bytes of the parts before
  std::vector<char> bytes;
};
// leader → agent: the run is over, and its tensors are not needed any more.
struct EndRun {};

// leader → agent: a node is lost, or two can't reach each other, and so the run has failed: nothing
// goes over the network any more.
struct Disconnect {
  std::string cause;
};
// leader → agent: the run has ended, and makes new connections. Answered with Reconnected.
struct Reconnect {
  std::uint32_t epoch = 0;
  bool is_alone = false;  // all other nodes are lost
};
struct Reconnected {
  std::string address;  // of the node's new wire
};
// leader → agent: the leader ends in good order. Answered with Prepared.
struct Goodbye {};
// leader → agent: what does the node's clock say? Answered with ClockIs.
struct ClockRequest {};
struct ClockIs {
  Instant now;
};

// leader → resource, for Introduce: joins the run.
struct JoinRun {};
// resource → leader, for ShareComplete.
struct ShareDone {
  std::uint64_t done = 0;
  ShareRecords records;
};
// resource → leader, for Collected.
struct LastRecords {
  std::uint64_t done = 0;
  std::vector<ShareRecords> records;
  LinkUseFigures use;  // of a link, since it joined the run
};
// agent → leader: a node can't be reached by another one, `by`.
struct NodeSuspected {
  std::uint32_t epoch = 0;  // of the connection
  NodeId by;
  NodeId node;
  std::string cause;
};

// leader → agent: a node that can't reach the other one, or can't be reached by it, is asked
// whether it lives. Answered with the same.
struct StillThere {
  std::uint32_t epoch = 0;
  NodeId node;
};

// leader → agent, of results that have been made and that nothing changes. Answered with Digests:
// of the first ones, up to one that can't be read; or with Refusal, if that is the first.
struct DigestsRequest {
  struct Of {
    ReplicaId result;
    bool is_kept = false;
  };
  std::vector<Of> results;
};
struct Digests {
  std::vector<Digest> digests;
};
// leader → agent, likewise. Answered with Values or Refusal.
struct ValuesRequest {
  ReplicaId result;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};
struct Values {
  std::vector<char> bytes;
};

// The same for all processes of a host since it started.
std::string host_id();
// Of the processes that this one can see.
std::string pid_namespace();
// Of the steady clock that it has: a container may have one of its own.
std::string clock_namespace();
// Of this process, drawn at random.
std::uint64_t process_number();
// Of this process, for users: "process 4711 on login".
std::string process_name();
// What tasks of a kind take and make, in words. Kinds of one name must not differ in it.
std::string signature_of(const OpKind& kind);

// Announces these types, what they are made of, and those of messages.hpp that leave the process,
// to CAF.
void add_node_protocol(caf::actor_system_config& config);

template <class Inspector>
auto inspect(Inspector& f, Hello::Kind& x) {
  return f(caf::meta::type_name("Kind"), x.name, x.signature);
}
template <class Inspector>
auto inspect(Inspector& f, Hello& x) {
  return f(caf::meta::type_name("Hello"), x.kinds, x.needs_no_others, x.leader,
           x.uses_shared_memory, x.begins_anew, x.process, x.leader_name);
}
template <class Inspector>
auto inspect(Inspector& f, Welcome& x) {
  return f(caf::meta::type_name("Welcome"), x.name, x.host, x.pids, x.clock, x.machine, x.address);
}
template <class Inspector>
auto inspect(Inspector& f, Refusal& x) {
  return f(caf::meta::type_name("Refusal"), x.error);
}
template <class Inspector>
auto inspect(Inspector& f, GpusRequest&) {
  return f(caf::meta::type_name("GpusRequest"));
}
template <class Inspector>
auto inspect(Inspector& f, MachineIs& x) {
  return f(caf::meta::type_name("MachineIs"), x.machine, x.why_no_gpus);
}
template <class Inspector>
auto inspect(Inspector& f, OwnGpusRequest& x) {
  return f(caf::meta::type_name("OwnGpusRequest"), x.self, x.machine);
}
template <class Inspector>
auto inspect(Inspector& f, GpuOfDevice& x) {
  return f(caf::meta::type_name("GpuOfDevice"), x.device, x.number, x.name, x.id, x.free_bytes);
}
template <class Inspector>
auto inspect(Inspector& f, OwnGpusAre& x) {
  return f(caf::meta::type_name("OwnGpusAre"), x.gpus);
}
template <class Inspector>
auto inspect(Inspector& f, FileLocation& x) {
  return f(caf::meta::type_name("FileLocation"), x.path, x.tensor, x.type, x.file_bytes);
}
template <class Inspector>
auto inspect(Inspector& f, FilesRequest& x) {
  return f(caf::meta::type_name("FilesRequest"), x.files);
}
template <class Inspector>
auto inspect(Inspector& f, MemoryStore::Kept& x) {
  return f(caf::meta::type_name("Kept"), x.replica, x.readers);
}
template <class Inspector>
auto inspect(Inspector& f, BeginRun::Samples& x) {
  return f(caf::meta::type_name("Samples"), x.device, x.share);
}
template <class Inspector>
auto inspect(Inspector& f, BeginRun& x) {
  return f(caf::meta::type_name("BeginRun"), x.run, x.self, x.machine, x.addresses, x.clock_offset,
           x.first, x.kept, x.replicas, x.widest_team, x.samples, x.grows);
}
template <class Inspector>
auto inspect(Inspector& f, ChangeTensors& x) {
  return f(caf::meta::type_name("ChangeTensors"), x.run, x.first_window, x.read_again, x.released,
           x.added);
}
template <class Inspector>
auto inspect(Inspector& f, RenumberTensors& x) {
  return f(caf::meta::type_name("RenumberTensors"), x.run, x.released, x.kept);
}
template <class Inspector>
auto inspect(Inspector& f, GiveValues& x) {
  return f(caf::meta::type_name("GiveValues"), x.run, x.tensor, x.offset, x.bytes);
}
template <class Inspector>
auto inspect(Inspector& f, Prepared&) {
  return f(caf::meta::type_name("Prepared"));
}
template <class Inspector>
auto inspect(Inspector& f, EndRun&) {
  return f(caf::meta::type_name("EndRun"));
}
template <class Inspector>
auto inspect(Inspector& f, Disconnect& x) {
  return f(caf::meta::type_name("Disconnect"), x.cause);
}
template <class Inspector>
auto inspect(Inspector& f, Reconnect& x) {
  return f(caf::meta::type_name("Reconnect"), x.epoch, x.is_alone);
}
template <class Inspector>
auto inspect(Inspector& f, Reconnected& x) {
  return f(caf::meta::type_name("Reconnected"), x.address);
}
template <class Inspector>
auto inspect(Inspector& f, Goodbye&) {
  return f(caf::meta::type_name("Goodbye"));
}
template <class Inspector>
auto inspect(Inspector& f, ClockRequest&) {
  return f(caf::meta::type_name("ClockRequest"));
}
template <class Inspector>
auto inspect(Inspector& f, ClockIs& x) {
  return f(caf::meta::type_name("ClockIs"), x.now);
}
template <class Inspector>
auto inspect(Inspector& f, JoinRun&) {
  return f(caf::meta::type_name("JoinRun"));
}
template <class Inspector>
auto inspect(Inspector& f, ShareDone& x) {
  return f(caf::meta::type_name("ShareDone"), x.done, x.records);
}
template <class Inspector>
auto inspect(Inspector& f, LinkUseFigures& x) {
  return f(caf::meta::type_name("LinkUseFigures"), x.staged_bytes, x.copied_directly,
           x.copied_via_host);
}
template <class Inspector>
auto inspect(Inspector& f, LastRecords& x) {
  return f(caf::meta::type_name("LastRecords"), x.done, x.records, x.use);
}
template <class Inspector>
auto inspect(Inspector& f, NodeSuspected& x) {
  return f(caf::meta::type_name("NodeSuspected"), x.epoch, x.by, x.node, x.cause);
}
template <class Inspector>
auto inspect(Inspector& f, StillThere& x) {
  return f(caf::meta::type_name("StillThere"), x.epoch, x.node);
}
template <class Inspector>
auto inspect(Inspector& f, DigestsRequest::Of& x) {
  return f(caf::meta::type_name("DigestsRequest::Of"), x.result, x.is_kept);
}
template <class Inspector>
auto inspect(Inspector& f, DigestsRequest& x) {
  return f(caf::meta::type_name("DigestsRequest"), x.results);
}
template <class Inspector>
auto inspect(Inspector& f, Digest& x) {
  return f(caf::meta::type_name("Digest"), x.low, x.high);
}
template <class Inspector>
auto inspect(Inspector& f, Digests& x) {
  return f(caf::meta::type_name("Digests"), x.digests);
}
template <class Inspector>
auto inspect(Inspector& f, ValuesRequest& x) {
  return f(caf::meta::type_name("ValuesRequest"), x.result, x.offset, x.bytes);
}
template <class Inspector>
auto inspect(Inspector& f, Values& x) {
  return f(caf::meta::type_name("Values"), x.bytes);
}

}  // namespace troupe
