// Whether a file is a machine file or a run file, decided by its keys.
#pragma once

#include "core/config/document.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace troupe {

// The keys at the top of each kind of file.
inline constexpr std::array<std::string_view, 8> machine_keys = {
    "machine", "about", "devices", "memories", "links", "discover", "nodes", "network"};
inline constexpr std::array<std::string_view, 6> run_keys = {"about", "machine",   "tensors",
                                                             "tasks", "scenarios", "save"};

enum class FileKind : std::uint8_t { machine, run };

// The kind of the only file that may have this key; nullopt if both may, or none.
std::optional<FileKind> owner_of_key(std::string_view key);

// The kind of file with this root. A key that only run files have decides first, then one that only
// machine files have, then misspelled ones. nullopt if no key decides.
std::optional<FileKind> kind_of_file(const Node& root);

}  // namespace troupe
