// The mode of a run: for real, simulated, or rehearsed.
#pragma once

#include <cstdint>

namespace troupe {

enum class Mode : std::uint8_t {
  run,       // real devices, real time
  simulate,  // virtual time, from the cost model; computes no values
  rehearse,  // virtual time, from the cost model; computes values
};
// Whether time is simulated.
constexpr bool has_virtual_time(Mode mode) {
  return mode != Mode::run;
}
// Whether tensors have values.
constexpr bool computes_values(Mode mode) {
  return mode != Mode::simulate;
}

}  // namespace troupe
