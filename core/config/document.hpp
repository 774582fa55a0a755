// A YAML file as a tree that remembers where every key and value stands.
#pragma once

#include "core/base/error.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace troupe {

class Node {
 public:
  enum class Type : std::uint8_t { null, scalar, list, map };

  Type type = Type::null;
  std::string text;            // of a scalar
  std::vector<Node> children;  // of a list: its elements; of a map: key, value, key, value, …
  std::int32_t line = 0;       // counts from 1
  std::int32_t column = 0;     // in bytes, counts from 1
  const std::string* file = nullptr;

  SourcePlace place() const { return {*file, line, column}; }
  std::size_t entry_count() const { return children.size() / 2; }
  const Node& key(std::size_t entry) const { return children[2 * entry]; }
  const Node& value(std::size_t entry) const { return children[2 * entry + 1]; }
};

// One parsed file. Nodes point into the Document, which must outlive their use. Moving the Document
// doesn't invalidate them.
class Document {
 public:
  const Node& root() const { return *root_; }
  std::filesystem::path path() const { return *file_; }

  // Reads the subset of YAML that Troupe's files use: one document of maps, lists and scalars; keys
  // are scalars and occur once in their map; no anchors, aliases, merge keys or tags; UTF-8 without
  // control characters; at most levels_max levels and bytes_max bytes. Throws a usage Error with
  // file:line:column for everything else. If the file can't be read, the error's place is
  // `referrer`: where another file names this one; empty if none does. Blocks until it is read.
  static Document load(const std::filesystem::path& path, const SourcePlace& referrer = {});

  static constexpr std::size_t levels_max = 64;
  static constexpr std::size_t bytes_max = std::size_t{8} << 20;

 private:
  std::unique_ptr<const std::string> file_;
  std::unique_ptr<const Node> root_;
};

}  // namespace troupe
