// Reads a machine from a parsed file: a machine file, or the map `machine` of a run file. The
// format is documented in docs/machine_files.md.
#pragma once

#include "core/config/document.hpp"
#include "core/machine/machine.hpp"
#include "core/ops/registry.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace troupe {

// The devices, memories and links of a machine.
Machine read_machine_parts(const Node& node, const OpRegistry& ops);

// Adds links, which may refer to all memories of the machine.
void add_links(const Node& links, Machine& machine, const OpRegistry& ops);

// Bytes that a link may carry at once.
std::uint64_t read_chunk(const Node& node, const std::string& what);

// The path at the node, relative to the folder of the node's file.
std::string read_directory(const Node& node, std::string_view what);

}  // namespace troupe
