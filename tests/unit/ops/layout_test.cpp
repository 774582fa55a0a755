// reshape, slice, take, index_add, concat and transpose: the same values at other places.
#include "core/ops/element_functions.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/op_cases.hpp"

#include <numeric>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

namespace troupe {
using namespace testing;

BOOST_AUTO_TEST_SUITE(layout)
namespace {

void check_slice(const Tensor& x, const Integers& begin, const Integers& end) {
  const Attrs attrs{{"begin", begin}, {"end", end}};
  const Tensor out = run_op("slice", {x}, attrs);
  const std::vector<double> from = doubles(x);
  std::vector<double> expected;
  IndexCounter at(out.type.shape);
  for (std::int64_t i = 0; i < out.type.shape.elements(); ++i, at.next()) {
    std::vector<std::int64_t> source = at.index();
    for (std::size_t d = 0; d < source.size(); ++d) source[d] += begin[d];
    expected.push_back(from[place_of(x.type.shape, source)]);
  }
  check_close(out, expected, 0);
  BOOST_TEST(same_for_every_team("slice", {x}, attrs));
}

void check_concat(const std::vector<Tensor>& inputs, std::size_t axis) {
  const auto rank = static_cast<std::int64_t>(inputs[0].type.shape.rank());
  const Attrs attrs{{"axis", static_cast<std::int64_t>(axis)}};
  const Attrs from_end{{"axis", static_cast<std::int64_t>(axis) - rank}};
  const Tensor out = run_op("concat", inputs, attrs);
  std::vector<std::vector<double>> values;
  for (const Tensor& input : inputs) values.push_back(doubles(input));
  IndexCounter at(out.type.shape);
  std::vector<double> expected;
  for (std::int64_t i = 0; i < out.type.shape.elements(); ++i, at.next()) {
    std::vector<std::int64_t> index = at.index();
    std::size_t input = 0;
    while (index[axis] >= inputs[input].type.shape[axis]) {
      index[axis] -= inputs[input++].type.shape[axis];
    }
    expected.push_back(values[input][place_of(inputs[input].type.shape, index)]);
  }
  check_close(out, expected, 0);
  BOOST_TEST((run_op("concat", inputs, from_end) == out));
  BOOST_TEST(same_for_every_team("concat", inputs, attrs));
}

void check_take(const Tensor& x, const Tensor& numbers, std::size_t axis) {
  const Attrs attrs{{"axis", static_cast<std::int64_t>(axis)}};
  const Tensor out = run_op("take", {x, numbers}, attrs);
  const std::vector<double> from = doubles(x);
  const std::vector<double> wanted = doubles(numbers);
  const std::size_t rank = numbers.type.shape.rank();
  std::vector<double> expected;
  IndexCounter at(out.type.shape);
  for (std::int64_t i = 0; i < out.type.shape.elements(); ++i, at.next()) {
    const std::vector<std::int64_t> index = at.index();
    const auto first = index.begin() + static_cast<std::ptrdiff_t>(axis);
    const auto last = first + static_cast<std::ptrdiff_t>(rank);
    std::vector<std::int64_t> source(index.begin(), first);
    source.push_back(static_cast<std::int64_t>(
        wanted[place_of(numbers.type.shape, std::vector<std::int64_t>(first, last))]));
    source.insert(source.end(), last, index.end());
    expected.push_back(from[place_of(x.type.shape, source)]);
  }
  check_close(out, expected, 0);
  BOOST_TEST(same_for_every_team("take", {x, numbers}, attrs));
}

template <class T>
T wrapping_sum(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using Unsigned = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
  } else {
    return a + b;
  }
}

void check_index_add(const TensorType& type, const TensorType& of_numbers, std::size_t axis,
                     Random& random) {
  const Attrs attrs{{"axis", static_cast<std::int64_t>(axis)}};
  const Tensor x = random_tensor(type, random.next());
  const Tensor numbers = random_numbers(random, of_numbers, type.shape[axis]);
  const Tensor added = random_tensor(run_op("take", {x, numbers}, attrs).type, random.next());
  const auto rank = static_cast<std::ptrdiff_t>(of_numbers.shape.rank());
  Tensor expected = x;
  with_type_of(type.dtype, [&](auto element) {
    using T = decltype(element);
    std::vector<T> sums = x.values<T>();
    const std::vector<T> terms = added.values<T>();
    const std::vector<double> wanted = doubles(numbers);
    IndexCounter at(added.type.shape);
    for (const T term : terms) {
      const std::vector<std::int64_t> index = at.index();
      const auto first = index.begin() + static_cast<std::ptrdiff_t>(axis);
      std::vector<std::int64_t> target(index.begin(), first);
      target.push_back(static_cast<std::int64_t>(
          wanted[place_of(of_numbers.shape, std::vector<std::int64_t>(first, first + rank))]));
      target.insert(target.end(), first + rank, index.end());
      T& sum = sums[place_of(type.shape, target)];
      sum = wrapping_sum(sum, term);
      at.next();
    }
    expected = tensor(type.shape, sums);
  });
  BOOST_TEST((run_op("index_add", {x, numbers, added}, attrs) == expected));
  BOOST_TEST(same_for_every_team("index_add", {x, numbers, added}, attrs));
}

void check_transpose(const Tensor& x, const Integers& axes) {
  const Tensor out = run_op("transpose", {x}, {{"axes", axes}});
  const Shape& shape = x.type.shape;
  const std::vector<double> from = doubles(x);
  std::vector<double> expected;
  IndexCounter at(out.type.shape);
  for (std::int64_t i = 0; i < shape.elements(); ++i, at.next()) {
    std::vector<std::int64_t> source(shape.rank());
    for (std::size_t d = 0; d < axes.size(); ++d) {
      source[static_cast<std::size_t>(axes[d])] = at[d];
    }
    expected.push_back(from[place_of(shape, source)]);
  }
  check_close(out, expected, 0);
  BOOST_TEST(same_for_every_team("transpose", {x}, {{"axes", axes}}));
}

}  // namespace

