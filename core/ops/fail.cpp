// fail: an op that fails when it runs, for tests and to see how a failure is reported.
#include "core/base/error.hpp"
#include "core/ops/builtin.hpp"

#include <thread>

namespace troupe {
namespace {

TensorType type(const OpSignature&) {
  return {DType::f64, Shape{1}};
}

Work work(const OpSignature& op, const TensorType&) {
  Work work;
  work.fixed = std::get<Duration>(op.attrs[0]);
  return work;
}

void kernel(const CpuCall& call) {
  std::this_thread::sleep_for(std::get<Duration>(call.attrs[0]));
  throw run_error("it failed on purpose", "ops of kind 'fail' always do");
}

}  // namespace

OpKind fail_op() {
  return {.name = "fail",
          .summary = "fails after `after`, to see how a failure is reported",
          .inputs_min = 0,
          .inputs_max = 64,
          .attrs = {{.name = "after", .fallback = Duration{0}}},
          .fixed_time = true,
          .type = type,
          .work = work,
          .cpu = kernel};
}

}  // namespace troupe
