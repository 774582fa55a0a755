// An op kind: its name, a parameter and a kernel. Shape rule and cost have defaults: the output has
// the type of the input, and each element is read and written once.
#pragma once

#include "troupe/troupe.hpp"

#include <algorithm>

inline troupe::OpKind clamp_op() {
  return {.name = "clamp",
          .summary = "values above `limit` become `limit`",
          .inputs = 1,
          .attrs = {{.name = "limit", .fallback = 1.0}},
          .cpu = [](const troupe::CpuCall& call) {
            const auto limit = static_cast<float>(call.attrs.get<double>("limit"));
            const auto* const x = call.inputs[0].as<float>();
            std::transform(x, x + call.output.type.shape.elements(), call.output.as<float>(),
                           [=](float value) { return std::min(value, limit); });
          }};
}
