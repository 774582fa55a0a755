// A library for LD_PRELOAD: a program and those that it starts see a host of MADE_UP_CORES cores,
// and may bind their threads to them. In truth nothing is bound. HWLOC_SYNTHETIC makes up the rest,
// such as NUMA nodes, and HWLOC_THISSYSTEM lets hwloc bind there. See tools/soak.
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

namespace {

using Path = std::array<char, 4096>;

// Those of this thread, or none: all. Threads have those of the thread that starts them.
[[gnu::tls_model("initial-exec")]] thread_local std::optional<cpu_set_t> own_cores;

int host_cores() {
  static const int cores = std::atoi(std::getenv("MADE_UP_CORES"));
  return cores;
}

cpu_set_t all_cores() {
  cpu_set_t all;
  CPU_ZERO(&all);
  for (int core = 0; core < host_cores(); ++core) CPU_SET(core, &all);
  return all;
}

// A process leaves the cores of its first thread in a file, for itself after exec(), and for those
// that it starts.
Path file_of(pid_t process) {
  Path path;
  std::snprintf(path.data(), path.size(), "%s/%d", std::getenv("MADE_UP_MASKS"), process);
  return path;
}

void leave_cores() {
  std::FILE* const file = std::fopen(file_of(getpid()).data(), "we");
  if (file == nullptr) return;
  std::fwrite(&*own_cores, sizeof *own_cores, 1, file);
  std::fclose(file);
}

bool take_cores(pid_t process) {
  std::FILE* const file = std::fopen(file_of(process).data(), "re");
  if (file == nullptr) return false;
  cpu_set_t cores;
  const bool is_whole = std::fread(&cores, sizeof cores, 1, file) == 1;
  if (is_whole) own_cores = cores;
  std::fclose(file);
  return is_whole;
}

[[gnu::constructor]] void begin() {
  if (!take_cores(getpid())) take_cores(getppid());
}
[[gnu::destructor]] void end() {
  unlink(file_of(getpid()).data());
}

template <class F>
F* next(const char* name) {
  return reinterpret_cast<F*>(dlsym(RTLD_NEXT, name));
}

struct Start {
  void* (*run)(void*);
  void* argument;
  std::optional<cpu_set_t> cores;
};

void* start_thread(void* argument) {
  const std::unique_ptr<Start> start(static_cast<Start*>(argument));
  own_cores = start->cores;
  return start->run(start->argument);
}

}  // namespace

extern "C" {

int sched_getaffinity(pid_t, size_t size, cpu_set_t* cores) noexcept {
  const cpu_set_t now = own_cores.value_or(all_cores());
  std::memset(cores, 0, size);
  std::memcpy(cores, &now, size < sizeof now ? size : sizeof now);
  return 0;
}

int sched_setaffinity(pid_t, size_t size, const cpu_set_t* cores) noexcept {
  cpu_set_t asked;
  CPU_ZERO(&asked);
  std::memcpy(&asked, cores, size < sizeof asked ? size : sizeof asked);
  const cpu_set_t all = all_cores();
  CPU_AND(&asked, &asked, &all);
  if (CPU_COUNT(&asked) == 0) {
    errno = EINVAL;
    return -1;
  }
  own_cores = asked;
  if (syscall(SYS_gettid) == getpid()) leave_cores();
  return 0;
}

int pthread_setaffinity_np(pthread_t, size_t size, const cpu_set_t* cores) noexcept {
  return sched_setaffinity(0, size, cores) == 0 ? 0 : errno;
}

int pthread_getaffinity_np(pthread_t, size_t size, cpu_set_t* cores) noexcept {
  return sched_getaffinity(0, size, cores);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*),
                   void* argument) noexcept {
  static auto* const real = next<decltype(pthread_create)>("pthread_create");
  auto start = std::make_unique<Start>(Start{run, argument, own_cores});
  const int error = real(thread, attributes, start_thread, start.get());
  if (error == 0) start.release();
  return error;
}

int get_nprocs() noexcept {
  return host_cores();
}

int get_nprocs_conf() noexcept {
  return host_cores();
}

long sysconf(int name) noexcept {
  static auto* const real = next<decltype(sysconf)>("sysconf");
  return name == _SC_NPROCESSORS_ONLN || name == _SC_NPROCESSORS_CONF ? host_cores() : real(name);
}

}  // extern "C"
