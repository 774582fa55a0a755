// cuBLAS and cuSOLVER of the stand-in: values, against their definitions, and accesses.
#include "tests/unit/cuda_stand_in/stand_in_fixture.hpp"
#include "tests/unit/cuda_stand_in/test_kernels.hpp"

#include <numeric>
#include <random>

#include <boost/test/unit_test.hpp>
#include <cublas_v2.h>
#include <cusolverDn.h>

namespace troupe::testing {

struct DenseFixture : StandInFixture {
  cublasHandle_t blas = nullptr;
  cusolverDnHandle_t solver = nullptr;
  std::mt19937 random{7};

  DenseFixture() {
    BOOST_REQUIRE_EQUAL(cublasCreate(&blas), CUBLAS_STATUS_SUCCESS);
    BOOST_REQUIRE_EQUAL(cusolverDnCreate(&solver), CUSOLVER_STATUS_SUCCESS);
    cublasSetStream(blas, a);
    cusolverDnSetStream(solver, a);
  }
  ~DenseFixture() {
    stand_in.restore_devices();
    cublasDestroy(blas);
    cusolverDnDestroy(solver);
  }
  DenseFixture(const DenseFixture&) = delete;
  DenseFixture& operator=(const DenseFixture&) = delete;

  std::vector<float> values(int count) {
    std::uniform_real_distribution<float> uniform(-1, 1);
    std::vector<float> made(static_cast<std::size_t>(count));
    for (float& value : made) value = uniform(random);
    return made;
  }
  float* on_device(const std::vector<float>& from) {
    float* made = device(from.size() * sizeof(float));
    CHECK_CUDA(cudaMemcpy(made, from.data(), from.size() * sizeof(float), cudaMemcpyHostToDevice));
    return made;
  }
  std::vector<float> on_host(const float* from, std::size_t count) {
    std::vector<float> made(count);
    CHECK_CUDA(cudaStreamSynchronize(a));
    CHECK_CUDA(cudaMemcpy(made.data(), from, count * sizeof(float), cudaMemcpyDeviceToHost));
    return made;
  }
  // out[0] = x[0] * x[0]
  static cublasStatus_t multiply(cublasHandle_t handle, const float* x, float* out) {
    const float one = 1;
    const float zero = 0;
    return cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, x, 1, x, 1, &zero, out, 1);
  }
};

// Element (i, j) of a matrix that is stored column by column, as it is or transposed.
float at(const std::vector<float>& m, int leading, bool is_transposed, int i, int j) {
  return m[static_cast<std::size_t>(is_transposed ? j + i * leading : i + j * leading)];
}

BOOST_FIXTURE_TEST_SUITE(stand_in_dense, DenseFixture)

BOOST_AUTO_TEST_CASE(gemm_multiplies_whatever_is_transposed) {
  constexpr int m = 5;
  constexpr int columns = 4;
  constexpr int k = 3;
  constexpr int leading = 6;
  const float alpha = 2;
  const float beta = -1;
  for (const bool ta : {false, true}) {
    for (const bool tb : {false, true}) {
      const auto x = values(leading * 6);
      const auto y = values(leading * 6);
      const auto before = values(leading * columns);
      float* c = on_device(before);
      BOOST_CHECK_EQUAL(
          cublasSgemm(blas, ta ? CUBLAS_OP_T : CUBLAS_OP_N, tb ? CUBLAS_OP_T : CUBLAS_OP_N, m,
                      columns, k, &alpha, on_device(x), leading, on_device(y), leading, &beta, c,
                      leading),
          CUBLAS_STATUS_SUCCESS);
      const auto after = on_host(c, before.size());
      for (int i = 0; i < m; ++i) {
        for (int j = 0; j < columns; ++j) {
          float sum = 0;
          for (int l = 0; l < k; ++l) sum += at(x, leading, ta, i, l) * at(y, leading, tb, l, j);
          BOOST_CHECK_SMALL(
              at(after, leading, false, i, j) - 2 * sum + at(before, leading, false, i, j), 1e-5F);
        }
        // Between the columns nothing is written.
        BOOST_CHECK_EQUAL(after[m], before[m]);
      }
    }
  }
}

