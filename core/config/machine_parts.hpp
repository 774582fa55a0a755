// Reading a machine out of a parsed file, be it a machine file or a map in a run file. The format
// is documented at the top of machine_file.cpp.
#pragma once

#include "core/config/document.hpp"
#include "core/machine/machine.hpp"

#include <string>
#include <string_view>

namespace troupe {

// A whole machine. `default_name` is for one that doesn't say its own.
Machine read_machine(const Node& node, std::string_view default_name);

// Its devices, memories and links.
Machine read_machine_parts(const Node& node);

// A path relative to the file that the node stands in.
std::string read_directory(const Node& node, std::string_view what);

}  // namespace troupe
