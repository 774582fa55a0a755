// The kernels of GPUs as functions for the CPU, by the names under which nvcc registers them: the
// same source, compiled by the C++ compiler. Link with them in a way that exports their symbols: a
// shared library, or a program with ENABLE_EXPORTS.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::testing {

struct KernelDim {
  unsigned x = 1;
  unsigned y = 1;
  unsigned z = 1;
};

// A kernel reads the tensor of a pointer to const, and may write that of any other pointer.
struct KernelParameter {
  bool is_pointer = false;
  bool is_const_pointee = false;
  std::size_t bytes = 0;  // of the parameter
};

struct KernelBody {
  std::string name;  // mangled
  std::vector<KernelParameter> parameters;
  // Runs all threads of the grid, one after the other, on the calling thread. args[i] points to
  // parameter i. `shared_bytes`, the dynamic shared memory, must be 0.
  std::function<void(KernelDim grid, KernelDim block, std::size_t shared_bytes, void* const* args)>
      run;
};

// Returns nullptr if no kernel has this name. Thread-safe.
const KernelBody* find_kernel_body(std::string_view mangled);
std::vector<std::string> kernel_body_names();

}  // namespace troupe::testing
