#include "core/ops/product.hpp"

#include "core/ops/blas.hpp"
#include "core/ops/panels.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace troupe {
namespace {

constexpr std::int64_t blas_extent_max = std::numeric_limits<blasint>::max();

std::string shape_text(const TensorType& type, bool transposed) {
  return to_string(type) + (transposed ? " (transposed)" : "");
}

CBLAS_TRANSPOSE blas_transpose(bool transposed) {
  return transposed ? CblasTrans : CblasNoTrans;
}

// y = alpha op(a) x + beta y, for `length` elements of y, which may hold anything if beta is 0.
// gemv reads the matrix once, where gemm packs it first. But it adds up all of k in a row, which
// loses digits where that is long, so it gets a block of k at a time.
template <class T>
void multiply_vector(const Product& p, bool transpose, std::int64_t length, const T* a,
                     std::int64_t lda, const T* x, T* y) {
  constexpr std::int64_t block = 1024;
  constexpr std::int64_t strip = 2048;  // of y, at a time
  const T alpha = static_cast<T>(p.alpha);
  const std::int64_t terms = terms_of(alpha, p.k);
  std::array<T, strip> part;
  std::array<double, strip> sums;
  for (std::int64_t done = 0; done < length; done += strip) {
    const std::int64_t width = std::min(strip, length - done);
    const T* const from = a + (transpose ? done : done * lda);
    std::fill_n(sums.begin(), width, 0);
    for (std::int64_t first = 0; first < terms; first += block) {
      const std::int64_t count = std::min(block, terms - first);
      std::fill_n(part.begin(), width, T{0});
      Blas::instance().of<T>().gemv(CblasRowMajor, blas_transpose(transpose),
                                    static_cast<blasint>(transpose ? count : width),
                                    static_cast<blasint>(transpose ? width : count), T{1},
                                    from + (transpose ? first * lda : first),
                                    static_cast<blasint>(lda), x + first, 1, T{1}, part.data(), 1);
      for (std::int64_t i = 0; i < width; ++i) sums[i] += static_cast<double>(part[i]);
    }
    for (std::int64_t i = 0; i < width; ++i) {
      const double before = p.beta == 0 ? 0 : p.beta * static_cast<double>(y[done + i]);
      y[done + i] = static_cast<T>(static_cast<double>(alpha) * sums[i] + before);
    }
  }
}

}  // namespace

std::vector<AttrSpec> product_attrs() {
  return {{.name = "transpose_a", .fallback = false}, {.name = "transpose_b", .fallback = false}};
}

Product product_of(const OpSignature& op) {
  const Shape& a = op.inputs[0].shape;
  const Shape& b = op.inputs[1].shape;
  Product p;
  p.transpose_a = op.attrs.get<bool>("transpose_a");
  p.transpose_b = op.attrs.get<bool>("transpose_b");
  const auto refuse = [&](std::string remedy) {
    return usage_error(
        fmt::format("the inputs are {} and {}", shape_text(op.inputs[0], p.transpose_a),
                    shape_text(op.inputs[1], p.transpose_b)),
        std::move(remedy));
  };
  if (op.inputs[0].dtype != op.inputs[1].dtype) throw refuse("both must have the same type");
  if (a.rank() == 0 || b.rank() == 0) {
    throw refuse("both must be matrices: shapes of two extents, or more for a batch; or vectors");
  }
  if ((a.rank() == 1 && p.transpose_a) || (b.rank() == 1 && p.transpose_b)) {
    throw refuse("leave the transpose of a vector out: it has none");
  }
  const std::size_t leading_a = leading_axes(a);
  const std::size_t leading_b = leading_axes(b);
  if (leading_a > 0 && leading_b > 0 &&
      !std::ranges::equal(a.extents().first(leading_a), b.extents().first(leading_b))) {
    throw refuse("all axes but the last two must be equal, or one factor must be a single matrix");
  }
  for (const std::int64_t extent :
       leading_a > 0 ? a.extents().first(leading_a) : b.extents().first(leading_b)) {
    p.batch *= extent;
  }
  // A vector is a row before a matrix, a column behind one.
  p.m = a.rank() == 1 ? 1 : a[leading_a + (p.transpose_a ? 1 : 0)];
  p.k = a.rank() == 1 ? a[0] : a[leading_a + (p.transpose_a ? 0 : 1)];
  p.n = b.rank() == 1 ? 1 : b[leading_b + (p.transpose_b ? 0 : 1)];
  const std::int64_t k_of_b = b.rank() == 1 ? b[0] : b[leading_b + (p.transpose_b ? 1 : 0)];
  p.a_stride = leading_a > 0 ? p.m * p.k : 0;
  p.b_stride = leading_b > 0 ? p.k * p.n : 0;
  if (p.k != k_of_b) {
    throw refuse(
        fmt::format("the columns of the first ({}) must be as many as the rows of the second ({})",
                    p.k, k_of_b));
  }
  if (leading_b == 0 && !p.transpose_a && p.batch <= blas_extent_max / p.m) {
    p.m *= std::exchange(p.batch, 1);
  }
  check_blas_extents(op, std::max({p.m, p.n, p.k}));
  return p;
}

