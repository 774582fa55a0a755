// Products, triangular solves and Cholesky factors, on the device and on the CPU.
#include "tests/unit/cuda/device_fixture.hpp"

#include <limits>

#include <boost/test/unit_test.hpp>

namespace troupe {
using namespace testing;

BOOST_AUTO_TEST_SUITE(cuda_matrices)
namespace {

struct Factors {
  Tensor a;
  Tensor b;
  std::int64_t m;
  std::int64_t n;
  Attrs attrs;

  // Small products have a kernel of their own: every other one has an extent that is too large.
  Factors(Random& random, DType dtype, const std::vector<std::int64_t>& batch)
      : Factors(random, dtype, batch, batch) {}
  Factors(Random& random, DType dtype, const std::vector<std::int64_t>& batch_a,
          const std::vector<std::int64_t>& batch_b)
      : m(between(random, 1, 40)), n(between(random, 1, 40)) {
    std::int64_t k = between(random, 1, 40);
    std::int64_t* const extents[] = {&m, &n, &k};
    if (random.below(2) == 0) *extents[random.below(3)] = between(random, 129, 140);
    const bool transpose_a = random.below(2) == 0;
    const bool transpose_b = random.below(2) == 0;
    attrs = {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}};
    const auto matrix = [&](std::vector<std::int64_t> shape, std::int64_t rows,
                            std::int64_t columns, bool is_transposed) {
      shape.push_back(is_transposed ? columns : rows);
      shape.push_back(is_transposed ? rows : columns);
      return random_tensor({dtype, Shape(shape)}, random.next());
    };
    a = matrix(batch_a, m, k, transpose_a);
    b = matrix(batch_b, k, n, transpose_b);
  }
};

// Small off the diagonal, so that solving is well conditioned. Above it is what nobody may read.
Tensor lower_triangle(Random& random, DType dtype, std::int64_t n) {
  std::vector<double> values = doubles(random_tensor({dtype, {n, n}}, random.next()));
  for (std::int64_t i = 0; i < n * n; ++i) {
    double& v = values[static_cast<std::size_t>(i)];
    const std::int64_t row = i / n;
    const std::int64_t column = i % n;
    if (column < row) v /= static_cast<double>(n);
    if (column == row) v = 1 + v * v;
    if (column > row) v = std::numeric_limits<double>::quiet_NaN();
  }
  return tensor_of({dtype, {n, n}}, values);
}

// Its lower triangle; above it is what nobody may read.
Tensor positive_definite(Random& random, DType dtype, std::int64_t n) {
  const Tensor a = random_tensor({dtype, {n, n}}, random.next());
  std::vector<double> values = doubles(run_op("matmul", {a, a}, {{"transpose_b", true}}));
  for (std::int64_t i = 0; i < n * n; ++i) {
    double& v = values[static_cast<std::size_t>(i)];
    if (i % n == i / n) v += 1;
    if (i % n > i / n) v = std::numeric_limits<double>::quiet_NaN();
  }
  return tensor_of({dtype, {n, n}}, values);
}

}  // namespace

BOOST_AUTO_TEST_CASE(products_are_close_to_those_of_the_cpu) {
  for_random_cases([](Random& random, DType dtype) {
    const Factors single(random, dtype, {});
    check_close_on_device("matmul", {single.a, single.b}, single.attrs);
    const Factors batch(random, dtype, random_extents(random, between(random, 1, 3), 4));
    check_close_on_device("matmul", {batch.a, batch.b}, batch.attrs);
    const std::vector<std::int64_t> several = random_extents(random, between(random, 1, 3), 4);
    for (const Factors& one_is_single :
         {Factors(random, dtype, several, {}), Factors(random, dtype, {}, several)}) {
      check_close_on_device("matmul", {one_is_single.a, one_is_single.b}, one_is_single.attrs);
    }
  });
}

