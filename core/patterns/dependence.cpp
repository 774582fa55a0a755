#include "core/patterns/dependence.hpp"

#include "core/base/assert.hpp"
#include "core/base/error.hpp"

#include <array>

#include <fmt/format.h>

namespace troupe {
namespace {

constexpr std::array table = {
    DependenceInfo{.name = "trivial", .summary = "no dependences at all"},
    DependenceInfo{.name = "no_comm", .summary = "each point reads its own column"},
    DependenceInfo{.name = "stencil_1d",
                   .summary = "its own column and both neighbours, where they exist"},
    DependenceInfo{.name = "stencil_1d_periodic",
                   .summary = "its own column and both neighbours on a ring"},
    DependenceInfo{.name = "dom", .summary = "its own column and the one before it"},
    DependenceInfo{.name = "tree",
                   .summary = "column i/2; rows double from one point up to the width"},
    DependenceInfo{.name = "fft",
                   .summary = "its own column and those 2^d away, as in a butterfly"},
    DependenceInfo{.name = "all_to_all", .summary = "every column"},
    DependenceInfo{.name = "nearest",
                   .summary = "a window of `radix` columns around its own",
                   .takes_radix = true},
    DependenceInfo{.name = "spread",
                   .summary = "`radix` columns spread over the row, shifted from row to row",
                   .takes_radix = true,
                   .takes_period = true},
    DependenceInfo{.name = "random_nearest",
                   .summary = "its own column and a random `fraction` of the others of the window",
                   .takes_radix = true,
                   .takes_fraction = true},
};

void expect_positive(std::string_view what, std::uint32_t value) {
  if (value == 0) throw usage_error(fmt::format("{} is 0", what), "it must be at least 1");
}

void expect_at_most(std::string_view what, std::uint64_t value, std::string_view factors,
                    std::uint64_t value_max) {
  if (value <= value_max) return;
  throw usage_error(fmt::format("the pattern has {} {}, {}", value, what, factors),
                    fmt::format("the limit is {}", value_max));
}

}  // namespace

std::span<const DependenceInfo> dependences() {
  return table;
}

const DependenceInfo& info(Dependence dependence) {
  TROUPE_ASSERT(static_cast<std::size_t>(dependence) < table.size());
  return table[static_cast<std::size_t>(dependence)];
}

std::uint32_t Pattern::inputs_max() const {
  switch (dependence) {
    case Dependence::trivial:
      return 0;
    case Dependence::no_comm:
    case Dependence::tree:
      return 1;
    case Dependence::dom:
      return std::min(width, 2U);
    case Dependence::stencil_1d:
    case Dependence::stencil_1d_periodic:
    case Dependence::fft:
      return std::min(width, 3U);
    case Dependence::all_to_all:
      return width;
    case Dependence::nearest:
    case Dependence::spread:
    case Dependence::random_nearest:
      return std::min(width, radix);
  }
  return 0;
}

void Pattern::check() const {
  expect_positive("the width", width);
  expect_positive("the number of steps", steps);
  expect_positive("the radix", radix);
  expect_positive("the period", period);
  if (dependence == Dependence::spread && radix > width) {
    throw usage_error(fmt::format("the radix is {}, and there are {} columns", radix, width),
                      "a spread reads at most every column once");
  }
  // In this form the condition refuses NaN too.
  if (!(fraction >= 0 && fraction <= 1)) {
    throw usage_error(fmt::format("the fraction is {}", fraction), "it goes from 0 to 1");
  }
  expect_at_most("points", std::uint64_t{width} * steps, "width times steps", points_max);
  // At most 2^25 points by 2^32 columns: no overflow.
  expect_at_most("dependences", std::uint64_t{width} * steps * inputs_max(),
                 "width times steps times columns read", dependences_max);
}

}  // namespace troupe
