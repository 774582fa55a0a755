#include "tests/support/cuda/stand_in_control.hpp"

#include <dlfcn.h>

namespace troupe::testing {
namespace {

template <class F>
void find_function(void* library, const char* name, F*& function) {
  function = reinterpret_cast<F*>(dlsym(library, name));
}

}  // namespace

const StandIn* StandIn::find() {
  static const StandIn found = [] {
    StandIn functions;
    void* library = dlopen("libtroupe_cuda_stand_in.so", RTLD_LAZY);
    if (library == nullptr) return functions;
    find_function(library, "stand_in_set", functions.set);
    find_function(library, "stand_in_get", functions.get);
    find_function(library, "stand_in_begin_no_wait", functions.begin_no_wait);
    find_function(library, "stand_in_end_no_wait", functions.end_no_wait);
    find_function(library, "stand_in_take_failures", functions.take_failures);
    find_function(library, "stand_in_check_leaks", functions.check_leaks);
    find_function(library, "stand_in_check_kernels", functions.check_kernels);
    find_function(library, "stand_in_restore_devices", functions.restore_devices);
    return functions;
  }();
  return found.set != nullptr ? &found : nullptr;
}

}  // namespace troupe::testing
