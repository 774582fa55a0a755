// Turns a lack of memory or threads in a phase of the program into an Error that names the phase.
#pragma once

#include "core/base/error.hpp"

#include <new>
#include <string>
#include <system_error>

namespace troupe {

// "planning big.yaml needs more memory than the 683 MiB that this process may have"
Error out_of_memory(ErrorKind kind, const std::string& phase);
// "running big.yaml failed: Resource temporarily unavailable"
Error refused_by_system(ErrorKind kind, const std::string& phase, const std::system_error& cause);

// Returns the result of `work`. If `work` runs out of memory, or the system refuses it a resource
// such as a thread, throws an Error of this kind instead.
template <class Work>
decltype(auto) guard(ErrorKind kind, const std::string& phase, Work&& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    throw out_of_memory(kind, phase);
  } catch (const std::system_error& cause) {
    throw refused_by_system(kind, phase, cause);
  }
}

}  // namespace troupe
