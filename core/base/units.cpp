#include "core/base/units.hpp"

#include "core/base/error.hpp"
#include "core/base/number.hpp"
#include "core/base/text.hpp"
#include "core/base/unit_spelling.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <vector>

#include <fmt/format.h>

namespace troupe {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr std::array flops_units = {
    Unit{"FLOP/s", 1},    Unit{"kFLOP/s", 1e3},  Unit{"MFLOP/s", 1e6},
    Unit{"GFLOP/s", 1e9}, Unit{"TFLOP/s", 1e12}, Unit{"PFLOP/s", 1e15},
};
constexpr std::array bandwidth_units = {
    Unit{"B/s", 1},        Unit{"kB/s", 1e3},     Unit{"MB/s", 1e6},     Unit{"GB/s", 1e9},
    Unit{"TB/s", 1e12},    Unit{"PB/s", 1e15},    Unit{"KiB/s", 0x1p10}, Unit{"MiB/s", 0x1p20},
    Unit{"GiB/s", 0x1p30}, Unit{"TiB/s", 0x1p40},
};
constexpr std::array byte_units = {
    Unit{"B", 1},        Unit{"kB", 1e3},     Unit{"MB", 1e6},     Unit{"GB", 1e9},
    Unit{"TB", 1e12},    Unit{"PB", 1e15},    Unit{"KiB", 0x1p10}, Unit{"MiB", 0x1p20},
    Unit{"GiB", 0x1p30}, Unit{"TiB", 0x1p40},
};
// In nanoseconds. The last two are µs with the micro sign and with the Greek letter.
constexpr std::array duration_units = {
    Unit{"ns", 1},     Unit{"us", 1e3},      Unit{"ms", 1e6},      Unit{"s", 1e9},
    Unit{"min", 6e10}, Unit{"\u00B5s", 1e3}, Unit{"\u03BCs", 1e3},
};
constexpr std::size_t duration_units_listed = 5;

// Far below 2^64, so that sums of a few sizes don't overflow.
constexpr double bytes_max = 0x1p60;
constexpr double duration_max_ns = 1e18;  // 31 years

struct Quantity {
  std::string_view what;     // its name, for messages
  std::string_view example;  // for messages
  std::span<const Unit> units;
  std::size_t units_listed;  // how many of the units messages list
};

constexpr Quantity flops_quantity{"a rate", "14.4 TFLOP/s", flops_units, flops_units.size()};
constexpr Quantity bandwidth_quantity{"a bandwidth", "1.44 GB/s", bandwidth_units,
                                      bandwidth_units.size()};
constexpr Quantity bytes_quantity{"a size", "16 GiB", byte_units, byte_units.size()};
constexpr Quantity duration_quantity{"a duration", "10 us", duration_units, duration_units_listed};

struct Parsed {
  double number = 0;
  double factor = 1;
};

std::vector<std::string_view> names(const Quantity& q) {
  std::vector<std::string_view> result;
  for (const Unit& u : q.units.first(q.units_listed)) result.push_back(u.name);
  return result;
}

std::string list_of_units(const Quantity& q) {
  return fmt::format("units are {}, as in \"{}\"", fmt::join(names(q), ", "), q.example);
}

Error refuse(std::string_view text, std::string problem, const Quantity& q) {
  return usage_error(fmt::format("'{}' is not {}: {}", shortened(text), q.what, problem),
                     list_of_units(q));
}

// The user may mean bits, or may have written a lower-case b for bytes: the message answers both.
Error refuse_bits(std::string_view text, double number, std::string_view bytes, const Quantity& q) {
  return usage_error(
      fmt::format("'{}' is not {} in bytes: a lower-case b stands for bits", shortened(text),
                  q.what),
      fmt::format("write \"{:.15g} {}\" (a byte has 8 bits), or \"{:.15g} {}\" if bytes are meant",
                  number / 8, bytes, number, bytes));
}

Error refuse_unit(std::string_view text, double number, std::string_view unit, const Quantity& q) {
  const std::vector<std::string_view> known = names(q);
  const std::string bytes = bytes_for_bits(unit);
  if (std::find(known.begin(), known.end(), bytes) != known.end()) {
    return refuse_bits(text, number, bytes, q);
  }
  const std::string_view meant = same_unit(unit, known);
  return refuse(text,
                meant.empty()
                    ? fmt::format("unknown unit '{}'", shortened(unit))
                    : fmt::format("unknown unit '{}' (did you mean '{}'?)", shortened(unit), meant),
                q);
}

double parse_number(std::string_view text, const Number& number, const Quantity& q) {
  switch (number.status) {
    case NumberStatus::ok:
      break;
    case NumberStatus::no_number:
      throw refuse(text, "it must start with a number", q);
    case NumberStatus::too_large:
      throw refuse(text, "its number is too large", q);
    case NumberStatus::too_near_zero:
      throw refuse(text, "its number is too close to zero", q);
    case NumberStatus::has_separators:
      throw refuse(text, "a number has no separators, and a point before its fraction", q);
  }
  return number.value;
}

Parsed parse(std::string_view text, const Quantity& q) {
  const std::string_view amount = trimmed(text);
  const Number number = leading_number(amount);
  Parsed result{.number = parse_number(text, number, q)};
  const std::string_view unit = trimmed(amount.substr(number.length));
  if (unit.empty()) {
    if (result.number == 0) return result;  // zero is the same in every unit
    throw refuse(text, "it has no unit", q);
  }
  for (const Unit& u : q.units) {
    if (u.name == unit) {
      result.factor = u.factor;
      return result;
    }
  }
  throw refuse_unit(text, result.number, unit, q);
}

double parse_positive(std::string_view text, const Quantity& q) {
  const Parsed p = parse(text, q);
  const double value = p.number * p.factor;
  if (!(value > 0)) throw refuse(text, "it must be above 0", q);
  if (!std::isfinite(value)) throw refuse(text, "it is too large", q);
  return value;
}

double parse_not_negative(std::string_view text, const Quantity& q, double value_max) {
  const Parsed p = parse(text, q);
  if (p.number < 0) throw refuse(text, "it must not be negative", q);
  if (!(p.number * p.factor <= value_max)) throw refuse(text, "it is too large", q);
  return p.number * p.factor;
}

// Four significant digits without trailing zeros: "1.44", "16", "313.9". Whole numbers above.
std::string four_digits(double value) {
  return std::abs(value) < 9999.5 ? fmt::format("{:.4g}", value) : fmt::format("{:.0f}", value);
}

// `value` in the largest unit that leaves at least 1 of it; `units` from small to large.
std::string scaled(double value, std::span<const Unit> units) {
  std::size_t i = 0;
  // 999.95 and more would be printed as 1000: print 1 of the next unit instead.
  while (i + 1 < units.size() && std::abs(value) >= units[i + 1].factor * 0.99995) ++i;
  return fmt::format("{} {}", four_digits(value / units[i].factor), units[i].name);
}

}  // namespace

