// Machine files in YAML: devices, memories and links, or `discover:` for this machine.
// The format is documented in docs/machine_files.md.
#pragma once

#include "core/config/document.hpp"
#include "core/machine/discover.hpp"
#include "core/machine/machine.hpp"
#include "core/ops/registry.hpp"
#include "core/patterns/pattern_ops.hpp"

#include <filesystem>
#include <string>
#include <string_view>

namespace troupe {

// A device may have a rate of its own for each kind of `ops` and for those of patterns.
// `find_gpus`, usually usable_gpus() of core/backend, is called if the file asks for the GPUs of
// this host; null: such a file is refused. Throw a usage Error with file:line:column, what is wrong
// and what to do.
Machine load_machine_file(const std::filesystem::path& path, const OpRegistry& ops = pattern_ops(),
                          const FindGpus& find_gpus = {});
Machine read_machine_file(const Document& document, const OpRegistry& ops = pattern_ops(),
                          const FindGpus& find_gpus = {});

// The same of a machine that stands in a file. `default_name` is its name if the node gives none.
Machine read_machine(const Node& node, std::string_view default_name, const OpRegistry& ops,
                     const FindGpus& find_gpus);

// Whether the word `local` stands in place of a machine: this host without its GPUs.
bool is_this_host(const Node& machine);
Machine read_this_host(const Node& machine);

// Whether the machine of such a file is this host with its GPUs: `discover: {gpus: true}`. Doesn't
// check the file.
bool discovers_gpus(const Node& machine);

// Names what such a file says that doesn't hold where the machine of a run is that of its nodes:
// devices, or settings of `discover` but `gpus`. Empty: nothing. Doesn't check the file.
std::string settings_of_one_host(const Node& machine);

// Whether a YAML file is a machine file rather than a run file. Throws as above if none of its keys
// says which of the two it is.
bool is_machine_file(const Document& document);

}  // namespace troupe
