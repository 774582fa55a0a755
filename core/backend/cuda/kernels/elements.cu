// uniform, zeros, constant, arange, scale, axpy, reciprocal, exp, log, sqrt, sin, cos, tanh,
// sigmoid, pow, abs, gelu, relu, relu_grad and cast.
#include "core/backend/cuda/kernels/elements.cuh"
#include "core/backend/cuda/kernels/functions.cuh"
#include "core/backend/cuda/kernels/launch_elements.cuh"
#include "core/backend/cuda/kernels/launchers.hpp"
#include "core/ops/element_functions.hpp"

namespace troupe::cuda_launchers {
namespace {

template <class T, class F>
void launch_each_index(const CudaCall& call, const F& f) {
  const std::int64_t count = call.output.type.shape.elements();
  launch(call, threads_for(count), device_kernels::each_index<T, F>, call.output.as<T>(), count, f);
}

void fill(const CudaCall& call, double value) {
  with_number(call.output.type.dtype, [&](auto element) {
    using T = decltype(element);
    launch_each_index<T>(call, Filling<T>{number_of<T>(value)});
  });
}

// For kinds whose inputs have the type of the output.
template <std::size_t inputs, class F>
void launch_function(const CudaCall& call, const F& f) {
  with_element(call.output.type.dtype,
               [&](auto element) { launch_each_element<decltype(element), inputs>(call, f); });
}

}  // namespace

void uniform(const CudaCall& call) {
  with_element(call.output.type.dtype, [&](auto element) {
    using T = decltype(element);
    launch_each_index<T>(call, Uniform<T>::of_seed(call.attrs.get<std::int64_t>("seed")));
  });
}
void zeros(const CudaCall& call) {
  fill(call, 0);
}
void constant(const CudaCall& call) {
  fill(call, call.attrs.get<double>("value"));
}
void arange(const CudaCall& call) {
  with_number(call.output.type.dtype, [&](auto element) {
    launch_each_index<decltype(element)>(call, Counting<decltype(element)>{});
  });
}
void scale(const CudaCall& call) {
  with_number(call.output.type.dtype, [&](auto element) {
    launch_each_element<decltype(element), 1>(call, Scale::of(call.attrs));
  });
}
void axpy(const CudaCall& call) {
  launch_function<2>(call, Axpy{call.attrs.get<double>("alpha")});
}
void reciprocal(const CudaCall& call) {
  launch_function<1>(call, Reciprocal{call.attrs.get<double>("numerator")});
}
void exp(const CudaCall& call) {
  launch_function<1>(call, device_kernels::Exp{});
}
void log(const CudaCall& call) {
  launch_function<1>(call, device_kernels::Log{});
}
void sqrt(const CudaCall& call) {
  launch_function<1>(call, Sqrt{});
}
void sin(const CudaCall& call) {
  launch_function<1>(call, device_kernels::Sin{});
}
void cos(const CudaCall& call) {
  launch_function<1>(call, device_kernels::Cos{});
}
void sigmoid(const CudaCall& call) {
  launch_function<1>(call, device_kernels::Sigmoid{});
}
void tanh(const CudaCall& call) {
  launch_function<1>(call, device_kernels::Tanh{});
}
void pow(const CudaCall& call) {
  const auto exponent = call.attrs.get<double>("exponent");
  if (exponent == 2) return launch_function<1>(call, Square{});
  launch_function<1>(call, device_kernels::Pow{exponent});
}
void abs(const CudaCall& call) {
  with_number(call.output.type.dtype,
              [&](auto element) { launch_each_element<decltype(element), 1>(call, Abs{}); });
}
void gelu(const CudaCall& call) {
  launch_function<1>(call, device_kernels::Gelu{});
}
void relu(const CudaCall& call) {
  launch_function<1>(call, Relu{});
}
void relu_grad(const CudaCall& call) {
  launch_function<2>(call, ReluGrad{});
}
void cast(const CudaCall& call) {
  with_number(call.inputs[0].type.dtype, [&](auto from) {
    with_number(call.output.type.dtype, [&](auto to) {
      launch_each_element<decltype(to), 1, decltype(from)>(call, Cast<decltype(to)>{});
    });
  });
}

}  // namespace troupe::cuda_launchers
