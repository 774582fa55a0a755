#include "core/ops/tensor_type.hpp"

#include "tests/support/expect_error.hpp"

#include <cstdint>
#include <set>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
using testing::expect_error;

BOOST_AUTO_TEST_SUITE(tensor_type)

BOOST_AUTO_TEST_CASE(a_shape_counts_its_elements) {
  const Shape shape{2, 3, 4, 5};
  BOOST_TEST(shape.rank() == 4U);
  BOOST_TEST(shape[2] == 4);
  BOOST_TEST(shape.elements() == 120);
  BOOST_TEST(to_string(shape) == "[2, 3, 4, 5]");
}

BOOST_AUTO_TEST_CASE(shapes_and_types_are_written_to_a_stream_as_their_text) {
  std::ostringstream text;
  text << Shape{2, 3} << ' ' << Shape{} << ' ' << TensorType{DType::i32, {4}};
  BOOST_TEST(text.str() == "[2, 3] [] int32 [4]");
}

BOOST_AUTO_TEST_CASE(shapes_are_equal_when_rank_and_extents_are) {
  BOOST_TEST((Shape{2, 3} == Shape{2, 3}));
  BOOST_TEST((Shape{2, 3} != Shape{3, 2}));
  BOOST_TEST((Shape{2} != Shape{2, 1}));
}

BOOST_AUTO_TEST_CASE(a_tensor_type_knows_its_bytes_and_its_name) {
  BOOST_TEST((TensorType{DType::f32, {6000, 6000}}.bytes()) == 144'000'000U);
  BOOST_TEST((TensorType{DType::f64, {10}}.bytes()) == 80U);
  BOOST_TEST(to_string(TensorType{DType::f32, {6000, 6000}}) == "float32 [6000, 6000]");
  BOOST_TEST(to_string(TensorType{DType::f64, {1}}) == "float64 [1]");
  BOOST_TEST((TensorType{DType::i32, {10}}.bytes()) == 40U);
  BOOST_TEST((TensorType{DType::i64, {10}}.bytes()) == 80U);
  BOOST_TEST(to_string(TensorType{DType::i32, {1}}) == "int32 [1]");
  BOOST_TEST(to_string(TensorType{DType::i64, {2, 3}}) == "int64 [2, 3]");
}

BOOST_AUTO_TEST_CASE(an_extent_below_1_is_refused) {
  expect_error(ErrorKind::usage, "shape [4, 0] has an extent of 0; each must be at least 1", [] {
    Shape{4, 0};
  });
  expect_error(ErrorKind::usage, "shape [-3] has an extent of -3", [] { Shape{-3}; });
}

BOOST_AUTO_TEST_CASE(an_error_of_a_shape_names_the_line_that_wrote_it) {
  const auto take = [](const Shape&) {};
  try {
    take({4, 0});
    BOOST_ERROR("nothing was thrown");
  } catch (const Error& error) {
    BOOST_TEST(error.place().file.ends_with("tensor_type_test.cpp"));
    BOOST_TEST(error.place().line == __LINE__ - 4);
  }
}

BOOST_AUTO_TEST_CASE(hashes_of_types_differ_by_element_type_rank_and_extents) {
  std::set<std::uint64_t> hashes;
  for (const DType dtype : {DType::f32, DType::f64, DType::i32, DType::i64}) {
    for (const Shape& shape : {Shape{}, Shape{1}, Shape{2}, Shape{1, 2}, Shape{2, 1}}) {
      hashes.insert(hash_of(TensorType{dtype, shape}));
    }
  }
  BOOST_TEST(hashes.size() == 20U);
}

BOOST_AUTO_TEST_CASE(more_than_8_dimensions_are_refused) {
  BOOST_TEST((Shape{1, 2, 1, 2, 1, 2, 1, 2}.elements()) == 16);
  expect_error(ErrorKind::usage,
               "shape [1, 1, 1, 1, 1, 1, 1, 1, 1] has 9 dimensions; a tensor has at most 8",
               [] { Shape{1, 1, 1, 1, 1, 1, 1, 1, 1}; });
}

BOOST_AUTO_TEST_CASE(an_error_shows_the_first_of_very_many_extents) {
  const std::vector<std::int64_t> extents(200'000, 1);
  expect_error(ErrorKind::usage,
               "shape [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, …] has 200000 dimensions",
               [&] { Shape{std::span(extents)}; });
}

BOOST_AUTO_TEST_CASE(extents_may_be_of_any_integer_type_but_of_no_other) {
  const std::vector<float> values(3);
  const int rows = 2;
  const std::uint32_t columns = 4;
  BOOST_TEST((Shape{values.size(), rows, columns} == Shape{3, 2, 4}));
  static_assert(!std::is_convertible_v<float, Extent> && !std::is_convertible_v<double, Extent>);
  const std::size_t huge = std::size_t{1} << 63;
  const int line = __LINE__ + 2;
  try {
    Shape{2, huge};
    BOOST_ERROR("nothing was thrown");
  } catch (const Error& error) {
    BOOST_TEST(error.place().line == line);
    BOOST_TEST(error.problem().find("9223372036854775808 has too many") != std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(without_dimensions_a_tensor_is_one_element) {
  const TensorType scalar{DType::i32, Shape{}};
  BOOST_TEST(scalar.shape.elements() == 1);
  BOOST_TEST(scalar.bytes() == 4U);
  BOOST_TEST(to_string(scalar) == "int32 []");
}

BOOST_AUTO_TEST_CASE(more_elements_than_the_limit_are_refused_even_where_the_product_overflows) {
  BOOST_TEST((Shape{1 << 20, 1 << 20}.elements()) == Shape::max_elements);
  expect_error(ErrorKind::usage, "too many elements", [] { Shape{1 << 20, (1 << 20) + 1}; });
  constexpr std::int64_t huge = std::int64_t{1} << 62;
  expect_error(ErrorKind::usage, "too many elements", [] { Shape{huge, huge, huge, huge}; });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
