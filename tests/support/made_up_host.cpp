// A library for LD_PRELOAD: a program, and those that it starts, see a host of MADE_UP_CORES cores.
// A thread can bind itself to some of them; in truth nothing is bound. HWLOC_SYNTHETIC makes up the
// rest, such as NUMA nodes, and HWLOC_THISSYSTEM lets hwloc bind there. See tools/soak.
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string>

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <sys/sysinfo.h>
#include <unistd.h>

namespace {

// The cores of the first thread of the process, "0011" for the third and fourth; programs that any
// thread starts inherit them. Not set: all.
constexpr const char* variable = "MADE_UP_BOUND";

// Those of this thread, but for the first; none: all. Threads have those of the thread that starts
// them.
[[gnu::tls_model("initial-exec")]] thread_local std::optional<cpu_set_t> own_cores;

bool is_first_thread() {
  return gettid() == getpid();
}

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

cpu_set_t cores_of_first_thread() {
  const char* bound = std::getenv(variable);
  if (bound == nullptr) return all_cores();
  cpu_set_t cores;
  CPU_ZERO(&cores);
  for (int core = 0; bound[core] != '\0'; ++core) {
    if (bound[core] == '1') CPU_SET(core, &cores);
  }
  return cores;
}

cpu_set_t cores_of_this_thread() {
  return is_first_thread() ? cores_of_first_thread() : own_cores.value_or(all_cores());
}

void bind_this_thread(const cpu_set_t& cores) {
  if (!is_first_thread()) {
    own_cores = cores;
    return;
  }
  std::string bound;
  for (int core = 0; core < host_cores(); ++core) bound += CPU_ISSET(core, &cores) ? '1' : '0';
  setenv(variable, bound.c_str(), 1);
}

template <class F>
F* next(const char* name) {
  return reinterpret_cast<F*>(dlsym(RTLD_NEXT, name));
}

struct Start {
  void* (*run)(void*);
  void* argument;
  cpu_set_t cores;
};

void* start_thread(void* argument) {
  const std::unique_ptr<Start> start(static_cast<Start*>(argument));
  own_cores = start->cores;
  return start->run(start->argument);
}

}  // namespace

extern "C" {

int sched_getaffinity(pid_t thread, size_t size, cpu_set_t* cores) noexcept {
  const cpu_set_t now = thread == getpid() ? cores_of_first_thread() : cores_of_this_thread();
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
  bind_this_thread(asked);
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
  std::unique_ptr<Start> start(new (std::nothrow) Start{run, argument, cores_of_this_thread()});
  if (start == nullptr) return EAGAIN;
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
