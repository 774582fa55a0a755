#include "core/backend/cuda/profile_range.hpp"

#include <cstdlib>
#include <string>

#include <fmt/format.h>
#include <nvtx3/nvToolsExt.h>

namespace troupe {

// A profiler tells NVTX in this variable which library its calls go to.
bool ProfileRange::finds_profiler() {
  return std::getenv("NVTX_INJECTION64_PATH") != nullptr;
}

void ProfileRange::push(std::string_view what, std::uint32_t index, const TensorType& type,
                        std::string_view where) {
  const std::string name =
      fmt::format("{}[{}] {}{}{}", what, index, to_string(type), where.empty() ? "" : " ", where);
  nvtxRangePushA(name.c_str());
}

void ProfileRange::pop() {
  nvtxRangePop();
}

}  // namespace troupe
