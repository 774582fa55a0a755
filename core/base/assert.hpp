// TROUPE_ASSERT: for our own bugs, on in release builds too. Bad input gets an Error instead.
#pragma once

namespace troupe::detail {
[[noreturn]] void assertion_failed(const char* condition, const char* file, int line);
}  // namespace troupe::detail

#define TROUPE_ASSERT(condition) \
  (static_cast<bool>(condition)  \
       ? void(0)                 \
       : ::troupe::detail::assertion_failed(#condition, __FILE__, __LINE__))
