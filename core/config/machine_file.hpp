// Machine files in YAML: devices, memories and links, or `discover:` for this machine.
// The format is documented at the top of machine_file.cpp.
#pragma once

#include "core/config/document.hpp"
#include "core/machine/machine.hpp"

#include <filesystem>

namespace troupe {

// Throw a usage Error with file:line:column, what is wrong and what to do.
Machine load_machine_file(const std::filesystem::path& path);
Machine read_machine_file(const Document& document);

// Whether a YAML file is a machine file rather than a run file. Throws as above if none of its keys
// says which of the two it is.
bool is_machine_file(const Document& document);

}  // namespace troupe
