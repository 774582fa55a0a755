// fail: an op that fails when it runs, for tests and to see how a failure is reported.
#include "core/base/error.hpp"
#include "core/ops/builtin.hpp"

#include <thread>

namespace troupe {
namespace {

TensorType fail_type(const OpSignature&) {
  return {DType::f64, Shape{1}};
}

Work fail_work(const OpSignature& op, const TensorType&) {
  Work work;
  work.fixed = op.attrs.get<Duration>("after");
  return work;
}

void fail_kernel(const CpuCall& call) {
  std::this_thread::sleep_for(call.attrs.get<Duration>("after"));
  throw run_error("it failed on purpose", "ops of kind 'fail' always do");
}

}  // namespace

OpKind fail_op() {
  return {.name = "fail",
          .summary = "fails after `after`, to see how a failure is reported; not in a simulation",
          .inputs = {0, 64},
          .attrs = {{.name = "after", .fallback = Duration{0}}},
          .fixed_time = true,
          .takes_integers = true,
          .type = fail_type,
          .work = fail_work,
          .cpu = fail_kernel};
}

}  // namespace troupe
