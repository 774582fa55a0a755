// Runs a program under test: captures its output, sends signals, waits with a deadline.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <sys/types.h>

namespace troupe::testing {

struct ProgramOptions {
  std::map<std::string, std::string> environment = {};  // added to this process's own
  std::filesystem::path directory = {};                 // working directory; empty: this process's
  std::filesystem::path out = {};         // opened as standard output; empty: captured
  std::uint64_t file_size_max = 0;        // bytes of a file that it writes (RLIMIT_FSIZE); 0: any
  std::uint64_t address_space_max = 0;    // bytes (RLIMIT_AS); 0: any
  std::vector<int> ignored_signals = {};  // from its start on
  bool terminal = false;                  // standard error is a new terminal, not a dumb one
  unsigned short terminal_columns = 0;    // 0: not known
  std::chrono::seconds limit{300};        // time after which the program is killed
};

struct Finished {
  int exit_code = -1;  // -1: ended by a signal
  int signal = 0;
  bool timed_out = false;
  std::string out;
  std::string err;
};

// Call from one thread only. Throws std::runtime_error if a system call fails.
class Program {
 public:
  Program(const std::vector<std::string>& command, const ProgramOptions& options = {});
  ~Program();  // kills the program if it still runs
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // Blocks until `condition` returns true, and returns true. Returns false if the program ends or
  // reaches its limit before. `condition` is called every few milliseconds.
  bool wait_until(const std::function<bool()>& condition);
  // Blocks until the program has ended.
  Finished wait();
  void send(int signal) const;
  pid_t pid() const { return pid_; }  // its own until wait()

  const std::string& out() const { return streams_[0].text; }  // captured so far
  const std::string& err() const { return streams_[1].text; }

 private:
  struct Stream {
    int fd = -1;  // the end of this process; -1: closed
    std::string text;
  };

  void read_for(std::chrono::milliseconds patience);
  void read_some(Stream& stream);
  bool has_ended();

  std::chrono::steady_clock::time_point deadline_;
  pid_t pid_ = -1;
  bool reaped_ = false;
  int status_ = 0;
  bool timed_out_ = false;
  Stream streams_[2];
};

// The command line of this build's `troupe`, or of the program that TROUPE_PROGRAM names: the tests
// of a bundle are far from their build.
std::vector<std::string> troupe_command(std::vector<std::string> arguments);
// Runs this build's `troupe`. Blocks until it has ended.
Finished run_troupe(const std::vector<std::string>& arguments, const ProgramOptions& options = {});

}  // namespace troupe::testing
