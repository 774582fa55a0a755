#include "tests/support/cuda/kernel_bodies.hpp"

// Before the .cuh files.
// clang-format off
#include "tests/support/cuda/emulated_device.hpp"
// clang-format on

#include "core/backend/cuda/kernels/boxes.cuh"
#include "core/backend/cuda/kernels/elements.cuh"
#include "core/backend/cuda/kernels/functions.cuh"
#include "core/backend/cuda/kernels/nothing.cuh"
#include "core/backend/cuda/kernels/reduce.cuh"
#include "core/backend/cuda/kernels/rows.cuh"
#include "core/backend/cuda/kernels/small_product.cuh"
#include "core/backend/cuda/kernels/take.cuh"
#include "core/backend/cuda/kernels/triangle.cuh"
#include "core/backend/cuda/kernels/waiting.cuh"
#include "core/ops/element_functions.hpp"

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <tuple>
#include <type_traits>
#include <utility>

#include <dlfcn.h>

namespace troupe::testing {
namespace {

// Whether the threads of a block wait for each other: those of kernels that call __syncthreads().
enum class Threads { independent, cooperating };

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "kernel bodies: %s\n", what.c_str());
  std::abort();
}

// The mangled name that nvcc gives the kernel, whose function here is in another namespace.
std::string registered_name(void* function) {
  constexpr std::string_view here = "16emulated_kernels";
  Dl_info info{};
  if (dladdr(function, &info) == 0 || info.dli_sname == nullptr) {
    fail("a kernel has no name: link with ENABLE_EXPORTS");
  }
  std::string name = info.dli_sname;
  const std::size_t at = name.find(here);
  if (at == std::string::npos) fail("this is no kernel: " + name);
  return name.replace(at, here.size(), "14device_kernels");
}

template <class P>
KernelParameter parameter() {
  return {std::is_pointer_v<P>, std::is_const_v<std::remove_pointer_t<P>>, sizeof(P)};
}

// Calls f(x, y, z) for each place of `dim`.
template <class F>
void for_each_place_of(const KernelDim& dim, const F& f) {
  for (unsigned z = 0; z < dim.z; ++z) {
    for (unsigned y = 0; y < dim.y; ++y) {
      for (unsigned x = 0; x < dim.x; ++x) f(KernelDim{x, y, z});
    }
  }
}

void run_grid(Threads threads, KernelDim grid, KernelDim block, const std::function<void()>& body) {
  gridDim = grid;
  blockDim = block;
  for_each_place_of(grid, [&](const KernelDim& place) {
    blockIdx = place;
    if (threads == Threads::independent) {
      for_each_place_of(block, [&](const KernelDim& thread) {
        threadIdx = thread;
        body();
      });
    } else {
      run_block(block.x, [&](unsigned thread) {
        threadIdx = {thread, 0, 0};
        body();
      });
    }
  });
}

class Bodies {
 public:
  Bodies();
  const std::map<std::string, KernelBody, std::less<>>& all() const { return bodies_; }

 private:
  template <class... P>
  void add(Threads threads, void (*kernel)(P...)) {
    KernelBody body;
    body.name = registered_name(reinterpret_cast<void*>(kernel));
    body.parameters = {parameter<P>()...};
    body.run = [=](KernelDim grid, KernelDim block, std::size_t shared_bytes, void* const* args) {
      if (shared_bytes != 0) fail("a kernel was given dynamic shared memory");
      const auto call = [&]<std::size_t... i>(std::index_sequence<i...>) {
        run_grid(threads, grid, block, [&] { kernel(*static_cast<const P*>(args[i])...); });
      };
      call(std::index_sequence_for<P...>{});
    };
    if (!bodies_.emplace(body.name, body).second) fail("listed twice: " + body.name);
  }
  template <class... P>
  void add(void (*kernel)(P...)) {
    add(Threads::independent, kernel);
  }
  template <class... P>
  void add_cooperating(void (*kernel)(P...)) {
    add(Threads::cooperating, kernel);
  }

