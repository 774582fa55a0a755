// What several commands of the program do.
#pragma once

#include "core/network/tls_context.hpp"
#include "core/ops/registry.hpp"

#include <optional>
#include <string>
#include <vector>

namespace troupe {

// Writes to standard output. Throws a run Error if that fails.
void print(const std::string& text);

// What an output "-" stands for.
constexpr const char* stdout_path = "/dev/stdout";
// Whether an output has a name of standard output, such as /dev/fd/1.
bool is_stdout(const std::string& path);

// The kinds that a run file may use. Throws a usage Error if a library can't be loaded.
OpRegistry ops_with(const std::vector<std::string>& libraries);

// Returns none if no files are given. Throws a usage Error if they can't be used.
std::optional<TlsContext> tls_context(const TlsFiles& files);

}  // namespace troupe
