#include "tests/support/op_fixture.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe {
using namespace testing;

BOOST_AUTO_TEST_SUITE(uniform_values)
namespace {

Tensor uniform(DType dtype, Shape shape, std::int64_t seed) {
  return run_op("uniform", {}, {{"seed", seed}}, {dtype, shape});
}

}  // namespace

// These bits are a promise: other backends, and files written earlier, hold the same ones.
BOOST_AUTO_TEST_CASE(a_seed_gives_known_values) {
  BOOST_TEST((uniform(DType::f32, {4}, 0).values<float>() ==
              std::vector<float>{0x1.4e0dba0000000p-1F, 0x1.54c7a80000000p-3F,
                                 0x1.050edc0000000p-1F, 0x1.f37e220000000p-1F}));
  BOOST_TEST((uniform(DType::f64, {4}, 42).values<double>() ==
              std::vector<double>{0x1.5f87eae99441cp-2, 0x1.f49f28ab33f20p-1, 0x1.c94e54e21a42ap-2,
                                  0x1.a862597228f32p-2}));
}

BOOST_AUTO_TEST_CASE(values_follow_from_mix) {
  const Tensor t = uniform(DType::f64, {3, 5}, 7);
  for (std::size_t i = 0; i < 15; ++i) {
    BOOST_TEST(t.at<double>(i) == static_cast<double>(mix(mix(7) + i) >> 11) * 0x1p-53);
  }
}

BOOST_AUTO_TEST_CASE(a_value_depends_on_its_index_not_on_the_shape) {
  const std::vector<float> flat = uniform(DType::f32, {100'000}, 3).values<float>();
  BOOST_TEST((uniform(DType::f32, {100, 1000}, 3).values<float>() == flat));
}

BOOST_AUTO_TEST_CASE(values_are_spread_over_0_to_1) {
  for (const std::int64_t seed : {0, 1, 2}) {
    const std::vector<float> values = uniform(DType::f32, {100'000}, seed).values<float>();
    double sum = 0;
    for (const float v : values) {
      BOOST_REQUIRE(v >= 0);
      BOOST_REQUIRE(v < 1);
      sum += static_cast<double>(v);
    }
    // The mean's standard deviation is 1/sqrt(12 n) = 0.0009.
    BOOST_TEST(sum / 100'000 > 0.495);
    BOOST_TEST(sum / 100'000 < 0.505);
  }
}

BOOST_AUTO_TEST_CASE(neighbouring_seeds_are_no_shifts_of_each_other) {
  const auto a = uniform(DType::f64, {1000}, 1).values<double>();
  const auto b = uniform(DType::f64, {1000}, 2).values<double>();
  BOOST_TEST(a[1] != b[0]);
  BOOST_TEST(a[0] != b[1]);
}

BOOST_AUTO_TEST_CASE(every_team_gives_the_same_bits) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    BOOST_TEST(same_for_every_team("uniform", {}, {{"seed", 5}}, {dtype, {3, 40'000}}));
  }
}

BOOST_AUTO_TEST_CASE(work_is_writing_the_output) {
  const Work work = work_of("uniform", {}, {{"seed", 0}}, {DType::f32, {10, 10}});
  BOOST_TEST(work.flops == 0);
  BOOST_TEST(work.bytes == 400);
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
