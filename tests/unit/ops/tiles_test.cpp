// gemm, trsm, syrk and potrf: what a tiled Cholesky factorisation is made of.
#include "tests/support/expect_error.hpp"
#include "tests/support/op_cases.hpp"

#include <limits>

#include <boost/test/unit_test.hpp>

namespace troupe {
using namespace testing;

BOOST_AUTO_TEST_SUITE(tiles)
namespace {

// A matrix of doubles that a plain loop computes with.
struct Matrix {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<double> values;

  Matrix(std::int64_t m, std::int64_t n)
      : rows(m), columns(n), values(static_cast<std::size_t>(m * n), 0.0) {}
  explicit Matrix(const Tensor& t)
      : rows(t.type.shape[0]), columns(t.type.shape[1]), values(doubles(t)) {}

  double& operator()(std::int64_t i, std::int64_t j) {
    return values[static_cast<std::size_t>(i * columns + j)];
  }
  double operator()(std::int64_t i, std::int64_t j) const {
    return values[static_cast<std::size_t>(i * columns + j)];
  }
};

Matrix transposed(const Matrix& a) {
  Matrix result(a.columns, a.rows);
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t j = 0; j < a.columns; ++j) result(j, i) = a(i, j);
  }
  return result;
}

// alpha A B + beta C
Matrix combined(double alpha, const Matrix& a, const Matrix& b, double beta, const Matrix& c) {
  Matrix result(a.rows, b.columns);
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t j = 0; j < b.columns; ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < a.columns; ++k) sum += a(i, k) * b(k, j);
      result(i, j) = alpha * sum + beta * c(i, j);
    }
  }
  return result;
}

Matrix product(const Matrix& a, const Matrix& b) {
  return combined(1, a, b, 0, Matrix(a.rows, b.columns));
}

Matrix lower_triangle(Matrix a) {
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t j = i + 1; j < a.columns; ++j) a(i, j) = 0;
  }
  return a;
}

Matrix below_and_above(Matrix below, const Matrix& above) {
  for (std::int64_t i = 0; i < below.rows; ++i) {
    for (std::int64_t j = i + 1; j < below.columns; ++j) below(i, j) = above(i, j);
  }
  return below;
}

Tensor matrix(Random& random, DType dtype, std::int64_t rows, std::int64_t columns) {
  return random_tensor({dtype, {rows, columns}}, random.next());
}

// Numbers below 1 on both sides of a diagonal above 1, so that solving loses few digits.
Tensor triangle(Random& random, DType dtype, std::int64_t n) {
  Matrix l(matrix(random, dtype, n, n));
  for (double& v : l.values) v /= static_cast<double>(n);
  for (std::int64_t i = 0; i < n; ++i) l(i, i) += 2;
  return tensor_of({dtype, {n, n}}, l.values);
}

