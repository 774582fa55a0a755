// An op kind: its name, a parameter, a second output and a kernel. Shape rule and cost have
// defaults: outputs have the type of the input, and each element is read and written once.
#pragma once

#include "troupe/troupe.hpp"

#include <algorithm>
#include <cstdint>

inline troupe::OpKind clamp_op() {
  return {.name = "clamp",
          .summary = "values above `limit` become `limit`; `excess` is what they lose",
          .inputs = 1,
          .attrs = {{.name = "limit", .fallback = 1.0}},
          .further_outputs = {{.name = "excess"}},
          .cpu = [](const troupe::CpuCall& call) {
            const auto limit = static_cast<float>(call.attrs.get<double>("limit"));
            const auto* const x = call.inputs[0].as<float>();
            auto* const y = call.output.as<float>();
            auto* const excess = call.further_outputs[0].as<float>();
            for (std::int64_t i = 0; i < call.output.type.shape.elements(); ++i) {
              y[i] = std::min(x[i], limit);
              excess[i] = x[i] - y[i];
            }
          }};
}
