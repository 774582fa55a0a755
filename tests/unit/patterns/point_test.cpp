// The op kind `point`: the payloads it makes, and that it detects wrong inputs.
#include "core/patterns/point_task.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/op_fixture.hpp"

#include <string>

#include <boost/test/unit_test.hpp>

namespace troupe {
using namespace testing;

BOOST_AUTO_TEST_SUITE(point)
namespace {

using Pairs = std::vector<std::int64_t>;

// A stencil of 3 columns; op 4 is its point (1, 1), op 6 its point (2, 0).
PointTask stencil() {
  PointTask task;
  task.pattern = {.dependence = Dependence::stencil_1d, .width = 3, .steps = 3};
  return task;
}

Tensor payload(std::int64_t t, std::int64_t i, std::size_t pairs = 1) {
  std::vector<std::int64_t> values;
  for (std::size_t k = 0; k < pairs; ++k) values.insert(values.end(), {t, i});
  return {{DType::f64, {static_cast<std::int64_t>(2 * pairs)}},
          tensor<std::int64_t>({static_cast<std::int64_t>(2 * pairs)}, values).bytes};
}

Tensor run_point(const PointTask& task, std::uint32_t index, const std::vector<Tensor>& inputs) {
  return run_op("point", inputs, to_attrs(task), index);
}

void expect_failure(const std::string& text, const PointTask& task, std::uint32_t index,
                    const std::vector<Tensor>& inputs) {
  expect_error(ErrorKind::failed, text, [&] { run_point(task, index, inputs); });
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_point_writes_its_row_and_column) {
  BOOST_TEST(run_point(stencil(), 2, {}).values<std::int64_t>() == (Pairs{0, 2}));
  BOOST_TEST(run_point(stencil(), 6, {payload(1, 0), payload(1, 1)}).values<std::int64_t>() ==
             (Pairs{2, 0}));
}

BOOST_AUTO_TEST_CASE(output_bytes_are_rounded_up_to_whole_pairs_that_are_all_written) {
  PointTask task = stencil();
  for (const std::uint64_t bytes : {33U, 48U}) {
    task.output_bytes = bytes;
    const Tensor out = run_point(task, 2, {});
    BOOST_TEST((out.type == TensorType{DType::f64, {6}}));
    BOOST_TEST(out.values<std::int64_t>() == (Pairs{0, 2, 0, 2, 0, 2}));
  }
}

BOOST_AUTO_TEST_CASE(a_wrong_payload_fails_the_point_that_reads_it) {
  const PointTask task = stencil();
  BOOST_CHECK_NO_THROW(run_point(task, 4, {payload(0, 0), payload(0, 1), payload(0, 2)}));
  expect_failure("input 1 of point (1, 1) carries (0, 2) at byte 0 and not (0, 1)", task, 4,
                 {payload(0, 0), payload(0, 2), payload(0, 1)});
  expect_failure("input 2 of point (1, 1) carries (1, 2) at byte 0 and not (0, 2)", task, 4,
                 {payload(0, 0), payload(0, 1), payload(1, 2)});
}

BOOST_AUTO_TEST_CASE(a_payload_that_arrived_in_part_fails_the_point_that_reads_it) {
  PointTask task = stencil();
  task.pattern.dependence = Dependence::no_comm;
  task.output_bytes = 64;
  Tensor torn = payload(0, 1, 4);
  torn.bytes[63] ^= std::byte{1};
  BOOST_CHECK_NO_THROW(run_point(task, 4, {payload(0, 1, 4)}));
  expect_failure("at byte 48", task, 4, {torn});
}

BOOST_AUTO_TEST_CASE(a_wrong_number_of_inputs_fails_the_point) {
  expect_failure("point (1, 1) has 2 inputs and not 3", stencil(), 4,
                 {payload(0, 0), payload(0, 1)});
  expect_failure("point (1, 0) has 3 inputs and not 2", stencil(), 3,
                 {payload(0, 0), payload(0, 1), payload(0, 2)});
}

BOOST_AUTO_TEST_CASE(inputs_of_another_size_are_refused) {
  expect_error(ErrorKind::usage, "a point that makes float64 [2] reads float64 [4]", [] {
    run_point(stencil(), 3, {payload(0, 0, 2), payload(0, 1, 2)});
  });
}

BOOST_AUTO_TEST_CASE(every_kind_of_work_leaves_the_payload_as_it_is) {
  PointTask task = stencil();
  task.iterations = 100;
  task.bytes = 5000;
  task.imbalance = 0.5;
  for (const PointWork work : {PointWork::empty, PointWork::spin, PointWork::memory}) {
    task.work = work;
    BOOST_TEST(run_point(task, 1, {}).values<std::int64_t>() == (Pairs{0, 1}));
  }
}

BOOST_AUTO_TEST_CASE(the_cost_of_a_point_is_its_work_and_its_payloads) {
  PointTask task = stencil();
  task.iterations = 1000;
  task.bytes = 4096;
  const auto work = [&](PointWork kind) {
    task.work = kind;
    return work_of("point", {payload(0, 0).type, payload(0, 1).type}, to_attrs(task));
  };
  BOOST_TEST(work(PointWork::empty).flops == 0);
  BOOST_TEST(work(PointWork::empty).bytes == 48);
  BOOST_TEST(work(PointWork::spin).flops == 128'000);
  BOOST_TEST(work(PointWork::spin).bytes == 48);
  BOOST_TEST(work(PointWork::memory).flops == 0);
  BOOST_TEST(work(PointWork::memory).bytes == 4096 + 48);
  // With imbalance 1, work ranges from none to all; half on average.
  task.imbalance = 1;
  BOOST_TEST(work(PointWork::spin).flops == 64'000);
}

BOOST_AUTO_TEST_CASE(a_task_that_can_not_be_is_refused) {
  const auto refused = [](const char* words, auto change) {
    PointTask task = stencil();
    BOOST_CHECK_NO_THROW(task.check());
    change(task);
    expect_error(ErrorKind::usage, words, [&] { task.check(); });
  };
  refused("the width is 0", [](PointTask& t) { t.pattern.width = 0; });
  refused("the number of iterations is -1", [](PointTask& t) { t.iterations = -1; });
  refused("the number of bytes is", [](PointTask& t) { t.bytes = PointTask::bytes_max + 1; });
  refused("the imbalance is 1.5", [](PointTask& t) { t.imbalance = 1.5; });
  refused("the number of output bytes is 15", [](PointTask& t) { t.output_bytes = 15; });
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