// Tries trsm with a B of m × n.
void check_solutions(Random& random, DType dtype, std::int64_t m, std::int64_t n) {
  const Tensor b = matrix(random, dtype, m, n);
  for (const std::string side : {"left", "right"}) {
    for (const bool transpose : {false, true}) {
      const Tensor l = triangle(random, dtype, side == "left" ? m : n);
      const Tensor x =
          run_op("trsm", {l, b}, {{"side", side}, {"transpose", transpose}, {"alpha", -0.5}});
      Matrix triangular = lower_triangle(Matrix(l));
      if (transpose) triangular = transposed(triangular);
      const Matrix back =
          side == "left" ? product(triangular, Matrix(x)) : product(Matrix(x), triangular);
      std::vector<double> expected = doubles(b);
      for (double& v : expected) v *= -0.5;
      check_close(tensor_of(x.type, back.values), expected, 30);
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(gemm_is_alpha_a_b_plus_beta_c) {
  for_random_cases([](Random& random, DType dtype) {
    const auto extent_or_1 = [&] { return random.below(4) == 0 ? 1 : between(random, 1, 50); };
    const std::int64_t m = extent_or_1();
    const std::int64_t n = extent_or_1();
    const std::int64_t k = between(random, 1, 50);
    const bool ta = random.below(2) == 0;
    const bool tb = random.below(2) == 0;
    const double alpha = 2 * random.unit() - 1;
    const double beta = 2 * random.unit() - 1;
    const Tensor a = ta ? matrix(random, dtype, k, m) : matrix(random, dtype, m, k);
    const Tensor b = tb ? matrix(random, dtype, n, k) : matrix(random, dtype, k, n);
    const Tensor c = matrix(random, dtype, m, n);
    const Attrs attrs{{"transpose_a", ta}, {"transpose_b", tb}, {"alpha", alpha}, {"beta", beta}};
    const Matrix expected = combined(alpha, ta ? transposed(Matrix(a)) : Matrix(a),
                                     tb ? transposed(Matrix(b)) : Matrix(b), beta, Matrix(c));
    check_close(run_op("gemm", {a, b, c}, attrs), expected.values, 60);
  });
}

// A number, a vector and a matrix.
BOOST_AUTO_TEST_CASE(gemm_reads_c_only_if_beta_is_not_0) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const auto& [m, n] : {std::pair{1, 1}, std::pair{2, 1}, std::pair{1, 2}, std::pair{2, 2}}) {
    const Tensor a = tensor_of({DType::f64, {m, 1}}, std::vector<double>(m, 2));
    const Tensor b = tensor_of({DType::f64, {1, n}}, std::vector<double>(n, 2));
    const Tensor c = tensor_of({DType::f64, {m, n}}, std::vector<double>(m * n, nan));
    BOOST_TEST(run_op("gemm", {a, b, c}, {{"beta", 0.0}}).at<double>(0) == 4);
    BOOST_TEST(std::isnan(run_op("gemm", {a, b, c}).at<double>(0)));
  }
}

BOOST_AUTO_TEST_CASE(gemm_reads_a_and_b_only_if_alpha_is_not_0) {
  const Tensor nan = tensor<double>({1, 1}, {std::numeric_limits<double>::quiet_NaN()});
  for (const std::int64_t n : {1, 3}) {
    const Tensor row = tensor_of({DType::f64, {1, n}}, std::vector<double>(n, 2));
    BOOST_TEST(run_op("gemm", {nan, row, row}, {{"alpha", 0.0}}).at<double>(0) == 2);
  }
  // OpenBLAS has other kernels for small ones.
  for (const DType dtype : {DType::f32, DType::f64}) {
    const auto nans = [=](const Shape& shape) {
      constexpr double value = std::numeric_limits<double>::quiet_NaN();
      return run_op("constant", {}, {{"value", value}}, {dtype, shape});
    };
    for (const std::int64_t n : {3, 40, 110, 130, 300}) {
      const Shape square{n, n};
      const Tensor c = random_tensor({dtype, square}, 1);
      BOOST_TEST((run_op("gemm", {nans(square), nans(square), c}, {{"alpha", 0.0}}) == c));
      BOOST_TEST(
          (run_op("gemm", {nans(square), nans(square), nans(square)},
                  {{"alpha", 0.0}, {"beta", 0.0}}) == run_op("zeros", {}, {}, {dtype, square})));
      for (const bool transpose : {false, true}) {
        FreshThreadsTeam team(1, 2);
        BOOST_TEST((run_op("syrk", {nans(square), c}, {{"alpha", 0.0}, {"transpose", transpose}},
                           team) == c));
      }
    }
    // One that becomes 0 in float32.
    const Tensor ones = run_op("constant", {}, {{"value", 1.0}}, {dtype, {2, 1}});
    if (dtype == DType::f32) {
      BOOST_TEST((run_op("gemm", {nans({2, 5}), nans({5, 1}), ones}, {{"alpha", 1e-60}}) == ones));
    }
  }
}

BOOST_AUTO_TEST_CASE(trsm_solves_for_each_side_and_transpose) {
  for_random_cases([](Random& random, DType dtype) {
    check_solutions(random, dtype, between(random, 1, 40), between(random, 1, 40));
  });
}

BOOST_AUTO_TEST_CASE(systems_that_are_solved_half_by_half_are_solved_as_well) {
  for_random_cases([](Random& random, DType dtype) {
    check_solutions(random, dtype, between(random, 65, 200), between(random, 65, 200));
    check_solutions(random, dtype, 65, 66);
  });
}

BOOST_AUTO_TEST_CASE(systems_for_a_few_columns_or_rows_are_solved_as_well) {
  for_random_cases(
      [](Random& random, DType dtype) {
        for (const std::int64_t few : {1, 2, 3, 4}) {
          check_solutions(random, dtype, few, between(random, 1, 150));
          check_solutions(random, dtype, between(random, 1, 150), few);
        }
      },
      3);
}

BOOST_AUTO_TEST_CASE(trsm_with_an_alpha_of_zero_gives_zeros_whatever_l_is) {
  for (const std::int64_t n : {20, 100}) {
    const TensorType type{DType::f64, {n, n}};
    const Tensor l = tensor_of(type, std::vector<double>(type.shape.elements(), 0.0));
    const Tensor x = run_op("trsm", {l, random_tensor(type, 1)}, {{"alpha", 0.0}});
    for (const double v : doubles(x)) BOOST_TEST(v == 0);
  }
}

BOOST_AUTO_TEST_CASE(syrk_gives_the_lower_triangle_of_a_product_with_its_transpose_and_c_above) {
  for_random_cases([](Random& random, DType dtype) {
    const std::int64_t n = between(random, 1, 50);
    const std::int64_t k = between(random, 1, 50);
    const Tensor c = matrix(random, dtype, n, n);
    for (const bool transpose : {false, true}) {
      const Tensor a = transpose ? matrix(random, dtype, k, n) : matrix(random, dtype, n, k);
      const Matrix plain = transpose ? transposed(Matrix(a)) : Matrix(a);
      const Matrix expected = combined(-1, plain, transposed(plain), 0.5, Matrix(c));
      check_close(
          run_op("syrk", {a, c}, {{"transpose", transpose}, {"alpha", -1.0}, {"beta", 0.5}}),
          below_and_above(expected, Matrix(c)).values, 60);
    }
  });
}

BOOST_AUTO_TEST_CASE(the_factor_times_its_transpose_is_the_matrix) {
  for_random_cases([](Random& random, DType dtype) {
    const std::int64_t n = between(random, 1, 60);
    const Matrix root(triangle(random, dtype, n));
    const Tensor a = tensor_of({dtype, {n, n}}, product(root, transposed(root)).values);
    const Tensor l = run_op("potrf", {a});
    BOOST_TEST((doubles(l) == lower_triangle(Matrix(l)).values));
    check_close(tensor_of(l.type, product(Matrix(l), transposed(Matrix(l))).values), doubles(a),
                100);
    // Elements above the diagonal aren't read.
    check_close(run_op("potrf", {tensor_of(a.type, lower_triangle(Matrix(a)).values)}), doubles(l),
                0);
  });
}

BOOST_AUTO_TEST_CASE(a_matrix_that_is_not_positive_definite_fails_the_op) {
  expect_error(ErrorKind::failed, "not positive definite: its first 2 rows and columns", [] {
    run_op("potrf", {tensor<double>({2, 2}, {1, 2, 2, 1})});
  });
}

BOOST_AUTO_TEST_CASE(a_matrix_with_values_that_are_no_numbers_is_not_positive_definite) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const std::int64_t n : {1, 3, 200}) {
    std::vector<double> a(static_cast<std::size_t>(n * n), 0.0);
    for (std::int64_t i = 0; i < n; ++i) a[static_cast<std::size_t>(i * n + i)] = 1;
    a.back() = nan;
    expect_error(ErrorKind::failed, "not positive definite", [&] {
      run_op("potrf", {tensor<double>({n, n}, a)});
    });
  }
}

