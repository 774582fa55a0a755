// Programs that are measured as processes.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

namespace troupe::bench {

// A process, whose standard output and standard error are read. It is killed with this object, and
// dies with this program.
class Child {
 public:
  // Throws a std::runtime_error if the system refuses it.
  explicit Child(std::vector<std::string> words);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // The next line that it writes, without its end; what there is if it ends before. Blocks.
  std::string line();
  void send(int signal) const;
  // Of processor time it has had, so far. Throws a std::runtime_error if the system doesn't say.
  double cpu_seconds() const;
  // All that it writes. Blocks until it ends. Call once.
  std::string output();
  // After output(): whether its exit code is 0.
  bool has_succeeded() const { return has_succeeded_; }

 private:
  pid_t process_ = -1;
  int from_ = -1;
  bool has_succeeded_ = false;
};

// The output of a client, which is started again while its server isn't listening yet. Blocks.
// Throws a std::runtime_error if it fails for ten seconds.
std::string output_of_client(const std::vector<std::string>& words);

// Whether there is a program of this name.
bool is_installed(const std::string& program);

// A TCP port of the loopback interface that nobody uses at the moment.
int free_port();

}  // namespace troupe::bench
