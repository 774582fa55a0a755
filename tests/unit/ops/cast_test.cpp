// cast: the same numbers as elements of another type.
#include "tests/support/expect_error.hpp"
#include "tests/support/op_cases.hpp"

#include <cmath>
#include <limits>
#include <type_traits>

#include <boost/test/unit_test.hpp>

namespace troupe {
using namespace testing;

BOOST_AUTO_TEST_SUITE(cast)
namespace {

// Random ones of all magnitudes, and those where types end. More than a block.
template <class T>
std::vector<T> numbers(std::uint64_t seed) {
  if constexpr (std::is_integral_v<T>) {
    std::vector<T> values = random_tensor({dtype_of<T>(), {40'000}}, seed).template values<T>();
    for (const T v :
         {T{0}, T{-1}, T{1}, std::numeric_limits<T>::max(), std::numeric_limits<T>::min()}) {
      values.push_back(v);
    }
    return values;
  } else {
    constexpr T infinity = std::numeric_limits<T>::infinity();
    std::vector<T> values = random_tensor({dtype_of<T>(), {40'000}}, seed).template values<T>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = std::ldexp(values[i], static_cast<int>(i % 200) - 100);
    }
    for (const T end : {T{0}, T{0.5}, T{1}, T{0x1p31}, T{0x1p63}, infinity}) {
      for (const T v : {std::nextafter(end, -infinity), end, std::nextafter(end, infinity)}) {
        values.push_back(v);
        values.push_back(-v);
      }
    }
    values.push_back(std::numeric_limits<T>::quiet_NaN());
    return values;
  }
}

// By way of long double, which has all numbers of every element type.
template <class To, class From>
To expected(From x) {
  const auto value = static_cast<long double>(x);
  using Limits = std::numeric_limits<To>;
  if constexpr (std::is_floating_point_v<To>) {
    return static_cast<To>(value);
  } else if constexpr (std::is_integral_v<From>) {
    const long double turn = std::ldexp(1.0L, Limits::digits + 1);
    const long double rest = value - turn * std::floor(value / turn);
    return static_cast<To>(rest > static_cast<long double>(Limits::max()) ? rest - turn : rest);
  } else {
    if (std::isnan(value)) return 0;
    return static_cast<To>(std::clamp(std::trunc(value), static_cast<long double>(Limits::min()),
                                      static_cast<long double>(Limits::max())));
  }
}

Attrs to(DType dtype) {
  return {{"dtype", std::string(to_string(dtype))}};
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_type_is_cast_to_every_type) {
  for (const DType from : all_dtypes) {
    for (const DType dtype : all_dtypes) {
      BOOST_TEST_CONTEXT(to_string(from) << " to " << to_string(dtype)) {
        with_type_of(from, [&](auto in) {
          with_type_of(dtype, [&](auto out) {
            using From = decltype(in);
            using To = decltype(out);
            const auto values = numbers<From>(7);
            std::vector<To> wanted;
            for (const From v : values) wanted.push_back(expected<To>(v));
            const Tensor x = tensor({std::ssize(values)}, values);
            const auto made = run_op("cast", {x}, to(dtype)).template values<To>();
            for (std::size_t i = 0; i < values.size(); ++i) {
              if (made[i] == wanted[i] || (made[i] != made[i] && wanted[i] != wanted[i])) continue;
              BOOST_ERROR(values[i] << " becomes " << made[i] << " and not " << wanted[i]);
              break;
            }
            BOOST_TEST(same_for_every_team("cast", {x}, to(dtype)));
          });
        });
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(what_integers_cannot_hold_has_a_defined_result) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor x = tensor<double>({7}, {-1.9, 1.9, 3e9, -3e9, 1e300, -1e300, nan});
  constexpr auto most = std::numeric_limits<std::int32_t>::max();
  constexpr auto least = std::numeric_limits<std::int32_t>::min();
  BOOST_TEST((run_op("cast", {x}, to(DType::i32)) ==
              tensor<std::int32_t>({7}, {-1, 1, most, least, most, least, 0})));
  const Tensor wide = tensor<std::int64_t>({2}, {(std::int64_t{5} << 32) + 7, -1});
  BOOST_TEST((run_op("cast", {wide}, to(DType::i32)) == tensor<std::int32_t>({2}, {7, -1})));
}

BOOST_AUTO_TEST_CASE(a_cast_keeps_the_shape_and_needs_a_known_type) {
  const TensorType x{DType::i64, {2, 3}};
  BOOST_TEST((type_of("cast", {x}, to(DType::f32)) == TensorType{DType::f32, {2, 3}}));
  expect_error(ErrorKind::usage, "'cast' needs 'dtype'", [&] { type_of("cast", {x}); });
  expect_error(ErrorKind::usage, "did you mean 'float32'?", [&] {
    type_of("cast", {x}, {{"dtype", std::string("float23")}});
  });
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
