// Names for what Troupe issues, which profilers such as Nsight Systems show.
#pragma once

#include "core/ops/tensor_type.hpp"

#include <cstdint>
#include <string_view>

namespace troupe {

// What the calling thread issues while the range lives has its name. Profilers show the range on
// the thread and, moved to where the work was done, on the stream. Costs a test of a flag where no
// profiler listens.
//
//   const ProfileRange range("matmul", 3, type);             // matmul[3] float32 [300, 300]
//   const ProfileRange range("copy", 3, type, "to GPU 0");   // copy[3] float32 [300, 300] to GPU 0
class ProfileRange {
 public:
  ProfileRange(std::string_view what, std::uint32_t index, const TensorType& type,
               std::string_view where = {}) {
    if (is_on()) push(what, index, type, where);
  }
  ~ProfileRange() {
    if (is_on()) pop();
  }
  ProfileRange(const ProfileRange&) = delete;
  ProfileRange& operator=(const ProfileRange&) = delete;

  // Whether a profiler listens, which doesn't change.
  static bool is_on() {
    static const bool is_on = finds_profiler();
    return is_on;
  }

 private:
  static bool finds_profiler();
  static void push(std::string_view what, std::uint32_t index, const TensorType& type,
                   std::string_view where);
  static void pop();
};

}  // namespace troupe