Product scaled_product_of(const OpSignature& op) {
  Product product = product_of(op);
  product.alpha = op.attrs.get<double>("alpha");
  product.beta = op.attrs.get<double>("beta");
  return product;
}

void check_blas_extents(const OpSignature& op, std::int64_t largest) {
  if (largest <= blas_extent_max) return;
  throw unfit_inputs(op.inputs, fmt::format("OpenBLAS takes extents up to {}", blas_extent_max));
}

template <class T>
void multiply(Team& team, const Product& p, const T* a, const T* b, const T* c_before, T* c) {
  const BlasOf<T>& blas = Blas::instance().of<T>();
  const Grid grid =
      cut({.rows = p.m, .columns = p.n, .multiply_adds = p.flops() / 2, .batch = p.batch},
          team.widest_team());
  const std::int64_t lda = p.transpose_a ? p.m : p.k;
  const std::int64_t ldb = p.transpose_b ? p.k : p.n;
  const T alpha = static_cast<T>(p.alpha);
  const blasint terms = terms_of(alpha, p.k);
  const auto multiply_panel = [&](std::size_t i) {
    const std::int64_t matrix = static_cast<std::int64_t>(i) / grid.count();
    const std::int64_t panel = static_cast<std::int64_t>(i) % grid.count();
    const std::int64_t row_panel = panel / grid.columns.count;
    const std::int64_t column_panel = panel % grid.columns.count;
    const std::int64_t row = grid.rows.begin(row_panel);
    const std::int64_t column = grid.columns.begin(column_panel);
    const std::int64_t m = grid.rows.end(row_panel) - row;
    const std::int64_t n = grid.columns.end(column_panel) - column;
    T* const out = c + (matrix * p.m + row) * p.n + column;
    if (c_before != nullptr && c_before != c) {
      for (std::int64_t r = 0; r < m; ++r) {
        std::copy_n(c_before + (out - c) + r * p.n, n, out + r * p.n);
      }
    }
    const T* const a_panel = a + matrix * p.a_stride + (p.transpose_a ? row : row * lda);
    const T* const b_panel = b + matrix * p.b_stride + (p.transpose_b ? column * ldb : column);
    if (p.n == 1) {  // a column is the same in memory as a row
      const bool is_row = p.m == 1;
      return multiply_vector(p, p.transpose_a && !is_row, m, a_panel, is_row ? p.k : lda, b_panel,
                             out);
    }
    if (p.m == 1) return multiply_vector(p, !p.transpose_b, n, b_panel, ldb, a_panel, out);
    blas.gemm(CblasRowMajor, blas_transpose(p.transpose_a), blas_transpose(p.transpose_b),
              static_cast<blasint>(m), static_cast<blasint>(n), terms, alpha, a_panel,
              static_cast<blasint>(lda), b_panel, static_cast<blasint>(ldb), static_cast<T>(p.beta),
              out, static_cast<blasint>(p.n));
  };
  // A std::function of a reference needs no memory of its own.
  team.run(static_cast<std::size_t>(p.batch * grid.count()), std::cref(multiply_panel));
}

template void multiply(Team&, const Product&, const float*, const float*, const float*, float*);
template void multiply(Team&, const Product&, const double*, const double*, const double*, double*);

}  // namespace troupe
