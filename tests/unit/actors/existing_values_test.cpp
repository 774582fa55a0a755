// Values that are in memory before the run: they are used there, not copied.
#include "tests/unit/actors/runner_fixture.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(existing_values)
namespace {

using testing::dev0;
using testing::dev1;
using testing::on;
using testing::perform;
using testing::SmallGraph;

constexpr std::size_t count = 1'200'000;  // several blocks of load

// Ones, in memory. Says how they were read.
class Ones final : public ValueSource {
 public:
  explicit Ones(bool are_usable) : are_usable_(are_usable) { std::fill_n(start(), count, 1.0); }
  std::shared_ptr<const std::byte> existing() const override {
    if (!are_usable_) return nullptr;
    return {room_, reinterpret_cast<const std::byte*>(start())};
  }
  void read(std::uint64_t offset, std::span<std::byte> out) const override {
    const std::byte* const from = reinterpret_cast<const std::byte*>(start()) + offset;
    if (out.data() == from) {
      bytes_in_place += out.size();
    } else {
      bytes_copied += out.size();
      std::memcpy(out.data(), from, out.size());
    }
  }

  mutable std::atomic<std::size_t> bytes_in_place = 0;
  mutable std::atomic<std::size_t> bytes_copied = 0;

 private:
  double* start() const {
    const auto address = reinterpret_cast<std::uintptr_t>(room_.get());
    const std::uintptr_t before = (kernel_alignment - address % kernel_alignment);
    return reinterpret_cast<double*>(room_.get() + before);
  }

  bool are_usable_;
  std::shared_ptr<std::byte[]> room_{new std::byte[count * sizeof(double) + kernel_alignment]};
};

// x ─┬─ twice on dev0
//    └─ there on dev1, with a copy of x
SmallGraph readers_of(const std::shared_ptr<const Ones>& ones) {
  SmallGraph g;
  const std::shared_ptr<const ValueSource> values = ones;
  const TensorType type{DType::f64, {count}};
  const OpId x = g.op("x", "load", {}, on(dev0), {{"values", values}}, type);
  g.op("twice", "add", {x, x}, on(dev0));
  g.op("there", "relu", {x}, on(dev1));
  return g;
}

BOOST_AUTO_TEST_CASE(an_op_that_loads_them_copies_nothing_and_its_readers_get_them) {
  for (const Mode mode : {Mode::run, Mode::rehearse}) {
    const auto ones = std::make_shared<const Ones>(true);
    const SmallGraph g = readers_of(ones);
    const Report report = perform(g, {g.everything()}, {.mode = mode, .verify = true});
    BOOST_TEST((report.scenarios[0].outcome == Outcome::done));
    BOOST_TEST((report.scenarios[0].verified == true));
    BOOST_TEST(ones->bytes_in_place == count * sizeof(double));
    BOOST_TEST(ones->bytes_copied == count * sizeof(double));  // by the serial execution
  }
}

BOOST_AUTO_TEST_CASE(values_that_cannot_be_used_where_they_are_are_copied) {
  const auto ones = std::make_shared<const Ones>(false);
  const SmallGraph g = readers_of(ones);
  const Report report = perform(g, {g.everything()}, {.mode = Mode::run, .verify = true});
  BOOST_TEST((report.scenarios[0].verified == true));
  BOOST_TEST(ones->bytes_in_place == 0U);
  BOOST_TEST(ones->bytes_copied == 2 * count * sizeof(double));
}

BOOST_AUTO_TEST_CASE(a_simulation_does_not_read_them) {
  const auto ones = std::make_shared<const Ones>(true);
  const SmallGraph g = readers_of(ones);
  const Report report = perform(g, {g.everything()}, {.mode = Mode::simulate});
  BOOST_TEST((report.scenarios[0].outcome == Outcome::done));
  BOOST_TEST(ones->bytes_in_place + ones->bytes_copied == 0U);
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
