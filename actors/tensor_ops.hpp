// The op kinds that come with Troupe as functions of tensors, and of their operators.
//
// Each function calls one op on the session of its inputs, and returns at once: as Session::call
// does, by the name of the kind. The op is placed by the DeviceScope of the calling thread, else by
// a policy. Element types are float32 and float64, and all inputs of an op have the same one; where
// nothing else is said, the result has it, too. Each function throws a usage Error, with the
// caller's file and line, if types or shapes aren't as its comment says, if a handle is empty, or
// if inputs belong to different sessions; and a run Error if the session has failed. Thread-safe.
#pragma once

#include "actors/session.hpp"
#include "core/base/call_site.hpp"
#include "core/ops/attrs.hpp"
#include "core/ops/tensor_type.hpp"

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <type_traits>
#include <utility>
#include <vector>

namespace troupe {

// A tensor, and the line of the program that passes it: made of it without a word, so that every
// call notes its line.
struct Argument {
  Argument(const Tensor& given, CallSite line = CallSite::here()) : tensor(given), where(line) {}
  const Tensor& tensor;
  CallSite where;
};
// Of what a Scalar is made, besides float and double: integers of up to 64 bits, and types that
// convert to double, such as std::atomic<double>.
template <class T>
concept WholeNumber = std::integral<T> && sizeof(T) <= sizeof(std::int64_t);
template <class T>
concept BecomesNumber = !std::is_arithmetic_v<T> && std::convertible_to<const T&, double>;
struct Scalar {
  Scalar(double given, CallSite line = CallSite::here()) : value(given), where(line) {}
  template <BecomesNumber T>
  Scalar(const T& given, CallSite line = CallSite::here()) : value(given), where(line) {}
  // Throws a usage Error if float64 can't hold it exactly.
  template <WholeNumber T>
  Scalar(T given, CallSite line = CallSite::here())
      : value(exact(std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>(given),
                    line)),
        where(line) {}
  double value;
  CallSite where;

