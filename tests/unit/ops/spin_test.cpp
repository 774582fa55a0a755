// spin, sleep and fail: ops of a chosen length.
#include "tests/support/expect_error.hpp"
#include "tests/support/op_fixture.hpp"

#include <chrono>
#include <cmath>

#include <boost/test/unit_test.hpp>

namespace troupe {
using namespace testing;

BOOST_AUTO_TEST_SUITE(spin_sleep_fail)
namespace {

Tensor spin(const std::vector<Tensor>& inputs, std::int64_t iterations) {
  return run_op("spin", inputs, {{"iterations", iterations}});
}

Tensor changed_at(Tensor t, std::size_t byte) {
  t.bytes[byte] ^= std::byte{1};
  return t;
}

}  // namespace

BOOST_AUTO_TEST_CASE(spin_iterates_a_times_a_plus_a) {
  const std::vector<Tensor> inputs{random_tensor({DType::f64, {64}}, 1)};
  std::vector<double> a = spin(inputs, 0).values<double>();
  BOOST_TEST(a.size() == 64U);
  for (int i = 0; i < 100; ++i) {
    for (double& x : a) x = x * x + x;
  }
  const std::vector<double> out = spin(inputs, 100).values<double>();
  for (std::size_t j = 0; j < a.size(); ++j) {
    // A compiler may fuse the multiplication and the addition in one place and not in the other.
    BOOST_TEST(std::fabs(out[j] - a[j]) <= 1e-13);
  }
}

BOOST_AUTO_TEST_CASE(spin_stays_finite_and_normal_for_many_iterations) {
  for (const double a : spin({}, 1'000'000).values<double>()) {
    BOOST_TEST(a < 0);
    BOOST_TEST(a > -1e-5);
    BOOST_TEST(std::isnormal(a));
  }
}

BOOST_AUTO_TEST_CASE(spin_tells_every_input_their_order_and_their_number) {
  const Tensor x = random_tensor({DType::f64, {8, 8}}, 1);
  const Tensor y = random_tensor({DType::f32, {300}}, 2);
  const Tensor z = random_tensor({DType::f64, {1}}, 3);
  for (const std::int64_t iterations : {0, 1, 10'000}) {
    const Tensor out = spin({x, y, z}, iterations);
    BOOST_TEST((spin({x, y, z}, iterations) == out));
    BOOST_TEST((spin({y, x, z}, iterations) != out));
    BOOST_TEST((spin({x, y}, iterations) != out));
    BOOST_TEST((spin({x, y, z, z}, iterations) != out));
  }
  const Tensor out = spin({x, y, z}, 1);
  // The lowest bit of the last of the 64 elements that count.
  BOOST_TEST((spin({changed_at(x, 63 * 8), y, z}, 1) != out));
  BOOST_TEST((spin({x, changed_at(y, 63 * 4), z}, 1) != out));
  // The only element of z sets all lanes.
  const Tensor other = spin({x, y, changed_at(z, 7)}, 1);
  for (std::size_t j = 0; j < 64; ++j) BOOST_TEST(other.at<double>(j) != out.at<double>(j));
}

BOOST_AUTO_TEST_CASE(every_team_spins_to_the_same_bits) {
  BOOST_TEST(
      same_for_every_team("spin", {random_tensor({DType::f64, {64}}, 1)}, {{"iterations", 1000}}));
}

BOOST_AUTO_TEST_CASE(spin_counts_2_operations_a_lane_and_iteration) {
  const Work work = work_of("spin", {{DType::f64, {64}}}, {{"iterations", 1000}});
  BOOST_TEST(work.flops == 128'000);
  BOOST_TEST(work.bytes == 1024);
  BOOST_TEST(work_of("spin", {}, {{"iterations", 1'000'000'000'000}}).flops == 128e12);
}

BOOST_AUTO_TEST_CASE(sleep_takes_its_time_and_tells_its_inputs) {
  const auto begin = std::chrono::steady_clock::now();
  const Tensor out = run_op("sleep", {}, {{"duration", Duration{std::chrono::milliseconds{2}}}});
  BOOST_TEST((std::chrono::steady_clock::now() - begin >= std::chrono::milliseconds{2}));
  BOOST_TEST((out.type == TensorType{DType::f64, {1}}));
  const Tensor with_input =
      run_op("sleep", {random_tensor({DType::f32, {3}}, 1)}, {{"duration", Duration{0}}});
  BOOST_TEST(with_input.at<double>(0) != out.at<double>(0));
  BOOST_TEST(with_input.at<double>(0) >= 0);
  BOOST_TEST(with_input.at<double>(0) < 1);
}

BOOST_AUTO_TEST_CASE(sleep_and_fail_take_a_fixed_time_on_every_device) {
  BOOST_TEST((work_of("sleep", {}, {{"duration", Duration{123}}}).fixed == Duration{123}));
  BOOST_TEST((work_of("fail", {}, {{"after", Duration{123}}}).fixed == Duration{123}));
  BOOST_TEST(work_of("sleep", {}, {{"duration", Duration{123}}}).flops == 0);
}

BOOST_AUTO_TEST_CASE(fail_fails_the_run) {
  expect_error(ErrorKind::failed, "it failed on purpose", [] {
    run_op("fail", {}, {{"after", Duration{0}}});
  });
}

BOOST_AUTO_TEST_CASE(spin_sleep_and_fail_take_0_to_64_inputs) {
  for (const char* op : {"spin", "sleep", "fail"}) {
    BOOST_TEST(op_kind(op).inputs.min == 0U);
    BOOST_TEST(op_kind(op).inputs.max == 64U);
  }
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
