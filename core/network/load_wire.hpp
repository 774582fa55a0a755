// Loads the module that makes Wires, when it is needed.
#pragma once

#include "core/network/ucx_wire.hpp"

#include <memory>

namespace troupe {

// As make_ucx_wire() in ucx_wire.hpp. The first call loads UCX, which takes some 10 ms; throws a
// run Error if this can't be done. Thread-safe. While UCX is being loaded, variables that begin
// with UCX_ are added to the environment; no other thread should read it then.
std::unique_ptr<Wire> load_ucx_wire(WireListener& listener, const UcxWireOptions& options);

}  // namespace troupe

// The entry of the module. Returns null if `version` is not its own. The caller owns the Wire.
extern "C" troupe::Wire* troupe_make_ucx_wire(const char* version, troupe::WireListener& listener,
                                              const troupe::UcxWireOptions& options);