 private:
  static double exact(std::int64_t given, CallSite line);
  static double exact(std::uint64_t given, CallSite line);
};

// Element by element, of one tensor of any shape, which the result has, too. NaNs stay NaNs. On
// CPUs exp, log, sin, cos, tanh and pow have an error of at most 4 units in the last place, near
// the ends of the range of exp 9; which error a value has depends on the processor, and on its
// place.

// e to the power of x.
Tensor exp(Argument x);
// The natural logarithm; that of 0 is -infinity, and of negative numbers NaN.
Tensor log(Argument x);
// The square root; that of negative numbers is NaN.
Tensor sqrt(Argument x);
// The sine and the cosine of an angle in radians; those of infinities are NaN.
Tensor sin(Argument x);
Tensor cos(Argument x);
// The hyperbolic tangent.
Tensor tanh(Argument x);
// 1 / (1 + e^-x)
Tensor sigmoid(Argument x);
// x to the power of a number, which is rounded to the element type; that of a finite negative x is
// NaN unless the number is whole. To the power of 0, all are 1, NaNs too.
Tensor pow(Argument x, Scalar exponent);
// x without its sign. Also takes int32 and int64, of which the least stays as it is.
Tensor abs(Argument x);
// x Φ(x), where Φ is the distribution function of the normal distribution. Not the approximation by
// tanh.
Tensor gelu(Argument x);
// max(x, 0)
Tensor relu(Argument x);

// Element by element, of two tensors, whose shapes may differ as NumPy's broadcasting allows:
// aligned at the last axis, each extent equals the other one, or one of the two is 1 or missing,
// and is repeated. So `x + bias` adds a bias [n] to each row of x [m, n]. All but / also take int32
// and int64, which wrap around.

Tensor operator+(Argument a, const Tensor& b);
Tensor operator-(Argument a, const Tensor& b);
Tensor operator*(Argument a, const Tensor& b);
Tensor operator/(Argument a, const Tensor& b);
// The larger, or the smaller, of both; NaN if one of them is.
Tensor maximum(Argument a, const Tensor& b);
Tensor minimum(Argument a, const Tensor& b);

// A tensor of answers, of which none alone is true or false: no condition of the program, which
// would ask whether there is a tensor. As a Tensor, it is as any other.
class Answers : public Tensor {
 public:
  explicit Answers(Tensor tensor) : Tensor(std::move(tensor)) {}
  explicit operator bool() const = delete;
};
// 1 where they hold, else 0, in the element type of both. They don't hold for NaNs. There is no ==
// of tensors.
Answers operator>(Argument a, const Tensor& b);
Answers operator<(Argument a, const Tensor& b);
Answers operator>=(Argument a, const Tensor& b);
Answers operator<=(Argument a, const Tensor& b);
Answers equal(Argument a, const Tensor& b);
// a where the condition isn't 0, else b: of three tensors, which all broadcast. Also takes int32
// and int64.
Tensor where(Argument condition, const Tensor& a, const Tensor& b);

// The same of a tensor and a number, which is rounded to the element type; for int32 and int64 it
// must be a whole number that these can hold. The number becomes a tensor of one element: a second
// op.

Tensor maximum(Argument x, Scalar number);
Tensor minimum(Argument x, Scalar number);
Tensor maximum(Scalar number, Argument x);
Tensor minimum(Scalar number, Argument x);
Answers operator>(Argument x, Scalar number);
Answers operator<(Argument x, Scalar number);
Answers operator>=(Argument x, Scalar number);
Answers operator<=(Argument x, Scalar number);
Answers operator>(Scalar number, Argument x);
Answers operator<(Scalar number, Argument x);
Answers operator>=(Scalar number, Argument x);
Answers operator<=(Scalar number, Argument x);
Answers equal(Argument x, Scalar number);
Tensor where(Argument condition, const Tensor& a, Scalar b);
Tensor where(Argument condition, Scalar a, const Tensor& b);
Tensor where(Argument condition, Scalar a, Scalar b);

// Element by element, of a tensor and a number, which is rounded to the element type. All but /
// also take int32 and int64 with whole numbers that these can hold, and wrap around; x - c needs
// one whose negative they can hold. -x is -1 x.

Tensor operator+(Argument x, Scalar number);
Tensor operator+(Scalar number, Argument x);
Tensor operator-(Argument x, Scalar number);
Tensor operator-(Scalar number, Argument x);
Tensor operator*(Argument x, Scalar number);
Tensor operator*(Scalar number, Argument x);
Tensor operator/(Argument x, Scalar number);
Tensor operator/(Scalar number, Argument x);
Tensor operator-(Argument x);

// `a += b` is `a = a + b`: the handle a gets a new tensor. Other handles keep the tensor of before.

Tensor& operator+=(Tensor& a, Argument b);
Tensor& operator-=(Tensor& a, Argument b);
Tensor& operator*=(Tensor& a, Argument b);
Tensor& operator/=(Tensor& a, Argument b);
Tensor& operator+=(Tensor& a, Scalar b);
Tensor& operator-=(Tensor& a, Scalar b);
Tensor& operator*=(Tensor& a, Scalar b);
Tensor& operator/=(Tensor& a, Scalar b);

// Element by element, of two tensors of the same shape.

// alpha x + y, with alpha rounded to the element type.
Tensor axpy(Scalar alpha, Argument x, const Tensor& y);
// The gradient of a loss by x, if `gradient` is that by relu(x): `gradient` where x > 0, else 0.
Tensor relu_grad(Argument gradient, const Tensor& x);

// An axis, from 0, or from the end if it is negative: -1 is the last one. Whole numbers only:
// max(x, 0.5) would be the maximum over axis 0, where maximum(x, 0.5) is meant.
struct Axis {
  template <WholeNumber T>
  requires(!std::same_as<T, bool>) Axis(T given) : value(static_cast<std::int64_t>(given)) {}
  std::int64_t value;
};

// The sum, the maximum or the minimum over `axis`, the latter two NaN if there is one. The result
// lacks this axis; or has it with extent 1 if `keep`, or if x has no other. All also take int32 and
// int64, whose sums wrap around.
Tensor sum(Argument x, Axis axis, bool keep = false);
Tensor max(Argument x, Axis axis, bool keep = false);
Tensor min(Argument x, Axis axis, bool keep = false);
// The sum over `axis` divided by its extent: a second op.
Tensor mean(Argument x, Axis axis, bool keep = false);
// The same of all elements, as a tensor [1]: an op for each axis.
Tensor sum(Argument x);
Tensor max(Argument x);
Tensor min(Argument x);
Tensor mean(Argument x);
// The mean of the squares of x - mean(x), of all its elements along `axis`: six ops.
Tensor variance(Argument x, Axis axis, bool keep = false);
// Where along `axis` the maximum or the minimum is, from 0: int64. Of equal elements the first; of
// NaNs, if there are any, the first.
Tensor argmax(Argument x, Axis axis, bool keep = false);
Tensor argmin(Argument x, Axis axis, bool keep = false);
// exp(x) divided by its sum along the last axis. The result has the shape of x.
Tensor softmax(Argument x);
// Each row along the last axis, shifted and scaled to mean 0 and variance 1, then times `gain` plus
// `bias`, vectors as long as a row. `epsilon` is added to the variance. The result has the shape of
// x.
Tensor layer_norm(Argument x, const Tensor& gain, const Tensor& bias, double epsilon = 1e-5);
// The loss [1] of logits [n, classes] for labels [n], which are numbers of classes, from 0, in the
// element type of the logits: `cast` makes them of integers. It is the mean over the rows of
// -log(softmax(logits)[label]). The op fails if a label is no number of a class.
Tensor softmax_cross_entropy(Argument logits, const Tensor& labels);
// Its gradient by the logits, of the same inputs: (softmax(logits) - 1 at the label) / n.
Tensor softmax_cross_entropy_grad(Argument logits, const Tensor& labels);

// The same numbers as elements of another type, from each of the four to each. A floating-point
// number becomes an integer without its digits after the point; beyond the range of the integers it
// becomes their nearest end, and a NaN becomes 0. What becomes a floating-point number is rounded
// to the nearest one, and is infinite beyond their range. Of an int64, an int32 has the lower half.
Tensor cast(Argument x, DType dtype);

// A list of integers of any type, as a program writes it, {rows, -1}, or a tensor's shape. Throws a
// usage Error for an unsigned one above Shape::max_elements; others are for the op to refuse.
struct Indices {
  Indices() = default;
  Indices(std::initializer_list<Extent> given) {
    for (const Extent& index : given) values.push_back(index.value);
  }
  Indices(Integers given) : values(std::move(given)) {}
  Indices(const Shape& shape) : values(shape.extents().begin(), shape.extents().end()) {}
  Integers values;
};

// The same values in another order or shape, also of int32 and int64. Each makes a new tensor: a
// copy of what it takes, and no view.

// In the same order, under another shape with as many elements. One extent may be -1, which stands
// for what is left.
Tensor reshape(Argument x, const Indices& shape);
// Axis d of the result is axis axes[d] of x. `axes` names each axis once, from the end by negative
// numbers; {}: all in reverse.
Tensor transpose(Argument x, const Indices& axes = {});
// The elements from index `begin` to before `end` on each axis. Negative indices count from the end
// of the axis, and so does an `end` of 0 behind a negative `begin`: {-3} and {0} give the last
// three rows. Axes at the end that neither has an index for are whole. All must be within the
// extents, and `begin` less than `end`.
Tensor slice(Argument x, const Indices& begin, const Indices& end);
// The elements along `axis` that have these numbers, int32 or int64, from 0 to before the extent:
// in the shape of the result, that of `numbers` takes the place of the axis. So of a table of rows
// [words, n] and numbers [length], the result is [length, n]. The op fails if a number is out of
// range.
Tensor take(Argument x, const Tensor& numbers, Axis axis = 0);
// x with `added`, which has the shape of take(x, numbers, axis), added to the elements along `axis`
// that have these numbers: as often as they occur, in their order. The gradient of take by x is
// index_add(zeros, numbers, gradient). In place of x, if nothing else needs it: `table =
// index_add(table, rows, change)` takes time for these rows only, as a simulation always assumes.
Tensor index_add(Argument x, const Tensor& numbers, const Tensor& added, Axis axis = 0);
// 1 to 1,024 tensors one after the other along `axis`. Their other extents must be equal.
Tensor concat(const std::vector<Tensor>& inputs, Axis axis, CallSite where = CallSite::here());
// The same along a new axis, on which each has one place: an op more for each, which copies it.
// They must be of the same shape.
Tensor stack(const std::vector<Tensor>& inputs, Axis axis = 0, CallSite where = CallSite::here());

// Matrices. Aᵀ is A transposed.

// The product A B of A [m, k] and B [k, n]: [m, n]. With `transpose_a`, A is given as [k, m] and
// Aᵀ B is computed; the same for B. With more than two axes, a product for each index of the
// leading axes, which must be equal, unless one factor is a single matrix, which is then in each
// product: of [batch, m, k] and [k, n], the result is [batch, m, n]. A vector [k] is a row before a
// matrix and a column behind one, and the result lacks that axis: [n], [m], or [] of two vectors.
Tensor matmul(Argument a, const Tensor& b, bool transpose_a = false, bool transpose_b = false);

struct GemmOptions {
  bool transpose_a = false;
  bool transpose_b = false;
  double alpha = 1;
  double beta = 1;
};
// alpha A B + beta C of A [m, k], B [k, n] and C [m, n]: [m, n]. Aᵀ or Bᵀ as in matmul.
Tensor gemm(Argument a, const Tensor& b, const Tensor& c, GemmOptions options = {});

struct SyrkOptions {
  bool transpose = false;
  double alpha = 1;
  double beta = 1;
};
// The lower triangle of alpha A Aᵀ + beta C of A [n, k] and C [n, n]; with `transpose`, of
// alpha Aᵀ A + beta C of A [k, n]. The result [n, n] is C above the diagonal.
Tensor syrk(Argument a, const Tensor& c, SyrkOptions options = {});

enum class Side : std::uint8_t { left, right };
struct TrsmOptions {
  Side side = Side::left;
  bool transpose = false;
  double alpha = 1;
};
// Solves L X = alpha B for X, or X L = alpha B on the right side, for a lower triangular matrix L
// [n, n], of which nothing above the diagonal is read; with `transpose`, Lᵀ takes the place of L.
// B and X are [n, m], or [m, n] on the right side. A zero on the diagonal gives infinities or NaNs.
Tensor trsm(Argument l, const Tensor& b, TrsmOptions options = {});
// The Cholesky factor of a symmetric positive definite matrix A [n, n]: the lower triangular L with
// L Lᵀ = A. Reads only the lower triangle of A. The op fails if A isn't positive definite.
Tensor potrf(Argument a);

}  // namespace troupe
