// The type of a tensor: element type and shape.
#pragma once

#include "core/base/call_site.hpp"

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>

namespace troupe {

// Numbers as IEEE 754 has them, and whole numbers in two's complement.
enum class DType : std::uint8_t { f32, f64, i32, i64 };

// The names of the element types, in the order of DType.
inline constexpr std::array<std::string_view, 4> dtype_names = {"float32", "float64", "int32",
                                                                "int64"};

constexpr std::uint64_t size_of(DType t) {
  return t == DType::f32 || t == DType::i32 ? 4 : 8;
}
constexpr bool is_integer(DType t) {
  return t == DType::i32 || t == DType::i64;
}
constexpr std::string_view to_string(DType t) {
  const auto number = static_cast<std::size_t>(t);
  return number < dtype_names.size() ? dtype_names[number] : "no element type";
}

// Tensors in memory begin at multiples of a cache line, in bytes. Those that a program lends to a
// session begin at any element.
constexpr std::uint64_t kernel_alignment = 64;

// Of what an Extent is made: of types whose values int64 holds all, and of std::size_t.
template <class T>
concept FitsInt64 = requires(T given) {
  std::int64_t{given};
};
template <class T>
concept Unsigned64 = std::unsigned_integral<T> && sizeof(T) == sizeof(std::int64_t);
// An extent as programs give it: of any integer type.
struct Extent {
  template <FitsInt64 T>
  constexpr Extent(T given) : value{given} {}
  // Throws a usage Error if it is above Shape::max_elements.
  template <Unsigned64 T>
  Extent(T given, CallSite line = CallSite::here()) : value(checked(given, line)) {}
  std::int64_t value;

 private:
  static std::int64_t checked(std::uint64_t given, CallSite line);
};

// Extents of up to 8 dimensions, each at least 1. Tensors are row-major. Without dimensions, a
// tensor is a single element.
class Shape {
 public:
  static constexpr std::size_t max_rank = 8;

  Shape() = default;
  // Throws a usage Error if the rank is above max_rank, an extent is below 1, or there are more
  // than max_elements elements.
  explicit Shape(std::span<const std::int64_t> extents);
  // The Error names the caller's line.
  Shape(std::initializer_list<Extent> extents, CallSite where = CallSite::here());

  std::size_t rank() const { return rank_; }
  std::int64_t operator[](std::size_t d) const { return extents_[d]; }
  std::span<const std::int64_t> extents() const { return std::span(extents_).first(rank_); }
  std::int64_t elements() const {
    std::int64_t product = 1;
    for (std::size_t d = 0; d < rank_; ++d) product *= extents_[d];
    return product;
  }
  friend bool operator==(const Shape&, const Shape&) = default;

  // The limit of elements per tensor. Keeps products of bytes and FLOPs far from overflow.
  static constexpr std::int64_t max_elements = std::int64_t{1} << 40;

 private:
  std::array<std::int64_t, max_rank> extents_{};
  std::uint8_t rank_ = 0;
};

std::string to_string(const Shape& s);  // "[6000, 6000]"
std::ostream& operator<<(std::ostream& out, const Shape& s);
// The same of extents that may be no shape: of more than 16 the first ones and "…".
std::string to_string(std::span<const std::int64_t> extents);

struct TensorType {
  DType dtype = DType::f32;
  Shape shape;

  std::uint64_t bytes() const {
    return static_cast<std::uint64_t>(shape.elements()) * size_of(dtype);
  }
  friend bool operator==(const TensorType&, const TensorType&) = default;
};

std::string to_string(const TensorType& t);  // "float32 [6000, 6000]"
std::ostream& operator<<(std::ostream& out, const TensorType& t);

std::uint64_t hash_of(const TensorType& t);

}  // namespace troupe
