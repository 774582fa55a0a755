// The bodies of CUDA kernels on the CPU, found by the kernels' mangled names.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::testing {

struct KernelDim {
  unsigned x, y, z;
};

struct KernelParameter {
  bool is_pointer;
  bool is_const_pointee;
  std::size_t bytes;
};

struct KernelBody {
  std::string name;  // mangled
  std::vector<KernelParameter> parameters;
  // args[i] points to the i-th argument.
  std::function<void(KernelDim grid, KernelDim block, std::size_t shared_bytes, void* const* args)>
      run;
};

// Returns null if no kernel has this name.
const KernelBody* find_kernel_body(std::string_view mangled);
std::vector<std::string> kernel_body_names();

}  // namespace troupe::testing