  template <class T, class F>
  void add_arithmetic() {
    add(device_kernels::each_element<T, F, T, T>);
    add(device_kernels::each_place<T, F, 3, T, T>);
  }
  template <class T, template <class> class Extreme>
  void add_places() {
    using device_kernels::find_places;
    add_cooperating(find_places<T, Extreme, T, std::int64_t>);
    add_cooperating(find_places<T, Extreme, T, Placed<T>>);
    add_cooperating(find_places<T, Extreme, Placed<T>, std::int64_t>);
  }
  template <class T>
  void add_for_numbers();
  template <class T>
  void add_for_elements();

  std::map<std::string, KernelBody, std::less<>> bodies_;
};

// Those of kinds with takes_integers.
template <class T>
void Bodies::add_for_numbers() {
  using namespace device_kernels;
  add(each_index<T, Filling<T>>);
  add(each_index<T, Counting<T>>);
  add(each_element<T, Scale, T>);
  add_arithmetic<T, std::plus<T>>();
  add_arithmetic<T, std::minus<T>>();
  add_arithmetic<T, std::multiplies<T>>();
  add_arithmetic<T, Max<T>>();
  add_arithmetic<T, Min<T>>();
  add_arithmetic<T, Greater<T>>();
  add_arithmetic<T, GreaterEqual<T>>();
  add_arithmetic<T, Equal<T>>();
  add(each_element<T, Where, T, T, T>);
  add(each_place<T, Where, 4, T, T, T>);
  add(each_element<T, Abs, T>);
  const auto add_cast_from = [&]<class From>(From) { add(each_element<T, Cast<T>, From>); };
  add_cast_from(float{});
  add_cast_from(double{});
  add_cast_from(std::uint32_t{});
  add_cast_from(std::uint64_t{});
  add(each_place<T, Same, 2, T>);
  add(take_rows<T, std::uint32_t>);
  add(take_rows<T, std::uint64_t>);
  add(add_rows<T, std::uint32_t>);
  add(add_rows<T, std::uint64_t>);
  add_cooperating(transpose_tiles<T>);
  add_cooperating(reduce_axis<T, Sum<T>>);
  add_cooperating(reduce_axis<T, Max<T>>);
  add_cooperating(reduce_axis<T, Min<T>>);
  add_places<T, Max>();
  add_places<T, Min>();
}

template <class T>
void Bodies::add_for_elements() {
  using namespace device_kernels;
  add_for_numbers<T>();
  add_arithmetic<T, std::divides<T>>();
  add(each_index<T, Uniform<T>>);
  std::apply(
      [&]<class... F>(F...) { (add(each_element<T, F, T>), ...); },
      std::tuple<Reciprocal, Exp, Log, Sqrt, Sin, Cos, Tanh, Sigmoid, Pow, Square, Gelu, Relu>{});
  add(each_element<T, Axpy, T, T>);
  add(each_element<T, ReluGrad, T, T>);
  add_cooperating(softmax_rows<T>);
  add_cooperating(layer_norm_rows<T>);
  add_cooperating(check_labels<T>);
  add_cooperating(cross_entropy_rows<T>);
  add_cooperating(cross_entropy_grad_rows<T>);
  add_cooperating(mean_of<T>);
  add(lower_triangle<T>);
  add_cooperating(check_factor<T>);
  add_cooperating(small_product<T>);
}

Bodies::Bodies() {
  using namespace device_kernels;
  add_for_elements<float>();
  add_for_elements<double>();
  add_for_numbers<std::uint32_t>();
  add_for_numbers<std::uint64_t>();
  add_cooperating(check_numbers<std::uint32_t>);
  add_cooperating(check_numbers<std::uint64_t>);
  add(start_hashes);
  add(fold_input<std::uint32_t>);
  add(fold_input<std::uint64_t>);
  add(spin_lanes);
  add(sleep_lane);
  add(nothing);
}

const Bodies& bodies() {
  static const Bodies& all = *new Bodies;  // never destroyed: kernels may run as a process ends
  return all;
}

}  // namespace

const KernelBody* find_kernel_body(std::string_view mangled) {
  const auto found = bodies().all().find(mangled);
  return found == bodies().all().end() ? nullptr : &found->second;
}

std::vector<std::string> kernel_body_names() {
  std::vector<std::string> names;
  for (const auto& [name, body] : bodies().all()) names.push_back(name);
  return names;
}

}  // namespace troupe::testing
