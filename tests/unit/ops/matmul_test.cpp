#include "tests/support/expect_error.hpp"
#include "tests/support/op_cases.hpp"

#include <cmath>
#include <limits>
#include <utility>

#include <boost/test/unit_test.hpp>

namespace troupe {
using namespace testing;

BOOST_AUTO_TEST_SUITE(matmul)
namespace {

// op(A) is m × k and op(B) is k × n.
struct Case {
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
};

Attrs transposes(bool a, bool b) {
  return {{"transpose_a", a}, {"transpose_b", b}};
}

Shape shape_of(std::int64_t rows, std::int64_t columns, bool transposed) {
  return transposed ? Shape{columns, rows} : Shape{rows, columns};
}

template <class T>
void check(const Case& c, bool ta, bool tb, std::int64_t widest_team = 1) {
  const DType dtype = sizeof(T) == 4 ? DType::f32 : DType::f64;
  const Tensor a = random_tensor({dtype, shape_of(c.m, c.k, ta)}, 1);
  const Tensor b = random_tensor({dtype, shape_of(c.k, c.n, tb)}, 2);
  FreshThreadsTeam team(1, widest_team);
  const Tensor out = run_op("matmul", {a, b}, transposes(ta, tb), team);
  BOOST_TEST((out.type == TensorType{dtype, {c.m, c.n}}));
  const auto element = [](const Tensor& t, std::int64_t row, std::int64_t column, bool transposed) {
    if (transposed) std::swap(row, column);
    return static_cast<double>(t.at<T>(static_cast<std::size_t>(row * t.type.shape[1] + column)));
  };
  // |error| <= k u |A||B| (Higham, Accuracy and Stability of Numerical Algorithms, 3.5); all
  // factors here are below 1. The reference sums in double, which doubles the bound for double.
  const double bound =
      2.0 * static_cast<double>(c.k * c.k) * static_cast<double>(std::numeric_limits<T>::epsilon());
  double worst = 0;
  // All of a small matrix, a sample of a large one.
  const std::int64_t step = c.m * c.n > 10'000 ? 997 : 1;
  for (std::int64_t i = 0; i < c.m * c.n; i += step) {
    double sum = 0;
    for (std::int64_t j = 0; j < c.k; ++j) {
      sum += element(a, i / c.n, j, ta) * element(b, j, i % c.n, tb);
    }
    worst = std::fmax(worst,
                      std::fabs(sum - static_cast<double>(out.at<T>(static_cast<std::size_t>(i)))));
    // fmax drops a NaN.
    BOOST_REQUIRE(!std::isnan(out.at<T>(static_cast<std::size_t>(i))));
  }
  BOOST_TEST(worst <= bound, c.m << "×" << c.n << "×" << c.k << " transposed " << ta << tb);
}

// A product of each two matrices of a batch, or of a matrix and a vector, is what the two give by
// themselves.
void check_batch(DType dtype, std::int64_t m, std::int64_t n) {
  for (const bool transposed : {false, true}) {
    const Tensor a = random_tensor({dtype, transposed ? Shape{2, 3, 7, m} : Shape{2, 3, m, 7}}, 1);
    const Tensor b = random_tensor({dtype, transposed ? Shape{2, 3, n, 7} : Shape{2, 3, 7, n}}, 2);
    const Attrs attrs = transposes(transposed, transposed);
    const Tensor out = run_op("matmul", {a, b}, attrs);
    BOOST_TEST((out.type.shape == Shape{2, 3, m, n}));
    const auto matrix = [&](const Tensor& batch, std::size_t i) {
      const Shape shape{batch.type.shape[2], batch.type.shape[3]};
      const auto size = static_cast<long>(TensorType{dtype, shape}.bytes());
      const auto first = batch.bytes.begin() + static_cast<long>(i) * size;
      return Tensor{{dtype, shape}, {first, first + size}};
    };
    for (std::size_t i = 0; i < 6; ++i) {
      BOOST_TEST((run_op("matmul", {matrix(a, i), matrix(b, i)}, attrs) == matrix(out, i)));
    }
    BOOST_TEST(same_for_every_team("matmul", {a, b}, attrs));
  }
}

// A batch behind a single matrix, and before one, against products of two batches, in which that
// matrix is repeated.
void check_shared_factor(DType dtype, const Case& c, bool ta, bool tb) {
  const Tensor a = random_tensor({dtype, shape_of(c.m, c.k, ta)}, 1);
  const Tensor b = random_tensor({dtype, shape_of(c.k, c.n, tb)}, 2);
  const auto batch_of = [](const Tensor& matrix, bool is_same) {
    const Shape shape{2, 3, matrix.type.shape[0], matrix.type.shape[1]};
    if (!is_same) return random_tensor({matrix.type.dtype, shape}, 3);
    Tensor repeated{{matrix.type.dtype, shape}, {}};
    for (int i = 0; i < 6; ++i) {
      repeated.bytes.insert(repeated.bytes.end(), matrix.bytes.begin(), matrix.bytes.end());
    }
    return repeated;
  };
  const double units = static_cast<double>(c.k * c.k);
  const Attrs attrs = transposes(ta, tb);
  const auto check = [&](const Tensor& x, const Tensor& y, const Tensor& all_x,
                         const Tensor& all_y) {
    const Tensor out = run_op("matmul", {x, y}, attrs);
    BOOST_TEST((out.type.shape == Shape{2, 3, c.m, c.n}));
    check_close(out, doubles(run_op("matmul", {all_x, all_y}, attrs)), units);
    BOOST_TEST(same_for_every_team("matmul", {x, y}, attrs));
  };
  check(batch_of(a, false), b, batch_of(a, false), batch_of(b, true));
  check(a, batch_of(b, false), batch_of(a, true), batch_of(b, false));
}

}  // namespace

BOOST_AUTO_TEST_CASE(products_of_all_shapes_and_transposes_agree_with_a_plain_loop) {
  // One panel; panels of rows, the last one shorter; panels of columns; vectors, in panels too.
  for (const Case& c : {Case{1, 1, 1}, Case{3, 4, 5}, Case{64, 48, 80}, Case{1003, 33, 17},
                        Case{2100, 20, 9}, Case{10, 2003, 31}, Case{7, 1, 301}, Case{1, 7, 301},
                        Case{2101, 1, 29}, Case{1, 4003, 31}}) {
    for (const bool ta : {false, true}) {
      for (const bool tb : {false, true}) {
        check<float>(c, ta, tb);
        check<double>(c, ta, tb);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(products_cut_for_a_team_of_many_threads_agree_with_a_plain_loop) {
  for (const std::int64_t widest_team : {3, 16, 64}) {
    for (const bool ta : {false, true}) {
      for (const bool tb : {false, true}) {
        check<float>({411, 523, 601}, ta, tb, widest_team);
        check<double>({1203, 85, 701}, ta, tb, widest_team);
      }
    }
  }
  // Vectors, in panels.
  for (const bool transposed : {false, true}) {
    check<float>({4100, 1, 4001}, transposed, false, 3);
    check<float>({1, 4100, 4001}, false, transposed, 3);
  }
}

// Panels of rows and of columns, also of vectors.
BOOST_AUTO_TEST_CASE(every_team_gives_the_same_bits) {
  for (const auto& [m, n, k] :
       {Case{2011, 130, 65}, Case{70, 4100, 65}, Case{2011, 1, 65}, Case{1, 4100, 65}}) {
    for (const bool transposed : {false, true}) {
      for (const DType dtype : {DType::f32, DType::f64}) {
        BOOST_TEST(same_for_every_team("matmul",
                                       {random_tensor({dtype, shape_of(m, k, transposed)}, 1),
                                        random_tensor({dtype, shape_of(k, n, transposed)}, 2)},
                                       transposes(transposed, transposed)));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(leading_axes_are_a_batch_of_products) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const auto& [m, n] : {std::pair{5, 4}, std::pair{5, 1}, std::pair{1, 4}}) {
      check_batch(dtype, m, n);
    }
  }
  const TensorType x{DType::f32, {3, 5, 5}};
  BOOST_TEST(work_of("matmul", {x, x}).flops == 3 * 250);
  expect_error(ErrorKind::usage,
               "the inputs are float32 [3, 5, 5] and float32 [2, 5, 5]; all axes but the last two "
               "must be equal, or one factor must be a single matrix",
               [&] {
                 type_of("matmul", {x, {DType::f32, {2, 5, 5}}});
               });
  expect_error(ErrorKind::usage, "float32 [3, 5, 5] and float32 [1, 3, 5, 5]; all axes but", [&] {
    type_of("matmul", {x, {DType::f32, {1, 3, 5, 5}}});
  });
}

BOOST_AUTO_TEST_CASE(a_single_matrix_or_vector_is_a_factor_of_every_product_of_a_batch) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const bool ta : {false, true}) {
      for (const bool tb : {false, true}) {
        check_shared_factor(dtype, {.m = 5, .n = 4, .k = 7}, ta, tb);
        check_shared_factor(dtype, {.m = 301, .n = 33, .k = 90}, ta, tb);
        check_shared_factor(dtype, {.m = 1, .n = 9, .k = 6}, ta, tb);
        check_shared_factor(dtype, {.m = 9, .n = 1, .k = 6}, ta, tb);
      }
    }
  }
  const TensorType batch{DType::f32, {2, 3, 4, 5}};
  const auto shape = [&](const std::vector<TensorType>& inputs) {
    return type_of("matmul", inputs).shape;
  };
  BOOST_TEST((shape({batch, {DType::f32, {5}}}) == Shape{2, 3, 4}));
  BOOST_TEST((shape({{DType::f32, {4}}, batch}) == Shape{2, 3, 5}));
  BOOST_TEST((shape({batch, {DType::f32, {5, 7}}}) == Shape{2, 3, 4, 7}));
  BOOST_TEST((shape({{DType::f32, {7, 4}}, batch}) == Shape{2, 3, 7, 5}));
  BOOST_TEST(work_of("matmul", {batch, {DType::f32, {5, 7}}}).flops == 6 * 2 * 4 * 5 * 7);
  BOOST_TEST(work_of("matmul", {{DType::f32, {7, 4}}, batch}).flops == 6 * 2 * 4 * 5 * 7);
  // As one matrix, the batch would have too many rows for BLAS.
  BOOST_TEST((shape({{DType::f32, {65'536, 65'536, 1}}, {DType::f32, {1, 1}}}) ==
              Shape{65'536, 65'536, 1}));
  expect_error(ErrorKind::usage, "the columns of the first (5) must be as many", [&] {
    shape({batch, {DType::f32, {4, 5}}});
  });
}

BOOST_AUTO_TEST_CASE(very_tall_matrices_are_covered_to_the_last_row) {
  // Cut in 128, each rounded up to 800 rows, the last one would be empty.
  const std::int64_t m = 101'600;
  const Tensor a = random_tensor({DType::f32, {m, 1}}, 1);
  const Tensor out = run_op("matmul", {a, tensor<float>({1, 1}, {2})});
  for (std::size_t i = 0; i < static_cast<std::size_t>(m); ++i) {
    BOOST_REQUIRE(out.at<float>(i) == 2 * a.at<float>(i));
  }
}

BOOST_AUTO_TEST_CASE(nan_and_infinity_reach_every_sum_they_are_part_of) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor out = run_op(
      "matmul", {tensor<double>({2, 2}, {nan, 0, inf, 0}), tensor<double>({2, 2}, {1, 0, 0, 1})});
  BOOST_TEST(std::isnan(out.at<double>(0)));
  BOOST_TEST(std::isnan(out.at<double>(1)));  // nan * 0
  BOOST_TEST(out.at<double>(2) == inf);
  BOOST_TEST(std::isnan(out.at<double>(3)));  // inf * 0
}

BOOST_AUTO_TEST_CASE(nan_and_infinity_reach_the_products_with_vectors) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor matrix = tensor<double>({2, 2}, {nan, 0, inf, 0});
  const Tensor columns = run_op("matmul", {matrix, tensor<double>({2, 1}, {1, 0})});
  BOOST_TEST(std::isnan(columns.at<double>(0)));
  BOOST_TEST(columns.at<double>(1) == inf);
  const Tensor rows = run_op("matmul", {tensor<double>({1, 2}, {0, 1}), matrix});
  BOOST_TEST(std::isnan(rows.at<double>(0)));  // nan * 0
  BOOST_TEST(rows.at<double>(1) == 0);
}

// Verification within 1e-5 counts on CPUs being right. (OpenBLAS's kernel for any 64-bit ARM
// processor is off by 0.97e-5.)
BOOST_AUTO_TEST_CASE(long_products_with_vectors_keep_their_digits) {
  constexpr float tenth = 0.1F;
  constexpr double off_max = 1e-5;
  for (const std::int64_t k : {100'000, 1'000'000}) {
    const auto all = [](std::int64_t rows, std::int64_t columns, float value) {
      return tensor<float>({rows, columns},
                           std::vector<float>(static_cast<std::size_t>(rows * columns), value));
    };
    const double expected = static_cast<double>(k) * static_cast<double>(tenth);
    const auto check_close_to_it = [&](const Tensor& out) {
      BOOST_TEST(std::fabs(static_cast<double>(out.at<float>(0)) - expected) <= off_max * expected);
    };
    for (const std::int64_t n : {1, 2, 40}) {
      check_close_to_it(run_op("matmul", {all(1, k, tenth), all(k, n, 1)}));
      check_close_to_it(run_op("matmul", {all(n, k, tenth), all(k, 1, 1)}));
      check_close_to_it(
          run_op("matmul", {all(k, n, tenth), all(k, 1, 1)}, transposes(true, false)));
    }
  }
}

BOOST_AUTO_TEST_CASE(work_is_2mnk_and_every_matrix_once) {
  const Work work = work_of("matmul", {{DType::f32, {6000, 6000}}, {DType::f32, {6000, 6000}}});
  BOOST_TEST(work.flops == 432e9);
  BOOST_TEST(work.bytes == 3 * 144e6);
  BOOST_TEST(work_of("matmul", {{DType::f64, {4, 2}}, {DType::f64, {3, 4}}}, transposes(true, true))
                 .flops == 48);
}

BOOST_AUTO_TEST_CASE(a_vector_is_a_row_before_a_matrix_and_a_column_behind_one) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Tensor matrix = random_tensor({dtype, {70, 500}}, 1);
    const auto reshaped = [](const Tensor& x, const Shape& shape) {
      return Tensor{{x.type.dtype, shape}, x.bytes};
    };
    for (const bool transposed : {false, true}) {
      const std::int64_t rows = transposed ? 500 : 70;
      const std::int64_t columns = transposed ? 70 : 500;
      const Tensor column = random_tensor({dtype, {columns}}, 2);
      const Tensor row = random_tensor({dtype, {rows}}, 3);
      const Attrs behind = transposes(transposed, false);
      const Tensor product = run_op("matmul", {matrix, reshaped(column, {columns, 1})}, behind);
      BOOST_TEST((run_op("matmul", {matrix, column}, behind) == reshaped(product, {rows})));
      BOOST_TEST(same_for_every_team("matmul", {matrix, column}, behind));
      const Attrs before = transposes(false, transposed);
      const Tensor sums = run_op("matmul", {reshaped(row, {1, rows}), matrix}, before);
      BOOST_TEST((run_op("matmul", {row, matrix}, before) == reshaped(sums, {columns})));
      BOOST_TEST(same_for_every_team("matmul", {row, matrix}, before));
      const Tensor number = run_op("matmul", {reshaped(row, {1, rows}), reshaped(row, {rows, 1})});
      BOOST_TEST((run_op("matmul", {row, row}) == reshaped(number, Shape{})));
    }
  }
}

