// copy: a new tensor with the values of its input, usually in another memory. Links move the data.
// The kernel is used only for a copy within one memory.
#include "core/ops/builtin.hpp"
#include "core/ops/elementwise.hpp"

#include <cstring>

namespace troupe {
namespace {

void copy_kernel(const CpuCall& call) {
  const std::byte* const from = call.inputs[0].data;
  std::byte* const to = call.output.data;
  const auto size = static_cast<std::int64_t>(size_of(call.output.type.dtype));
  for_blocks(call.team, call.output.type.shape.elements(),
             [=](std::int64_t begin, std::int64_t end) {
               std::memcpy(to + begin * size, from + begin * size,
                           static_cast<std::size_t>((end - begin) * size));
             });
}

}  // namespace

OpKind copy_op() {
  return {.name = "copy",
          .summary = "the same values in another memory",
          .inputs = 1,
          .moves_data = true,
          .takes_integers = true,
          .work = streaming<0>,
          .cpu = copy_kernel};
}

}  // namespace troupe
