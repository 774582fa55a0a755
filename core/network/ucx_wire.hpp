// A Wire over UCX (openucx.org), between processes of one host. It is in a module of its own, which
// load_wire.hpp loads: programs without nodes don't load UCX.
#pragma once

#include "core/base/time.hpp"
#include "core/network/wire.hpp"

#include <chrono>
#include <memory>
#include <string_view>

namespace troupe {

inline constexpr std::string_view ucx_transport = "shared_memory";

struct UcxWireOptions {
  // The wire's thread looks for chunks for this long after the last one, then sleeps.
  Duration spin = std::chrono::microseconds(20);
};

// `listener` must outlive the Wire. Throws a run Error if UCX refuses.
//
// Chunks of 32 KiB and more are copied once, by take(), where nodes can read the memory of each
// other's process; for them `done` comes after take() or drop(). Elsewhere they are copied twice.
//
// A process that dies while it writes to a node may leave this node unable to receive. Then the
// Wire starts anew: all nodes are lost, and address() is another one. A Wire that is destroyed
// tells the nodes that it is connected to.
std::unique_ptr<Wire> make_ucx_wire(WireListener& listener, const UcxWireOptions& options);

}  // namespace troupe
