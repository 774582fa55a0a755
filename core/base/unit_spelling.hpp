// Other ways to write a unit. They explain what is wrong with one that isn't known; a suggestion
// must not change the quantity by a factor, so that nothing here goes by mere likeness.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace troupe {

// The unit of `known` that `written` is another spelling of, as "TFLOPS" is of "TFLOP/s", "gib" of
// "GiB" and "usec" of "us"; empty if there is none.
std::string_view same_unit(std::string_view written, std::span<const std::string_view> known);

// The unit of bytes with the prefix of a unit of bits: "GB/s" for "Gb/s", "Gbps" and "Gbit/s", "kB"
// for "kbit". A lower-case b is a bit. Empty if `written` is no unit of bits.
std::string bytes_for_bits(std::string_view written);

}  // namespace troupe
