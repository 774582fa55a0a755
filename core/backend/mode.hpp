// The mode of a run: for real, simulated, or rehearsed.
#pragma once

#include <cstdint>
#include <string_view>

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

// A remedy for what can't be run here, for run files and programs.
inline constexpr std::string_view how_to_simulate =
    "simulate it: 'troupe simulate', or Mode::simulate in a program";

}  // namespace troupe
