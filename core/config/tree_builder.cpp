#include "core/config/tree_builder.hpp"

#include "core/base/text.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace troupe {
namespace {

// Whether the text begins with one of YAML's words for an empty value. If not, the value is
// missing.
bool is_null_written(std::string_view text) {
  constexpr std::array<std::string_view, 4> words = {"~", "null", "Null", "NULL"};
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return text.starts_with(word); });
}

// Moves `node`, which stands at the end of `before`, to the dash of an empty list element: the last
// character of `before` apart from blanks and comments. Leaves it where it is if that is no dash.
void move_to_dash(std::string_view before, Node& node) {
  for (std::int32_t line = node.line;; --line) {
    const std::size_t line_start = before.rfind('\n') + 1;  // 0 if there is none
    std::string_view content = before.substr(line_start);
    for (std::size_t i = 0; i < content.size(); ++i) {
      if (content[i] == '#' && (i == 0 || content[i - 1] == ' ' || content[i - 1] == '\t')) {
        content = content.substr(0, i);
      }
    }
    const std::size_t last = content.find_last_not_of(" \t\r");
    if (last != std::string_view::npos) {
      if (content[last] != '-') return;
      node.line = line;
      node.column = static_cast<std::int32_t>(last) + 1;
      return;
    }
    if (line_start == 0) return;
    before = before.substr(0, line_start - 1);
  }
}

}  // namespace

void refuse_alias(const SourcePlace& place) {
  throw usage_error(place, "YAML anchors and aliases are not supported",
                    "write the value out where it is used");
}

void refuse_depth(const SourcePlace& place) {
  throw usage_error(
      place, fmt::format("lists and maps are nested deeper than {} levels", Document::levels_max),
      "check the brackets; no Troupe file needs that many");
}

void TreeBuilder::OnDocumentStart(const YAML::Mark& mark) {
  if (root_ == nullptr) return;
  throw usage_error(place(mark), "the file goes on after its one YAML document",
                    "check the brackets and quotes before this place; a second document needs a "
                    "file of its own");
}

void TreeBuilder::OnNull(const YAML::Mark& mark, YAML::anchor_t) {
  refuse_as_key(mark);
  Node node = make(mark, Node::Type::null);
  // For a missing value the parser reports the place of the next token, which may be far away.
  if (!levels_.empty() && !is_null_written(text_.substr(static_cast<std::size_t>(mark.pos)))) {
    const Node& parent = levels_.back().node;
    if (parent.type == Node::Type::map) {
      node.line = parent.children.back().line;
      node.column = parent.children.back().column;
    } else {
      move_to_dash(text_.substr(0, static_cast<std::size_t>(mark.pos)), node);
    }
  }
  attach(std::move(node));
}

void TreeBuilder::OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                           const std::string& value) {
  check_tag(mark, tag);
  if (!quotes_close(text_, static_cast<std::size_t>(mark.pos))) {
    throw usage_error(place(mark), "this quote is never closed", "close it");
  }
  if (has_control_characters(value)) {
    throw usage_error(place(mark), "control characters are not supported", "remove them");
  }
  if (next_is_key()) check_key(mark, value);
  Node node = make(mark, Node::Type::scalar);
  node.text = value;
  attach(std::move(node));
}

Node TreeBuilder::make(const YAML::Mark& mark, Node::Type type) const {
  Node node;
  node.type = type;
  node.line = mark.line + 1;
  node.column = mark.column + 1;
  node.file = &file_;
  return node;
}

void TreeBuilder::attach(Node node) {
  if (levels_.empty()) {
    root_ = std::make_unique<Node>(std::move(node));
  } else {
    levels_.back().node.children.push_back(std::move(node));
  }
}

void TreeBuilder::open(const YAML::Mark& mark, const std::string& tag, Node::Type type) {
  check_tag(mark, tag);
  refuse_as_key(mark);
  if (levels_.size() == Document::levels_max) refuse_depth(place(mark));
  levels_.push_back(Level{.node = make(mark, type)});
}

void TreeBuilder::close() {
  Node node = std::move(levels_.back().node);
  levels_.pop_back();
  attach(std::move(node));
}

// Plain scalars, lists and maps have the tag "?", quoted scalars "!".
void TreeBuilder::check_tag(const YAML::Mark& mark, const std::string& tag) const {
  const bool written = tag == "!" && text_.substr(static_cast<std::size_t>(mark.pos), 1) == "!";
  if (tag.empty() || tag == "?" || (tag == "!" && !written)) return;
  throw usage_error(place(mark), fmt::format("YAML tags ({}) are not supported", shortened(tag)),
                    "remove it: Troupe knows the type from the key");
}

bool TreeBuilder::next_is_key() const {
  return !levels_.empty() && levels_.back().node.type == Node::Type::map &&
         levels_.back().node.children.size() % 2 == 0;
}

void TreeBuilder::refuse_as_key(const YAML::Mark& mark) const {
  if (!next_is_key()) return;
  throw usage_error(place(mark), "a key must be a plain word",
                    "write it as `key: value`, and check that brackets are closed");
}

void TreeBuilder::check_key(const YAML::Mark& mark, const std::string& key) {
  if (key == "<<") {
    throw usage_error(place(mark), "YAML merge keys (<<) are not supported",
                      "write the keys out where they are used");
  }
  const auto [earlier, is_new] = levels_.back().key_lines.emplace(key, mark.line + 1);
  if (is_new) return;
  throw usage_error(
      place(mark),
      fmt::format("'{}' occurs twice; the first is in line {}", shortened(key), earlier->second),
      "remove or rename one of them");
}

}  // namespace troupe
