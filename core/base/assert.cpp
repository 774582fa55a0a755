#include "core/base/assert.hpp"

#include <cstdio>
#include <cstdlib>

namespace troupe::detail {

void assertion_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: internal error, please report it: %s\n", file, line, condition);
  std::abort();
}

}  // namespace troupe::detail
