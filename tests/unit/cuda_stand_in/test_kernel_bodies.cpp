// The bodies of test_kernels.cu on the CPU.
#include "tests/support/cuda/kernel_bodies.hpp"

#include <algorithm>

namespace troupe::testing {
namespace {

template <class T>
T argument(void* const* args, std::size_t i) {
  return *static_cast<const T*>(args[i]);
}

constexpr KernelParameter read_pointer{.is_pointer = true, .is_const_pointee = true, .bytes = 8};
constexpr KernelParameter written_pointer{
    .is_pointer = true, .is_const_pointee = false, .bytes = 8};
constexpr KernelParameter value(std::size_t bytes) {
  return {.is_pointer = false, .is_const_pointee = false, .bytes = bytes};
}

template <class T>
void scale(KernelDim /*grid*/, KernelDim /*block*/, std::size_t /*shared*/, void* const* args) {
  const T factor = argument<T>(args, 2);
  std::transform(argument<const T*>(args, 0),
                 argument<const T*>(args, 0) + argument<std::size_t>(args, 3),
                 argument<T*>(args, 1), [factor](T x) { return factor * x; });
}

const std::vector<KernelBody>& bodies() {
  static const std::vector<KernelBody> all{
      {"stand_in_test_fill",
       {written_pointer, value(4), value(8)},
       [](KernelDim, KernelDim, std::size_t, void* const* args) {
         std::fill_n(argument<float*>(args, 0), argument<std::size_t>(args, 2),
                     argument<float>(args, 1));
       }},
      {"stand_in_test_overrun",
       {written_pointer, value(8)},
       [](KernelDim, KernelDim, std::size_t, void* const* args) {
         argument<float*>(args, 0)[argument<std::size_t>(args, 1)] = 0;
       }},
      {"stand_in_test_call",
       {value(8), value(8)},
       [](KernelDim, KernelDim, std::size_t, void* const* args) {
         argument<void (*)(void*)>(args, 0)(argument<void*>(args, 1));
       }},
      {"_ZN6troupe7testing5scaleIfEEvPKT_PS2_S2_m",
       {read_pointer, written_pointer, value(4), value(8)},
       scale<float>},
      {"_ZN6troupe7testing5scaleIdEEvPKT_PS2_S2_m",
       {read_pointer, written_pointer, value(8), value(8)},
       scale<double>},
  };
  return all;
}

}  // namespace

const KernelBody* find_kernel_body(std::string_view mangled) {
  const auto found =
      std::find_if(bodies().begin(), bodies().end(),
                   [mangled](const KernelBody& body) { return body.name == mangled; });
  return found == bodies().end() ? nullptr : &*found;
}

std::vector<std::string> kernel_body_names() {
  std::vector<std::string> names;
  for (const KernelBody& body : bodies()) names.push_back(body.name);
  return names;
}

}  // namespace troupe::testing
