// A program under test: started, watched, signalled, and waited for with a deadline.
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
  std::map<std::string, std::string> environment = {};  // on top of this process's own
  std::filesystem::path directory = {};                 // to work in; empty: this process's
  std::filesystem::path out = {};         // opened as standard output; empty: captured
  std::uint64_t file_size_max = 0;        // bytes a file it writes may have (RLIMIT_FSIZE); 0: any
  std::uint64_t address_space_max = 0;    // bytes (RLIMIT_AS); 0: any
  std::vector<int> ignored_signals = {};  // when it starts
  bool terminal = false;                  // standard error is a terminal of its own, not a dumb one
  unsigned short terminal_columns = 0;    // 0: not known
  std::chrono::seconds limit{120};        // from its start; it is killed then
};

struct Finished {
  int exit_code = -1;  // -1: a signal ended it
  int signal = 0;
  bool timed_out = false;
  std::string out;
  std::string err;
};

// Not for several threads. Throws std::runtime_error where the system refuses something.
class Program {
 public:
  Program(const std::vector<std::string>& command, const ProgramOptions& options = {});
  ~Program();  // kills it where it still runs
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // Blocks until `condition` holds: true; or until the program has ended or reached its limit
  // without that: false. The condition is asked every few milliseconds.
  bool wait_until(const std::function<bool()>& condition);
  // Blocks until it has ended.
  Finished wait();
  void send(int signal) const;
  pid_t pid() const { return pid_; }  // its own until wait()

  const std::string& out() const { return streams_[0].text; }  // what it has written so far
  const std::string& err() const { return streams_[1].text; }

 private:
  struct Stream {
    int fd = -1;  // this process's end; -1: closed
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

// The troupe of this build.
std::vector<std::string> troupe_command(std::vector<std::string> arguments);
// Runs it to its end.
Finished run_troupe(const std::vector<std::string>& arguments, const ProgramOptions& options = {});

}  // namespace troupe::testing
