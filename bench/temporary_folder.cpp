#include "bench/temporary_folder.hpp"

#include "core/base/error.hpp"

#include <cerrno>
#include <csignal>
#include <random>
#include <system_error>

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

namespace troupe::bench {
namespace {

// Between fork and exec, where nothing may allocate. Nobody writes to the pipe: the read ends when
// no process has its other end.
[[noreturn]] void remove_in_the_end(const int* ends, const char* path) {
  setsid();  // Ctrl-C is for the others
  close(ends[1]);
  char nothing = 0;
  while (read(ends[0], &nothing, 1) < 0 && errno == EINTR) {
  }
  execl("/bin/rm", "rm", "-rf", "--", path, nullptr);
  _exit(127);
}

}  // namespace

TemporaryFolder::TemporaryFolder(const std::filesystem::path& parent)
    : path_(parent / fmt::format("troupe_bench-{}-{:08x}", getpid(), std::random_device{}())) {
  int ends[2];
  if (pipe(ends) == 0) {
    remover_ = fork();
    if (remover_ == 0) remove_in_the_end(ends, path_.c_str());
    close(ends[0]);
    held_ = ends[1];
  }
  std::error_code error;
  // Only now: whatever ends this process from here on, the other one removes the folder.
  if (remover_ > 0 && std::filesystem::create_directory(path_, error)) return;
  end_remover();
  if (remover_ < 0) throw run_error("the system refuses another process");
  throw run_error(fmt::format("there can't be a folder in '{}'", parent.string()));
}

void TemporaryFolder::end_remover() const {
  if (remover_ > 0) {
    kill(remover_, SIGKILL);
    waitpid(remover_, nullptr, 0);
  }
  if (held_ >= 0) close(held_);
}

TemporaryFolder::~TemporaryFolder() {
  end_remover();
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace troupe::bench
