// Quantities as a person writes them: "14.4 TFLOP/s", "10 us", "16 GiB", "1.44 GB/s".
#pragma once

#include "core/base/time.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace troupe {

// Each function throws a usage Error, without a place, that quotes the text and says which units
// there are. Zero needs no unit. SI prefixes are powers of 1000 (k, M, G, T, P), IEC prefixes are
// powers of 1024 (Ki, Mi, Gi, Ti).
double parse_flops(std::string_view text);       // FLOP/s, > 0
double parse_bandwidth(std::string_view text);   // bytes per second, > 0
Duration parse_duration(std::string_view text);  // ns, us, ms, s, min; >= 0
// Bytes, >= 0; a fraction such as "7.3 GiB" is rounded to whole bytes.
std::uint64_t parse_bytes(std::string_view text);

// Up to four significant digits, in a unit that leaves at least 1 before the point where there is
// one: "1.44 GB/s", "16 GiB", "313.9 ms".
std::string format_flops(double flops_per_s);
std::string format_bandwidth(double bytes_per_s);
std::string format_bytes(std::uint64_t bytes);
std::string format_duration(Duration d);
// "1 device", "3 devices".
std::string format_count(std::uint64_t n, std::string_view what);

}  // namespace troupe