// Several panels, the last one shorter.
BOOST_AUTO_TEST_CASE(every_team_gives_the_same_bits) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Tensor tall = random_tensor({dtype, {1700, 20}}, 1);
    const Tensor square = random_tensor({dtype, {1700, 1700}}, 2);
    Random random(3);
    BOOST_TEST(same_for_every_team("gemm", {tall, tall, square}, {{"transpose_b", true}}));
    BOOST_TEST(same_for_every_team("syrk", {tall, square}));
    BOOST_TEST(same_for_every_team("trsm", {triangle(random, dtype, 20), tall},
                                   {{"side", "right"}, {"transpose", true}}));
    for (const std::int64_t n : {20, 100}) {
      BOOST_TEST(same_for_every_team(
          "trsm", {triangle(random, dtype, n), random_tensor({dtype, {n, 3100}}, 4)}));
    }
    BOOST_TEST(same_for_every_team("potrf", {tensor_of({dtype, {2, 2}}, {2, 1, 1, 2})}));
  }
}

BOOST_AUTO_TEST_CASE(panels_of_a_solution_solve_every_row_and_column) {
  Random random(5);
  for (const std::int64_t n : {20, 100}) {
    const Tensor l = triangle(random, DType::f64, n);
    const Matrix triangular = lower_triangle(Matrix(l));
    const Tensor tall = random_tensor({DType::f64, {1700, n}}, 1);
    const Matrix rows(run_op("trsm", {l, tall}, {{"side", "right"}}));
    check_close(tensor_of(tall.type, product(rows, triangular).values), doubles(tall), 30);
    const Tensor wide = random_tensor({DType::f64, {n, 3100}}, 2);
    const Matrix columns(run_op("trsm", {l, wide}));
    check_close(tensor_of(wide.type, product(triangular, columns).values), doubles(wide), 30);
  }
}

