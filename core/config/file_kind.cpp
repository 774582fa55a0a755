#include "core/config/file_kind.hpp"

#include "core/base/suggest.hpp"
#include "core/config/values.hpp"

#include <algorithm>
#include <vector>

namespace troupe {
namespace {

bool contains(std::span<const std::string_view> keys, std::string_view key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

// The known key that `key` is or is near to.
std::string_view nearest_key(std::string_view key) {
  std::vector<std::string_view> known(machine_keys.begin(), machine_keys.end());
  known.insert(known.end(), run_keys.begin(), run_keys.end());
  return nearest(key, known);
}

}  // namespace

std::optional<FileKind> owner_of_key(std::string_view key) {
  const bool of_machine = contains(machine_keys, key);
  const bool of_run = contains(run_keys, key);
  if (of_machine == of_run) return std::nullopt;
  return of_machine ? FileKind::machine : FileKind::run;
}

std::optional<FileKind> kind_of_file(const Node& root) {
  const auto has_key_of = [&](FileKind kind, auto spelling) {
    for (std::size_t i = 0; i < root.entry_count(); ++i) {
      if (owner_of_key(spelling(root.key(i).text)) == kind) return true;
    }
    return false;
  };
  if (root.type != Node::Type::map) return std::nullopt;
  const auto as_written = [](std::string_view key) { return key; };
  for (const FileKind kind : {FileKind::run, FileKind::machine}) {
    if (has_key_of(kind, as_written)) return kind;
  }
  for (const FileKind kind : {FileKind::run, FileKind::machine}) {
    if (has_key_of(kind, nearest_key)) return kind;
  }
  // `machine` is a name in a machine file. In a run file it may be a whole machine.
  const Node* machine = find(root, "machine");
  if (machine != nullptr && machine->type == Node::Type::map) return FileKind::run;
  return std::nullopt;
}

}  // namespace troupe
