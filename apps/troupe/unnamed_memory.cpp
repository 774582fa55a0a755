// Shared memory without a name, for UCX. What nodes of one host share, UCX makes by shm_open(); the
// other nodes open it as /proc/PID/fd/N, so it takes the name out of /dev/shm as soon as it has
// filled the memory with zeros. A node that is killed before that would leave both there, and
// nobody could tell whose they are. So this program has functions of its own in the place of the C
// library's: such memory has no name from the beginning, and goes with the last process that has
// it. It takes no room in /dev/shm.
#include <cerrno>
#include <string_view>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>

namespace {

bool is_of_ucx(const char* name) {
  return std::string_view(name).starts_with("/ucx_shm");
}

template <class Function>
Function* next(const char* name, Function* /*same*/) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" int shm_open(const char* name, int flags, mode_t mode) {
  if (!is_of_ucx(name) || (flags & O_CREAT) == 0) {
    return next("shm_open", &shm_open)(name, flags, mode);
  }
  // Never to be executed: some systems allow no other (vm.memfd_noexec), and older ones know no
  // such flag.
  constexpr unsigned noexec_seal = 8;
  const int memory = memfd_create(name + 1, MFD_CLOEXEC | noexec_seal);
  return memory < 0 && errno == EINVAL ? memfd_create(name + 1, MFD_CLOEXEC) : memory;
}

extern "C" int shm_unlink(const char* name) {
  return is_of_ucx(name) ? 0 : next("shm_unlink", &shm_unlink)(name);
}
