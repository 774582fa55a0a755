// A Wire over UCX (openucx.org). It is in a module of its own, which load_wire.hpp loads: programs
// without nodes don't load UCX.
#pragma once

#include "core/base/time.hpp"
#include "core/network/wire.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace troupe {

struct UcxWireOptions {
  enum class Transport : std::uint8_t {
    tcp,
    shared_memory,  // between processes of one host
  };
  Transport transport = Transport::tcp;
  // TCP only: the IPv4 address of the network interface to use. Whoever can connect to it can
  // write to this process's memory: it must belong to a network that is trusted.
  std::string interface_address = "127.0.0.1";
  // The wire's thread looks for chunks for this long after the last one, then sleeps.
  Duration spin = std::chrono::microseconds(20);
  // If the process didn't run for so long (SIGSTOP, a paused container), the other nodes have given
  // it up: the Wire loses them all.
  Duration node_timeout = longest_duration;
};

// `listener` must outlive the Wire. Throws a run Error if UCX refuses, a usage Error if no network
// interface of this host has the address.
//
// Chunks of 128 KiB and more go over TCP straight from where they are to where take() wants them;
// the sender's `done` then comes after the receiver's take() or drop().
//
// Over shared memory, chunks of 32 KiB and more are copied once, by take(), where nodes can read
// the memory of each other's process; for them, too, `done` comes after take() or drop(). Elsewhere
// they are copied twice.
//
// Over shared memory, a process that dies while it writes to a node may leave this node unable to
// receive. Then the Wire starts anew: all nodes are lost, and address() is another one. A Wire that
// is destroyed tells the nodes that it is connected to.
std::unique_ptr<Wire> make_ucx_wire(WireListener& listener, const UcxWireOptions& options);

}  // namespace troupe
