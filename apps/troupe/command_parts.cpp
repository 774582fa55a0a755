#include "apps/troupe/command_parts.hpp"

#include "core/base/error.hpp"
#include "core/files/descriptor_stream.hpp"
#include "core/files/output_file.hpp"
#include "core/ops/op_library.hpp"
#include "core/patterns/pattern_ops.hpp"

#include <cerrno>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace troupe {

void print(const std::string& text) {
  DescriptorStream out(STDOUT_FILENO, false);
  out << text << std::flush;
  const int error = out.buffer().error();
  if (error == 0) return;
  if (error == EBADF) {
    throw run_error("could not write to standard output: it is closed", "send it to a file");
  }
  throw run_error(fmt::format("could not write to standard output: {}", system_message(error)),
                  "free some space, or keep the reader of the pipe open");
}

bool is_stdout(const std::string& path) {
  struct stat named {};
  struct stat own {};
  return names_descriptor(path) && stat(path.c_str(), &named) == 0 &&
         fstat(STDOUT_FILENO, &own) == 0 && named.st_dev == own.st_dev &&
         named.st_ino == own.st_ino;
}

OpRegistry ops_with(const std::vector<std::string>& libraries) {
  OpRegistry ops = pattern_ops();
  for (const std::string& library : libraries) load_op_library(library, ops);
  return ops;
}

std::optional<TlsContext> tls_context(const TlsFiles& files) {
  if (!files.are_given()) return std::nullopt;
  return TlsContext(files);
}

}  // namespace troupe
