// Why an actor ended that threw an exception.
#pragma once

#include <exception>
#include <new>
#include <string>
#include <utility>

#include <caf/all.hpp>

namespace troupe {

// Made with its actor: a reason takes memory, and there may be none left when it is needed. CAF's
// own exception handler takes memory, too, so every actor must have one that uses this class.
class CrashReasons {
 public:
  // The reason for this exception. Call once: an actor ends once.
  caf::error take(const std::exception_ptr& cause) noexcept {
    try {
      std::rethrow_exception(cause);
    } catch (const std::bad_alloc&) {
      return std::move(out_of_memory_);
    } catch (...) {
      return std::move(other_);
    }
  }
  // What has become of the actor of the resource of this name.
  static std::string describe(const std::string& name, const caf::error& reason) {
    const std::string actor = "the actor of " + name;
    return is_out_of_memory(reason)
               ? actor + " found no memory left; raise the limit (ulimit -v)"
               : actor + " ended unexpectedly (" + caf::to_string(reason) + ")";
  }
  static bool is_out_of_memory(const caf::error& reason) {
    return reason && reason.category() == caf::atom("memory");
  }

 private:
  caf::error out_of_memory_{1, caf::atom("memory")};
  caf::error other_ = caf::exit_reason::unhandled_exception;
};

}  // namespace troupe