BOOST_AUTO_TEST_CASE(panels_of_a_symmetric_update_agree_with_a_product) {
  const Tensor a = random_tensor({DType::f64, {1700, 20}}, 1);
  const Tensor c = random_tensor({DType::f64, {1700, 1700}}, 2);
  const Matrix expected(run_op("gemm", {a, a, c}, {{"transpose_b", true}}));
  check_close(run_op("syrk", {a, c}), below_and_above(expected, Matrix(c)).values, 60);
}

// Compares with one panel, which OpenBLAS may round differently.
BOOST_AUTO_TEST_CASE(ops_cut_for_a_team_of_many_threads_give_what_they_give_uncut) {
  Random random(6);
  const Tensor a = matrix(random, DType::f64, 611, 640);
  const Tensor b = matrix(random, DType::f64, 523, 640);
  const Tensor square = matrix(random, DType::f64, 611, 611);
  const Tensor l = triangle(random, DType::f64, 611);
  const auto agrees = [](std::string_view op, const std::vector<Tensor>& inputs,
                         const Attrs& attrs) {
    FreshThreadsTeam one_core(1, 1);
    const std::vector<double> expected = doubles(run_op(op, inputs, attrs, one_core));
    for (const std::int64_t widest_team : {3, 16, 64}) {
      BOOST_TEST_CONTEXT(op << " cut for " << widest_team << " threads") {
        FreshThreadsTeam team(3, widest_team);
        check_close(run_op(op, inputs, attrs, team), expected, 60);
      }
    }
  };
  agrees("gemm", {a, b, matrix(random, DType::f64, 611, 523)},
         {{"transpose_b", true}, {"alpha", -0.5}, {"beta", 2.0}});
  agrees("syrk", {a, square}, {{"beta", 0.5}});
  agrees("syrk", {matrix(random, DType::f64, 640, 611), square}, {{"transpose", true}});
  agrees("trsm", {l, matrix(random, DType::f64, 611, 1003)}, {});
  agrees("trsm", {l, matrix(random, DType::f64, 1003, 611)}, {{"side", "right"}});
}

BOOST_AUTO_TEST_CASE(shapes_that_do_not_fit_are_refused_with_the_types) {
  const TensorType a{DType::f32, {3, 4}};
  const auto refused = [](const char* text, const char* op, const std::vector<TensorType>& inputs,
                          const Attrs& attrs = {}) {
    expect_error(ErrorKind::usage, text, [&] { type_of(op, inputs, attrs); });
  };
  refused(
      "the inputs are float32 [3, 4], float32 [3, 4] and float32 [3, 4]; the third must be "
      "float32 [3, 3]",
      "gemm", {a, a, a}, {{"transpose_b", true}});
  refused("the columns of the first (4)", "gemm", {a, a, a});
  refused("the inputs are float32 [3, 4] and float32 [3, 4]; the first must be float32 [3, 3]",
          "trsm", {a, a});
  refused("the first must be float32 [4, 4]", "trsm", {a, a}, {{"side", "right"}});
  refused("the same element type", "trsm", {{DType::f64, {3, 3}}, a});
  refused("the inputs are float32 [3, 4] and float32 [3, 4]; the second must be float32 [3, 3]",
          "syrk", {a, a});
  refused("the input is float32 [3, 4]; it must be a matrix with as many rows", "potrf", {a});
}

BOOST_AUTO_TEST_CASE(work_is_counted_as_the_lapack_literature_does) {
  const TensorType t{DType::f64, {10, 10}};
  BOOST_TEST(work_of("gemm", {t, t, t}).flops == 2000 + 200);
  BOOST_TEST(work_of("trsm", {t, t}).flops == 1000);
  BOOST_TEST(work_of("syrk", {t, t}).flops == 10 * 11 * 11);
  BOOST_TEST(work_of("potrf", {t}).flops == 385, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(work_of("gemm", {t, t, t}).bytes == 4 * 800);
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