BOOST_AUTO_TEST_CASE(products_with_vectors_are_close_to_those_of_the_cpu) {
  for_random_cases([](Random& random, DType dtype) {
    const std::int64_t rows = between(random, 1, 200);
    const std::int64_t columns = between(random, 1, 200);
    const Tensor matrix = random_tensor({dtype, {rows, columns}}, random.next());
    const Tensor column = random_tensor({dtype, {columns}}, random.next());
    const Tensor row = random_tensor({dtype, {rows}}, random.next());
    check_close_on_device("matmul", {matrix, column}, {}, static_cast<double>(columns));
    check_close_on_device("matmul", {row, matrix}, {}, static_cast<double>(rows));
    check_close_on_device("matmul", {row, row}, {}, static_cast<double>(rows));
  });
}

BOOST_AUTO_TEST_CASE(gemm_adds_a_multiple_of_its_third_input) {
  for_random_cases([](Random& random, DType dtype) {
    Factors p(random, dtype, {});
    p.attrs.set("alpha", random.unit());
    p.attrs.set("beta", random.unit());
    const Tensor c = random_tensor({dtype, {p.m, p.n}}, random.next());
    check_close_on_device("gemm", {p.a, p.b, c}, p.attrs);
    p.attrs.set("beta", 0.0);
    const Tensor unread = run_op("constant", {}, {{"value", std::nan("")}}, c.type);
    check_close_on_device("gemm", {p.a, p.b, unread}, p.attrs);
  });
}

// As BLAS says. OpenBLAS's kernels for small products do read them.
BOOST_AUTO_TEST_CASE(factors_of_a_small_product_that_counts_zero_times_are_not_read) {
  const Tensor c = tensor<float>({2, 2}, {1, 2, 3, 4});
  const Tensor unread = run_op("constant", {}, {{"value", std::nan("")}}, c.type);
  const Tensor out = run_on_device("gemm", {unread, unread, c}, {{"alpha", 0.0}, {"beta", 0.5}});
  BOOST_TEST(doubles(out) == (std::vector<double>{0.5, 1, 1.5, 2}));
}

BOOST_AUTO_TEST_CASE(syrk_updates_the_lower_triangle_only) {
  for_random_cases([](Random& random, DType dtype) {
    const std::int64_t n = between(random, 1, 40);
    const std::int64_t k = between(random, 1, 40);
    for (const bool transpose : {false, true}) {
      const Tensor a = random_tensor({dtype, transpose ? Shape{k, n} : Shape{n, k}}, random.next());
      const Tensor c = random_tensor({dtype, {n, n}}, random.next());
      for (const double beta : {0.0, 0.75}) {
        check_close_on_device("syrk", {a, c},
                              {{"transpose", transpose}, {"alpha", -0.5}, {"beta", beta}});
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(trsm_solves_from_both_sides) {
  for_random_cases([](Random& random, DType dtype) {
    const std::int64_t n = between(random, 1, 40);
    const std::int64_t others = between(random, 1, 40);
    const Tensor l = lower_triangle(random, dtype, n);
    for (const char* side : {"left", "right"}) {
      const bool left = std::string_view(side) == "left";
      const Tensor b =
          random_tensor({dtype, left ? Shape{n, others} : Shape{others, n}}, random.next());
      for (const bool transpose : {false, true}) {
        check_close_on_device(
            "trsm", {l, b},
            {{"side", std::string(side)}, {"transpose", transpose}, {"alpha", 0.5}});
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(potrf_gives_the_lower_factor_with_zeros_above) {
  for_random_cases([](Random& random, DType dtype) {
    check_close_on_device("potrf", {positive_definite(random, dtype, between(random, 1, 40))});
  });
}

BOOST_AUTO_TEST_CASE(potrf_fails_in_the_words_of_the_cpu) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const float second : {-1.0F, nan}) {
    const Tensor a = tensor<float>({2, 2}, {1, 0, 0, second});
    const auto words = [&](auto* run) -> std::string {
      try {
        run(a);
      } catch (const Error& error) {
        return error.what();
      }
      return "";
    };
    const std::string on_cpu = words(+[](const Tensor& x) { run_op("potrf", {x}); });
    BOOST_TEST(on_cpu.find("its first 2 rows") != std::string::npos);
    BOOST_TEST(words(+[](const Tensor& x) { run_on_device("potrf", {x}); }) == on_cpu);
  }
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
