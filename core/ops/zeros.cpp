// zeros: a tensor of the declared type, all zero.
#include "core/ops/builtin.hpp"
#include "core/ops/elementwise.hpp"

#include <cstring>

namespace troupe {
namespace {

Work work(const OpSignature& op, const TensorType& output) {
  return streaming_work(op, output, 0);
}

void kernel(const CpuCall& call) {
  std::byte* const out = call.output.data;
  const auto size = static_cast<std::int64_t>(size_of(call.output.type.dtype));
  for_blocks(call.team, call.output.type.shape.elements(),
             [=](std::int64_t begin, std::int64_t end) {
               // All bits zero is 0.0 in IEEE 754.
               std::memset(out + begin * size, 0, static_cast<std::size_t>((end - begin) * size));
             });
}

}  // namespace

OpKind zeros_op() {
  return {.name = "zeros",
          .summary = "all zero",
          .declares_type = true,
          .type = declared_type,
          .work = work,
          .cpu = kernel};
}

}  // namespace troupe
