// The version of Troupe. CMakeLists.txt reads it from here.
#pragma once

#include <string_view>

namespace troupe {

// Major, minor and patch. While the major version is 0, versions that differ in the minor one are
// not compatible: programs must be compiled anew.
inline constexpr std::string_view version = "0.1.0";

}  // namespace troupe
