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

// Whether this is a machine file rather than a run file: it has neither tasks nor tensors.
bool is_machine_file(const Document& document);

}  // namespace troupe