double parse_flops(std::string_view text) {
  return parse_positive(text, flops_quantity);
}

double parse_bandwidth(std::string_view text) {
  return parse_positive(text, bandwidth_quantity);
}

std::uint64_t parse_bytes(std::string_view text) {
  const double value = parse_not_negative(text, bytes_quantity, bytes_max);
  // "7.3 GiB" is rounded to whole bytes; "7.3 B" is a mistake.
  const Parsed p = parse(text, bytes_quantity);
  if (p.factor == 1 && value != std::floor(value)) {
    throw refuse(text, "bytes come whole", bytes_quantity);
  }
  return static_cast<std::uint64_t>(std::llround(value));
}

Duration parse_duration(std::string_view text) {
  return Duration{std::llround(parse_not_negative(text, duration_quantity, duration_max_ns))};
}

std::string format_flops(double flops_per_s) {
  return scaled(flops_per_s, flops_units);
}

std::string format_bandwidth(double bytes_per_s) {
  return scaled(bytes_per_s, std::span(bandwidth_units).first(6));
}

std::string format_bytes(std::uint64_t bytes) {
  // Sizes of memories are mostly round in powers of 1024, sizes of tensors in powers of 1000.
  constexpr std::array<std::string_view, 4> iec = {"KiB", "MiB", "GiB", "TiB"};
  for (std::size_t i = iec.size(); i-- > 0;) {
    const std::uint64_t unit = std::uint64_t{1} << (10 * (i + 1));
    if (bytes < unit) continue;
    const bool round = bytes / unit < 1000 && (bytes % unit) * 10 % unit == 0;
    if (!round) break;
    return fmt::format("{} {}", four_digits(static_cast<double>(bytes) / static_cast<double>(unit)),
                       iec[i]);
  }
  return scaled(static_cast<double>(bytes), std::span(byte_units).first(6));
}

std::string format_duration(Duration d) {
  if (d == Duration{0}) return "0 s";
  return scaled(static_cast<double>(d.count()), std::span(duration_units).first(4));
}

std::string format_count(std::uint64_t n, std::string_view what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

}  // namespace troupe