BOOST_AUTO_TEST_CASE(what_cannot_be_multiplied_is_refused_with_both_types) {
  expect_error(
      ErrorKind::usage,
      "the inputs are float32 [2, 3] and float32 [2, 3]; the columns of the first (3) must "
      "be as many as the rows of the second (2)",
      [&] {
        type_of("matmul", {{DType::f32, {2, 3}}, {DType::f32, {2, 3}}});
      });
  expect_error(
      ErrorKind::usage,
      "float32 [2, 3] (transposed) and float32 [2, 4] (transposed); the columns of the "
      "first (2) must be as many as the rows of the second (4)",
      [&] {
        type_of("matmul", {{DType::f32, {2, 3}}, {DType::f32, {2, 4}}}, transposes(true, true));
      });
  expect_error(ErrorKind::usage,
               "the inputs are float32 [] and float32 [2, 2]; both must be matrices", [&] {
                 type_of("matmul", {{DType::f32, Shape{}}, {DType::f32, {2, 2}}});
               });
  expect_error(ErrorKind::usage, "the columns of the first (3) must be as many", [&] {
    type_of("matmul", {{DType::f32, {2, 3}}, {DType::f32, {2}}});
  });
  expect_error(ErrorKind::usage, "leave the transpose of a vector out", [&] {
    type_of("matmul", {{DType::f32, {2, 3}}, {DType::f32, {3}}}, transposes(false, true));
  });
  expect_error(ErrorKind::usage, "they must be matrices", [&] {
    type_of("gemm", {{DType::f32, {2, 3}}, {DType::f32, {3}}, {DType::f32, {2, 1}}});
  });
  expect_error(ErrorKind::usage, "both must have the same type", [&] {
    type_of("matmul", {{DType::f32, {2, 2}}, {DType::f64, {2, 2}}});
  });
}

BOOST_AUTO_TEST_CASE(extents_beyond_the_integers_of_blas_are_refused) {
  constexpr std::int64_t large = std::int64_t{1} << 33;
  expect_error(ErrorKind::usage, "OpenBLAS takes extents up to", [] {
    type_of("matmul", {{DType::f32, {1, large}}, {DType::f32, {large, 1}}});
  });
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
