#include "actors/nodes/flat_bytes.hpp"

#include "core/base/big_vector.hpp"
#include "core/base/error.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <caf/binary_deserializer.hpp>
#include <caf/sec.hpp>
#include <caf/serializer.hpp>
#include <fmt/format.h>

namespace troupe {

namespace {

// With huge pages if they are many. Aligned for every Flat type, and not filled.
std::shared_ptr<std::byte> allocate(std::size_t bytes) {
  return {BigAllocator<std::byte>().allocate(bytes),
          [bytes](std::byte* memory) { BigAllocator<std::byte>().deallocate(memory, bytes); }};
}

}  // namespace

caf::error inspect(caf::serializer& sink, FlatBytes& bytes) {
  std::uint64_t size = bytes.size_;
  if (auto error = sink.apply(size)) return error;
  // apply_raw reads only; it takes no pointer to const because a deserializer has it, too.
  return sink.apply_raw(size, const_cast<std::byte*>(bytes.start_.get()));
}

caf::error inspect(caf::deserializer& source, FlatBytes& bytes) {
  std::uint64_t size = 0;
  if (auto error = source.apply(size)) return error;
  const auto* const binary = dynamic_cast<const caf::binary_deserializer*>(&source);
  if (binary == nullptr || size > binary->remaining()) return caf::sec::end_of_stream;
  const std::shared_ptr<std::byte> start = allocate(size);
  if (auto error = source.apply_raw(size, start.get())) return error;
  bytes.start_ = start;
  bytes.size_ = size;
  return caf::none;
}

std::string to_string(const FlatBytes& bytes) {
  return fmt::format("{} bytes", bytes.size());
}

void FlatWriter::grow(std::size_t bytes) {
  const std::size_t capacity = std::max(2 * size_, size_ + bytes);
  std::shared_ptr<std::byte> start = allocate(capacity);
  if (size_ > 0) std::memcpy(start.get(), start_.get(), size_);
  start_ = std::move(start);
  capacity_ = capacity;
}

void check_message(bool is_whole) {
  if (is_whole) return;
  throw run_error("a message of another node is damaged",
                  "run the same version of Troupe on all nodes");
}

void put_type(FlatWriter& writer, const TensorType& type) {
  std::vector<std::int64_t> extents;
  for (std::size_t d = 0; d < type.shape.rank(); ++d) extents.push_back(type.shape[d]);
  writer.put(type.dtype);
  writer.put_array<std::int64_t>(extents);
}

TensorType get_type(FlatReader& reader) {
  TensorType type;
  type.dtype = reader.get<DType>();
  check_message(static_cast<std::size_t>(type.dtype) < dtype_names.size());
  try {
    type.shape = Shape(reader.get_array<std::int64_t>());
  } catch (const Error&) {
    check_message(false);
  }
  return type;
}

}  // namespace troupe
