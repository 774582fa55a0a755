// A file that appears only when it is complete.
#pragma once

#include <fstream>
#include <ostream>
#include <string>

namespace troupe {

// Opened (and so known to be writable) before a run, put in place after it. A regular file, also at
// the end of links, is written beside its place and renamed onto it; anything else (a pipe,
// /dev/stdout) directly.
class OutputFile {
 public:
  // Throws a usage Error where `path` can't be written; touches nothing at `path` itself.
  explicit OutputFile(std::string path);
  ~OutputFile();  // without commit(): leaves nothing behind
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  std::ostream& stream();
  // Throws a run Error where not everything could be written; then `path` is as it was.
  void commit();

 private:
  std::string path_;                 // as given
  std::string target_;               // where it leads
  std::string written_;              // the file being written; empty once it is in place
  bool is_standard_output_ = false;  // whose place in a file this process must share
  std::ofstream stream_;
};

}  // namespace troupe