BOOST_AUTO_TEST_CASE(reshape_keeps_the_values_and_their_order) {
  for (const DType dtype : all_dtypes) {
    const Tensor x = random_tensor({dtype, {6, 40, 300}}, 1);
    const Tensor out = run_op("reshape", {x}, {{"shape", Integers{240, 300}}});
    BOOST_TEST((out.type == TensorType{dtype, {240, 300}}));
    BOOST_TEST((out.bytes == x.bytes));
    BOOST_TEST(same_for_every_team("reshape", {x}, {{"shape", Integers{-1}}}));
  }
}

BOOST_AUTO_TEST_CASE(reshape_computes_the_extent_that_is_left_open) {
  const TensorType x{DType::f32, {6, 4}};
  BOOST_TEST((type_of("reshape", {x}, {{"shape", Integers{-1}}}).shape == Shape{24}));
  BOOST_TEST((type_of("reshape", {x}, {{"shape", Integers{3, -1, 2}}}).shape == Shape{3, 4, 2}));
}

BOOST_AUTO_TEST_CASE(reshape_refuses_another_number_of_elements) {
  for (const Integers& shape : {Integers{5, 5}, Integers{-1, 5}}) {
    expect_error(ErrorKind::usage, "the input is float32 [6, 4]; its 24 elements don't fit", [&] {
      type_of("reshape", {{DType::f32, {6, 4}}}, {{"shape", shape}});
    });
  }
  expect_error(ErrorKind::usage, "the shape [-1, -1] leaves several extents open", [] {
    type_of("reshape", {{DType::f32, {4}}}, {{"shape", Integers{-1, -1}}});
  });
  expect_error(ErrorKind::usage, "-1, -1, …] leaves several extents open", [] {
    type_of("reshape", {{DType::f32, {4}}}, {{"shape", Integers(200'000, -1)}});
  });
}

BOOST_AUTO_TEST_CASE(slice_takes_the_elements_from_begin_to_before_end) {
  for_random_cases(all_dtypes, [](Random& random, DType dtype) {
    const Shape shape = random_shape(random);
    Integers begin;
    Integers end;
    for (std::size_t d = 0; d < shape.rank(); ++d) {
      begin.push_back(between(random, 0, shape[d] - 1));
      end.push_back(between(random, begin[d] + 1, shape[d]));
    }
    check_slice(random_tensor({dtype, shape}, random.next()), begin, end);
  });
}

BOOST_AUTO_TEST_CASE(slices_count_from_the_end_and_leave_axes_whole) {
  const Tensor x = random_tensor({DType::f64, {5, 6}}, 1);
  const auto slice = [&](const Integers& begin, const Integers& end) {
    return run_op("slice", {x}, {{"begin", begin}, {"end", end}});
  };
  const Tensor last_rows = slice({3, 0}, {5, 6});
  BOOST_TEST((slice({-2, -6}, {0, 0}) == last_rows));
  BOOST_TEST((slice({-2, 0}, {0, 6}) == last_rows));
  BOOST_TEST((slice({-2}, {5}) == last_rows));
  BOOST_TEST((slice({0, -4}, {-1, -2}) == slice({0, 2}, {4, 4})));
  BOOST_TEST((slice({-5, -6}, {-4, -5}) == slice({0, 0}, {1, 1})));
  BOOST_TEST((slice({}, {}) == x));
}

BOOST_AUTO_TEST_CASE(rows_of_every_length_are_sliced) {
  for (const std::int64_t rows : {3, 70'001}) {
    for (const std::int64_t length : {1, 2, 5, 40}) {
      const Tensor x = random_tensor({DType::f32, {rows, length + 1}}, 1);
      check_slice(x, {1, 0}, {rows, length});
      check_slice(random_tensor({DType::f32, {length + 1, rows}}, 2), {0, 1}, {length, rows});
    }
  }
}

BOOST_AUTO_TEST_CASE(slice_refuses_indices_that_do_not_fit) {
  const TensorType x{DType::f32, {4, 6}};
  const auto slice = [&](const Integers& begin, const Integers& end) {
    type_of("slice", {x}, {{"begin", begin}, {"end", end}});
  };
  for (const auto& [begin, end] :
       {std::pair{Integers{0}, Integers{4, 6}}, std::pair{Integers{0, 0, 0}, Integers{1, 1, 1}}}) {
    expect_error(
        ErrorKind::usage,
        "the input is float32 [4, 6]; `begin` and `end` must have as many indices, at most "
        "one for each axis",
        [&, begin = begin, end = end] { slice(begin, end); });
  }
  // As a program computes it that asks for no rows.
  expect_error(ErrorKind::usage, "on axis 0, where 0 to 0", [&] { slice({0}, {0}); });
  expect_error(ErrorKind::usage, "on axis 0, where 2 to 0", [&] { slice({2}, {0}); });
  expect_error(ErrorKind::usage, "on axis 0, where -5 to 0", [&] { slice({-5}, {0}); });
  expect_error(ErrorKind::usage, "on axis 1, where -2 to -2", [&] { slice({0, -2}, {4, -2}); });
  expect_error(ErrorKind::usage, "on axis 1, where 0 to -6", [&] { slice({0, 0}, {4, -6}); });
  expect_error(ErrorKind::usage, "float32 [4, 6]; on axis 1, where 0 to 7", [&] {
    slice({0, 0}, {4, 7});
  });
  expect_error(ErrorKind::usage, "`begin` must be less than `end`", [&] { slice({0, 3}, {4, 3}); });
}

BOOST_AUTO_TEST_CASE(take_finds_elements_along_any_axis_by_numbers_of_any_shape) {
  for_random_cases(all_dtypes, [](Random& random, DType dtype) {
    const Tensor x = random_tensor({dtype, random_shape(random)}, random.next());
    const auto axis = static_cast<std::size_t>(random.below(x.type.shape.rank()));
    const DType of_numbers = integer_dtypes[random.below(2)];
    const Shape shape(random_extents(random, between(random, 0, 2), 9));
    check_take(x, random_numbers(random, {of_numbers, shape}, x.type.shape[axis]), axis);
  });
  Random random(1);
  const Tensor table = random_tensor({DType::f32, {1'000, 3}}, 1);
  check_take(table, random_numbers(random, {DType::i64, {50'000}}, 1'000), 0);
  check_take(random_tensor({DType::f64, {40'000}}, 1),
             random_numbers(random, {DType::i32, {70'000}}, 40'000), 0);
  BOOST_TEST((run_op("take", {table, tensor<std::int64_t>({1}, {7})}) ==
              run_op("slice", {table}, {{"begin", Integers{7, 0}}, {"end", Integers{8, 3}}})));
}

BOOST_AUTO_TEST_CASE(take_fails_for_the_first_number_that_no_element_has) {
  const Tensor x = random_tensor({DType::f32, {5, 2}}, 1);
  for (const std::int64_t bad : {std::int64_t{-1}, std::int64_t{5}, std::int64_t{1} << 30}) {
    const auto check = [&](const Tensor& numbers) {
      const std::string message = fmt::format("the element number at place 2 is {}", bad);
      expect_error(ErrorKind::failed, message, [&] { run_op("take", {x, numbers}); });
    };
    check(tensor<std::int64_t>({4}, {0, 4, bad, bad}));
    check(tensor<std::int32_t>({2, 2}, {0, 4, static_cast<std::int32_t>(bad), 7}));
  }
}

// Kernels get numbers as unsigned ones.
BOOST_AUTO_TEST_CASE(negative_numbers_are_of_no_element_of_the_longest_axis_either) {
  constexpr std::int64_t longest = std::int64_t{1} << 40;
  BOOST_TEST(!is_element(static_cast<std::uint32_t>(-1), longest));
  BOOST_TEST(!is_element(std::uint32_t{1} << 31, longest));
  BOOST_TEST(!is_element(static_cast<std::uint64_t>(-1), longest));
  BOOST_TEST(!is_element(static_cast<std::uint64_t>(longest), longest));
  BOOST_TEST(is_element(static_cast<std::uint64_t>(longest - 1), longest));
}

BOOST_AUTO_TEST_CASE(take_refuses_numbers_that_are_no_integers_and_results_of_too_many_axes) {
  const Tensor x = random_tensor({DType::f32, {2, 1, 1, 1, 1, 1, 1, 2}}, 1);
  expect_error(ErrorKind::usage, "int32 or int64", [&] { run_op("take", {x, x}); });
  expect_error(ErrorKind::usage, "9 axes", [&] {
    run_op("take", {x, tensor<std::int64_t>({1, 1}, {0})});
  });
  const Tensor matrix = random_tensor({DType::f32, {2, 2}}, 1);
  expect_error(ErrorKind::usage, "no axis 2", [&] {
    run_op("take", {matrix, tensor<std::int64_t>({1}, {0})}, {{"axis", std::int64_t{2}}});
  });
}

BOOST_AUTO_TEST_CASE(index_add_adds_to_elements_as_often_as_their_numbers_occur_in_their_order) {
  for_random_cases(all_dtypes, [](Random& random, DType dtype) {
    const Shape shape = random_shape(random);
    const auto axis = static_cast<std::size_t>(random.below(shape.rank()));
    const Shape places(random_extents(random, between(random, 0, 2), 9));
    check_index_add({dtype, shape}, {integer_dtypes[random.below(2)], places}, axis, random);
  });
  Random random(1);
  // Wide rows and many numbers, which threads share.
  check_index_add({DType::f32, {50, 700}}, {DType::i64, {3'000}}, 0, random);
  check_index_add({DType::f64, {40'000}}, {DType::i32, {70'000}}, 0, random);
  check_index_add({DType::f64, {300, 9, 40}}, {DType::i32, {30}}, 1, random);
}

BOOST_AUTO_TEST_CASE(index_add_of_what_take_gave_adds_each_element_as_often_as_it_was_taken) {
  const Tensor x = tensor<float>({3, 2}, {1, 2, 10, 20, 100, 200});
  const Tensor numbers = tensor<std::int32_t>({4}, {2, 0, 2, 2});
  const Tensor sums = run_op("index_add", {x, numbers, run_op("take", {x, numbers})});
  BOOST_TEST((sums == tensor<float>({3, 2}, {2, 4, 10, 20, 400, 800})));
}

BOOST_AUTO_TEST_CASE(index_add_refuses_what_does_not_fit_and_fails_for_numbers_of_no_element) {
  const Tensor x = random_tensor({DType::f32, {5, 2}}, 1);
  const Tensor numbers = tensor<std::int64_t>({3}, {0, 4, 5});
  expect_error(ErrorKind::failed, "those along the axis are from 0 to 4", [&] {
    run_op("index_add", {x, numbers, random_tensor({DType::f32, {3, 2}}, 2)});
  });
  const auto refuse = [&](const TensorType& added) {
    expect_error(ErrorKind::usage, "the third must be float32 [3, 2]", [&] {
      type_of("index_add", {x.type, numbers.type, added});
    });
  };
  refuse({DType::f64, {3, 2}});
  refuse({DType::f32, {2, 3}});
  refuse({DType::f32, {2}});
  expect_error(ErrorKind::usage, "int32 or int64", [&] {
    type_of("index_add", {x.type, x.type, x.type});
  });
}

BOOST_AUTO_TEST_CASE(concat_puts_its_inputs_one_after_the_other_along_an_axis) {
  for_random_cases(all_dtypes, [](Random& random, DType dtype) {
    const Shape shape = random_shape(random);
    const std::size_t axis = random.below(shape.rank());
    std::vector<Tensor> inputs;
    std::vector<std::int64_t> extents;
    for (std::size_t d = 0; d < shape.rank(); ++d) extents.push_back(shape[d]);
    for (std::uint64_t i = 1 + random.below(4); i > 0; --i) {
      extents[axis] = between(random, 1, 5);
      inputs.push_back(random_tensor({dtype, Shape(extents)}, random.next()));
    }
    check_concat(inputs, axis);
  });
}

BOOST_AUTO_TEST_CASE(many_columns_and_very_long_rows_are_joined) {
  std::vector<Tensor> columns;
  for (std::uint64_t i = 0; i < 100; ++i) {
    columns.push_back(random_tensor({DType::f32, {500, i % 7 + 1}}, i));
  }
  check_concat(columns, 1);
  check_concat({random_tensor({DType::f64, {3, 40'000}}, 1), random_tensor({DType::f64, {3, 1}}, 2),
                random_tensor({DType::f64, {3, 7}}, 3)},
               1);
}

BOOST_AUTO_TEST_CASE(concat_refuses_shapes_that_differ_elsewhere_and_axes_that_are_not_there) {
  const TensorType x{DType::f32, {4, 6}};
  expect_error(ErrorKind::usage, "the inputs are float32 [4, 6] and float32 [4, 5]; they must have",
               [&] {
                 type_of("concat", {x, {DType::f32, {4, 5}}}, {{"axis", 0}});
               });
  expect_error(ErrorKind::usage, "float32 [4, 6] and float64 [4, 6]", [&] {
    type_of("concat", {x, {DType::f64, {4, 6}}}, {{"axis", 0}});
  });
  for (const int axis : {2, -3}) {
    expect_error(ErrorKind::usage, "there is no axis " + std::to_string(axis), [&] {
      type_of("concat", {x, x}, {{"axis", axis}});
    });
  }
}

BOOST_AUTO_TEST_CASE(transpose_puts_the_axes_in_another_order) {
  for_random_cases(
      all_dtypes,
      [](Random& random, DType dtype) {
        const Shape shape = random_shape(random);
        Integers axes(shape.rank());
        std::iota(axes.begin(), axes.end(), 0);
        for (std::size_t d = axes.size(); d-- > 1;) std::swap(axes[d], axes[random.below(d + 1)]);
        check_transpose(random_tensor({dtype, shape}, random.next()), axes);
      },
      30);
}

// Axes between the elements of a row, rows that are cut, and tiles of all sizes.
BOOST_AUTO_TEST_CASE(short_axes_and_long_ones_are_transposed) {
  for (const auto& [shape, axes] :
       {std::pair(Shape{2, 70'001}, Integers{1, 0}), std::pair(Shape{70'001, 3}, Integers{1, 0}),
        std::pair(Shape{17, 4'001}, Integers{1, 0}), std::pair(Shape{4'001, 16}, Integers{1, 0}),
        std::pair(Shape{9'001, 3, 2}, Integers{0, 2, 1}),
        std::pair(Shape{2, 9'001, 3}, Integers{2, 1, 0}),
        std::pair(Shape{301, 2, 3, 2, 2}, Integers{0, 4, 2, 3, 1}),
        std::pair(Shape{2, 15, 15, 15, 3}, Integers{0, 4, 3, 2, 1}),
        std::pair(Shape{3, 50, 8, 4}, Integers{0, 2, 1, 3})}) {
    check_transpose(random_tensor({DType::f32, shape}, 1), axes);
    check_transpose(random_tensor({DType::f64, shape}, 2), axes);
  }
}

BOOST_AUTO_TEST_CASE(transpose_without_axes_reverses_them) {
  const Tensor x = tensor<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  BOOST_TEST((run_op("transpose", {x}) == tensor<float>({3, 2}, {1, 4, 2, 5, 3, 6})));
}

BOOST_AUTO_TEST_CASE(transpose_counts_negative_axes_from_the_end) {
  const Tensor x = tensor<float>({1, 2, 3}, {1, 2, 3, 4, 5, 6});
  const Attrs axes{{"axes", Integers{-1, 0, -2}}};
  BOOST_TEST((run_op("transpose", {x}, axes) == tensor<float>({3, 1, 2}, {1, 4, 2, 5, 3, 6})));
}

BOOST_AUTO_TEST_CASE(transpose_refuses_axes_that_are_missing_or_come_twice) {
  for (const Integers& axes :
       {Integers{0}, Integers{0, 0}, Integers{0, 2}, Integers{0, -2}, Integers{0, -3}}) {
    expect_error(ErrorKind::usage, "the input is float32 [4, 6]; `axes` must name each", [&] {
      type_of("transpose", {{DType::f32, {4, 6}}}, {{"axes", axes}});
    });
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
