// How long ops and transfers take: rooflines over a machine's figures.
#pragma once

#include "core/machine/machine.hpp"
#include "core/ops/op_kind.hpp"

#include <cstdint>

namespace troupe {

// Whether the machine file says anything of `device` that bears on ops of this kind: a rate for it
// by name, a general `flops`, or a `bandwidth`; an op of fixed time (sleep) needs nothing.
bool has_cost(const Device& device, const OpKind& kind);

// Whether that is enough to time this very op: a bandwidth alone will do for at most one FLOP per
// byte, which memory bounds on any device.
bool has_cost(const Device& device, const OpKind& kind, const Work& work);

// Roofline (Williams, Waterman, Patterson: Roofline, CACM 2009):
//   launch + fixed + max(FLOPs / rate, bytes / bandwidth)
// The rate is that of the op by name, else the device's `flops`. What the file leaves out does not
// bound the time; where it says nothing at all, 1 GFLOP/s and 1 GB/s stand in, so that a real run
// can still order its ops.
Duration op_time(const Device& device, const OpKind& kind, const Work& work);

// bytes / bandwidth, without latency: what a chunk adds.
Duration wire_time(const Link& link, Direction direction, std::uint64_t bytes);

// latency + bytes / bandwidth.
Duration transfer_time(const Link& link, Direction direction, std::uint64_t bytes);

}  // namespace troupe
