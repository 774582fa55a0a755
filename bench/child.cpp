#include "bench/child.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <sstream>
#include <stdexcept>
#include <thread>

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace troupe::bench {
namespace {

// Between fork and exec, where nothing may allocate.
[[noreturn]] void become(char* const* words, int output) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  execvp(words[0], words);
  _exit(127);
}

}  // namespace

Child::Child(std::vector<std::string> words) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("the system refuses a pipe");
  process_ = fork();
  if (process_ == 0) become(arguments.data(), ends[1]);
  close(ends[1]);
  from_ = ends[0];
  if (process_ < 0) throw std::runtime_error("the system refuses another process");
}

Child::~Child() {
  close(from_);
  if (process_ < 0) return;
  send(SIGKILL);
  waitpid(process_, nullptr, 0);
}

std::string Child::line() {
  std::string line;
  for (char c = 0; read(from_, &c, 1) == 1 && c != '\n';) line += c;
  return line;
}

void Child::send(int signal) const {
  kill(process_, signal);
}

double Child::cpu_seconds() const {
  clockid_t clock{};
  timespec time{};
  if (clock_getcpuclockid(process_, &clock) != 0 || clock_gettime(clock, &time) != 0) {
    throw std::runtime_error("the system doesn't say how busy a process is");
  }
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

std::string Child::output() {
  std::string text;
  std::array<char, 4096> part{};
  ssize_t got = 0;
  while ((got = read(from_, part.data(), part.size())) != 0) {
    if (got > 0) text.append(part.data(), static_cast<std::size_t>(got));
    if (got < 0 && errno != EINTR) break;
  }
  int status = 0;
  waitpid(process_, &status, 0);
  process_ = -1;
  has_succeeded_ = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return text;
}

std::string output_of_client(const std::vector<std::string>& words) {
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (true) {
    Child client(words);
    std::string text = client.output();
    if (client.has_succeeded()) return text;
    if (std::chrono::steady_clock::now() > patience) {
      throw std::runtime_error(words[0] + " failed:\n" + text);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

bool is_installed(const std::string& program) {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (std::filesystem::exists(std::filesystem::path(folder) / program)) return true;
  }
  return false;
}

int free_port() {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t bytes = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  const bool has_port =
      bind(listener, generic, bytes) == 0 && getsockname(listener, generic, &bytes) == 0;
  close(listener);
  if (!has_port) throw std::runtime_error("the system refuses a port");
  return ntohs(address.sin_port);
}

}  // namespace troupe::bench
