// load: the values of a ValueSource, such as a file, as a tensor of the declared type. Values that
// are in memory already, such as those of a mapped file, are used there: they must not change.
#include "core/ops/builtin.hpp"
#include "core/ops/elementwise.hpp"

namespace troupe {
namespace {

using Values = std::shared_ptr<const ValueSource>;

TensorType load_type(const OpSignature& op) {
  if (op.attrs.get<Values>("values") == nullptr) {
    throw usage_error("there are no values to load", "give a file or values");
  }
  return op.declared;
}

void load_kernel(const CpuCall& call) {
  const ValueSource& values = *call.attrs.get<Values>("values");
  std::byte* const out = call.output.data;
  const std::uint64_t size = size_of(call.output.type.dtype);
  // A block costs two or three system calls.
  constexpr std::integral_constant<std::int64_t, 32 * block_elements> block;
  for_blocks_of(block, call.team, call.output.type.shape.elements(),
                [&, out, size](std::int64_t begin, std::int64_t end) {
                  const std::uint64_t offset = static_cast<std::uint64_t>(begin) * size;
                  const std::uint64_t bytes = static_cast<std::uint64_t>(end - begin) * size;
                  values.read(offset, {out + offset, bytes});
                });
}

}  // namespace

OpKind load_op() {
  return {.name = "load",
          .summary = "the values of a file",
          .attrs = {{.name = "values", .fallback = Values(), .required = true}},
          .declares_type = true,
          .reads_host = true,
          .takes_integers = true,
          .type = load_type,
          .work = streaming<0>,
          .cpu = load_kernel,
          .existing = [](const Attrs& attrs) { return attrs.get<Values>("values")->existing(); }};
}

}  // namespace troupe
