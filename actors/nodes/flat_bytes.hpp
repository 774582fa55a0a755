// Values for a node of the same version of Troupe, byte order and ABI, in one block of bytes:
// numbers and arrays of flat structs as they are in memory, each at a multiple of 8 bytes.
#pragma once

#include "core/base/assert.hpp"
#include "core/ops/tensor_type.hpp"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <caf/error.hpp>
#include <caf/fwd.hpp>

namespace troupe {

// Types whose bytes are all part of the value, and for which all bytes are a value.
template <class T>
concept Flat = std::is_trivially_copyable_v<T> && alignof(T) <= 8 && !std::same_as<T, bool> &&
               (std::is_floating_point_v<T> || std::has_unique_object_representations_v<T>);

constexpr std::size_t padded(std::size_t bytes) {
  return (bytes + 7) / 8 * 8;
}

// Copies share the bytes.
class FlatBytes {
 public:
  FlatBytes() = default;
  // `start` must be aligned for every Flat type.
  FlatBytes(std::shared_ptr<const std::byte> start, std::size_t size)
      : start_(std::move(start)), size_(size) {}

  std::size_t size() const { return size_; }
  std::span<const std::byte> bytes() const { return {start_.get(), size_}; }

 private:
  friend caf::error inspect(caf::serializer& sink, FlatBytes& bytes);
  friend caf::error inspect(caf::deserializer& source, FlatBytes& bytes);

  std::shared_ptr<const std::byte> start_;
  std::size_t size_ = 0;
};

caf::error inspect(caf::serializer& sink, FlatBytes& bytes);
// Reads from a caf::binary_deserializer only: it knows how many bytes there are, so a false size
// allocates nothing.
caf::error inspect(caf::deserializer& source, FlatBytes& bytes);
std::string to_string(const FlatBytes& bytes);  // "120 bytes"

// Not a vector: bytes are copied in one go, and memory isn't filled with zeros first.
class FlatWriter {
 public:
  // Room for `bytes` more.
  void reserve(std::size_t bytes) {
    if (capacity_ - size_ < bytes) grow(bytes);
  }
  FlatBytes take() && { return FlatBytes(std::move(start_), size_); }

  template <Flat T>
  void put(const T& value) {
    append(&value, sizeof(T));
  }
  template <Flat T>
  void put_array(std::span<const T> values) {
    put(std::uint64_t{values.size()});
    append(values.data(), values.size_bytes());
  }
  void put_text(std::string_view text) { put_array(std::span<const char>(text)); }
  // An array of those elements with which `make` calls its argument, a function. It may call it
  // `count_max` times.
  template <Flat T, class Make>
  void put_each(std::size_t count_max, const Make& make) {
    const std::size_t count_at = size_;
    put(std::uint64_t{0});
    reserve(padded(count_max * sizeof(T)));
    std::byte* const begin = start_.get() + size_;
    std::byte* next = begin;
    make([&next](const T& value) {
      std::memcpy(next, &value, sizeof(T));
      next += sizeof(T);
    });
    const auto bytes = static_cast<std::size_t>(next - begin);
    TROUPE_ASSERT(bytes <= count_max * sizeof(T));
    const std::uint64_t count = bytes / sizeof(T);
    std::memcpy(start_.get() + count_at, &count, sizeof(count));
    finish(bytes);
  }

 private:
  void append(const void* from, std::size_t bytes) {
    reserve(padded(bytes));
    if (bytes > 0) std::memcpy(start_.get() + size_, from, bytes);
    finish(bytes);
  }
  // `bytes` have been written behind the others.
  void finish(std::size_t bytes) {
    std::memset(start_.get() + size_ + bytes, 0, padded(bytes) - bytes);
    size_ += padded(bytes);
  }
  void grow(std::size_t bytes);

  std::shared_ptr<std::byte> start_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

// Throws a run Error if `is_whole` is false: the bytes of a message are not what they should be.
void check_message(bool is_whole);

// Reads what a FlatWriter has put, in the same order. Each function throws a run Error if the bytes
// end before.
class FlatReader {
 public:
  // `bytes` must outlive the reader, and the arrays and texts that it returns.
  explicit FlatReader(const FlatBytes& bytes) : rest_(bytes.bytes()) {}

  template <Flat T>
  T get() {
    check_message(sizeof(T) <= rest_.size());
    T value;
    std::memcpy(&value, rest_.data(), sizeof(T));
    skip(sizeof(T));
    return value;
  }
  template <Flat T>
  std::span<const T> get_array() {
    const auto size = get<std::uint64_t>();
    check_message(size <= rest_.size() / sizeof(T));
    const std::span<const T> values(reinterpret_cast<const T*>(rest_.data()), size);
    skip(values.size_bytes());
    return values;
  }
  std::string_view get_text() {
    const std::span<const char> text = get_array<char>();
    return {text.data(), text.size()};
  }
  // Throws a run Error unless everything has been read.
  void end() const { check_message(rest_.empty()); }

 private:
  void skip(std::size_t size) {
    check_message(padded(size) <= rest_.size());
    rest_ = rest_.subspan(padded(size));
  }

  std::span<const std::byte> rest_;
};

void put_type(FlatWriter& writer, const TensorType& type);
TensorType get_type(FlatReader& reader);

}  // namespace troupe
