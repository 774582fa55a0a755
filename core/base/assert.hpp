// TROUPE_ASSERT detects bugs of Troupe, in release builds too. For bad input, throw an Error.
#pragma once

namespace troupe::detail {
[[noreturn]] void assertion_failed(const char* condition, const char* file, int line);
}  // namespace troupe::detail

#define TROUPE_ASSERT(condition) \
  (static_cast<bool>(condition)  \
       ? void(0)                 \
       : ::troupe::detail::assertion_failed(#condition, __FILE__, __LINE__))
