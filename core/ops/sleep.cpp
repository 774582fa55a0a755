// sleep: waits for a given time. The output is one value that depends on the inputs, so that the
// result shows which tensors the op read.
#include "core/ops/builtin.hpp"
#include "core/ops/fingerprint.hpp"

#include <thread>

namespace troupe {
namespace {

TensorType sleep_type(const OpSignature&) {
  return {DType::f64, Shape{1}};
}

Work sleep_work(const OpSignature& op, const TensorType&) {
  Work work;
  work.fixed = op.attrs.get<Duration>("duration");
  return work;
}

void sleep_kernel(const CpuCall& call) {
  std::this_thread::sleep_for(call.attrs.get<Duration>("duration"));
  *call.output.as<double>() = Fingerprint(call.inputs).unit(0);
}

}  // namespace

OpKind sleep_op() {
  return {.name = "sleep",
          .summary = "waits for `duration`",
          .inputs = {0, 64},
          .attrs = {{.name = "duration", .fallback = Duration{0}, .required = true}},
          .fixed_time = true,
          .takes_integers = true,
          .type = sleep_type,
          .work = sleep_work,
          .cpu = sleep_kernel};
}

}  // namespace troupe
