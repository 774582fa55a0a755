// An op kind: its name, a parameter, a second output and a kernel. Shape rule and cost have
// defaults: outputs have the type of the input, and each element is read and written once.
#pragma once

#include "troupe/troupe.hpp"

#include <algorithm>
#include <cstdint>

template <class T>
void clamp(const troupe::CpuCall& call) {
  const auto limit = static_cast<T>(call.attrs.get<double>("limit"));
  const T* const x = call.inputs[0].as<T>();
  T* const y = call.output.as<T>();
  T* const excess = call.further_outputs[0].as<T>();
  for (std::int64_t i = 0; i < call.output.type.shape.elements(); ++i) {
    y[i] = std::min(x[i], limit);
    excess[i] = x[i] - y[i];
  }
}

// Tensors are float32 or float64, unless a kind says that it takes integers, too.
inline troupe::OpKind clamp_op() {
  return {.name = "clamp",
          .summary = "values above `limit` become `limit`; `excess` is what they lose",
          .inputs = 1,
          .attrs = {{.name = "limit", .fallback = 1.0}},
          .further_outputs = {{.name = "excess"}},
          .cpu = [](const troupe::CpuCall& call) {
            const bool is_f32 = call.output.type.dtype == troupe::DType::f32;
            is_f32 ? clamp<float>(call) : clamp<double>(call);
          }};
}