// 1 + 2^-10 has 10 bits of mantissa, and 1 + 2^-11 one more.
BOOST_AUTO_TEST_CASE(factors_have_10_bits_of_mantissa_in_tf32_only) {
  const float one = 1;
  const float zero = 0;
  float* x = on_device({1 + 0x1p-10F, 1 + 0x1p-11F});
  float* y = on_device({1, 1});
  float* c = device(2 * sizeof(float));
  const auto product = [&](cublasMath_t math) {
    cublasSetMathMode(blas, math);
    cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, 2, 1, 1, &one, x, 2, y, 1, &zero, c, 2);
    return on_host(c, 2);
  };
  BOOST_TEST(product(CUBLAS_TF32_TENSOR_OP_MATH) == (std::vector<float>{1 + 0x1p-10F, 1}));
  BOOST_TEST(product(CUBLAS_DEFAULT_MATH) == (std::vector<float>{1 + 0x1p-10F, 1 + 0x1p-11F}));
}

BOOST_AUTO_TEST_CASE(a_product_without_beta_ignores_nans) {
  const float alpha = 1;
  const float beta = 0;
  float* c = device(4 * sizeof(float));  // full of NaNs
  float* x = on_device({1, 2, 3, 4, 5, 6, 7, 8});
  BOOST_CHECK_EQUAL(cublasSgemmStridedBatched(blas, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 2, &alpha, x, 1,
                                              2, x, 2, 2, &beta, c, 1, 1, 4),
                    CUBLAS_STATUS_SUCCESS);
  const auto squares = on_host(c, 4);
  BOOST_TEST(squares == (std::vector<float>{5, 25, 61, 113}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(potrf_and_trsm_undo_syrk) {
  constexpr int size = 6;
  const float one = 1;
  const float zero = 0;
  for (const auto triangle : {CUBLAS_FILL_MODE_LOWER, CUBLAS_FILL_MODE_UPPER}) {
    const auto x = values(size * size);
    float* from = on_device(x);
    float* square = on_device(std::vector<float>(size * size, 9));
    BOOST_CHECK_EQUAL(
        cublasSsyrk(blas, triangle, CUBLAS_OP_N, size, size, &one, from, size, &zero, square, size),
        CUBLAS_STATUS_SUCCESS);
    const auto before = on_host(square, size * size);
    int elements = 0;
    BOOST_CHECK_EQUAL(cusolverDnSpotrf_bufferSize(solver, triangle, size, square, size, &elements),
                      CUSOLVER_STATUS_SUCCESS);
    float* workspace = device(static_cast<std::size_t>(elements) * sizeof(float));
    auto* info = reinterpret_cast<int*>(device(sizeof(int)));
    BOOST_CHECK_EQUAL(
        cusolverDnSpotrf(solver, triangle, size, square, size, workspace, elements, info),
        CUSOLVER_STATUS_SUCCESS);
    const auto factor = on_host(square, size * size);
    const bool is_upper = triangle == CUBLAS_FILL_MODE_UPPER;
    for (int i = 0; i < size; ++i) {
      for (int j = 0; j <= i; ++j) {
        float sum = 0;
        for (int l = 0; l <= j; ++l) {
          sum += at(factor, size, is_upper, i, l) * at(factor, size, is_upper, j, l);
        }
        BOOST_CHECK_SMALL(sum - at(before, size, is_upper, i, j), 1e-4F);
        // The other triangle is left alone.
        if (i != j) BOOST_CHECK_EQUAL(at(factor, size, is_upper, j, i), 9);
      }
    }
    // x op(l) = b, and b / op(l) is x again.
    for (const auto side : {CUBLAS_SIDE_LEFT, CUBLAS_SIDE_RIGHT}) {
      for (const auto operation : {CUBLAS_OP_N, CUBLAS_OP_T}) {
        std::vector<float> product(size * size);
        for (int i = 0; i < size; ++i) {
          for (int j = 0; j < size; ++j) {
            for (int l = 0; l < size; ++l) {
              const auto triangular = [&](int r, int c) {
                const bool flips = operation == CUBLAS_OP_T;
                const int row = flips ? c : r;
                const int column = flips ? r : c;
                if (is_upper ? row > column : row < column) return 0.0F;
                return at(factor, size, false, row, column);
              };
              product[static_cast<std::size_t>(i + j * size)] +=
                  side == CUBLAS_SIDE_LEFT ? triangular(i, l) * at(x, size, false, l, j)
                                           : at(x, size, false, i, l) * triangular(l, j);
            }
          }
        }
        float* solved = on_device(product);
        BOOST_CHECK_EQUAL(cublasStrsm(blas, side, triangle, operation, CUBLAS_DIAG_NON_UNIT, size,
                                      size, &one, square, size, solved, size),
                          CUBLAS_STATUS_SUCCESS);
        const auto again = on_host(solved, size * size);
        for (std::size_t i = 0; i < x.size(); ++i) BOOST_CHECK_SMALL(again[i] - x[i], 2e-2F);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(potrf_says_which_minor_is_not_positive_definite) {
  float* matrix = on_device({1, 0, 0, 0, -1, 0, 0, 0, 1});
  auto* info = reinterpret_cast<int*>(device(sizeof(int)));
  float* workspace = device();
  BOOST_CHECK_EQUAL(cusolverDnSpotrf(solver, CUBLAS_FILL_MODE_LOWER, 3, matrix, 3, workspace,
                                     static_cast<int>(n), info),
                    CUSOLVER_STATUS_SUCCESS);
  int verdict = 0;
  CHECK_CUDA(cudaStreamSynchronize(a));
  CHECK_CUDA(cudaMemcpy(&verdict, info, sizeof verdict, cudaMemcpyDeviceToHost));
  BOOST_CHECK_EQUAL(verdict, 2);
}

BOOST_AUTO_TEST_CASE(products_race_as_kernels_do) {
  float* x = device();
  launch_fill(x, 1, n, b);
  multiply(blas, device(), x);
  expect_failure("race: cublas gemm");
}

BOOST_AUTO_TEST_CASE(two_handles_race_in_one_workspace) {
  cublasHandle_t other = nullptr;
  float* workspace = device();
  cublasCreate(&other);
  cublasSetStream(other, b);
  for (cublasHandle_t handle : {blas, other}) cublasSetWorkspace(handle, workspace, bytes);
  multiply(blas, device(), device());
  multiply(other, device(), device());
  cublasDestroy(other);
  expect_failure("race: cublas gemm");
}

BOOST_AUTO_TEST_CASE(wrong_arguments_and_handles_are_refused) {
  const float alpha = 1;
  float* x = device();
  BOOST_CHECK_EQUAL(
      cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 4, &alpha, x, 3, x, 4, &alpha, x, 4),
      CUBLAS_STATUS_INVALID_VALUE);
  cublasSetStream(blas, nullptr);
  BOOST_CHECK_EQUAL(multiply(blas, x, x), CUBLAS_STATUS_NOT_INITIALIZED);
  expect_failure("cublas gemm uses the default stream");
  stand_in.set("out_of_memory_at", 1);
  cublasHandle_t none = nullptr;
  BOOST_CHECK_EQUAL(cublasCreate(&none), CUBLAS_STATUS_ALLOC_FAILED);
  stand_in.check_leaks();
  BOOST_CHECK_NE(failures().find("leak: 1 cuBLAS handle not destroyed"), std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::testing
