#include "core/config/document.hpp"

#include "core/base/text.hpp"
#include "core/config/nesting.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <sstream>
#include <system_error>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

namespace troupe {
namespace {

[[noreturn]] void refuse_alias(const SourcePlace& place) {
  throw usage_error(place, "YAML anchors and aliases are not supported",
                    "write the value out where it is used");
}

[[noreturn]] void refuse_depth(const SourcePlace& place) {
  throw usage_error(
      place, fmt::format("lists and maps are nested deeper than {} levels", Document::depth_max),
      "check the brackets; no Troupe file needs that many");
}

// The column of the first tab in the indentation of the line that `mark` stands in; 0 if none does.
int column_of_tab(std::string_view text, const YAML::Mark& mark) {
  const std::string_view line = text.substr(static_cast<std::size_t>(mark.pos - mark.column));
  const std::string_view indentation = line.substr(0, line.find_first_not_of(" \t"));
  return static_cast<int>(indentation.find('\t') + 1);
}

[[noreturn]] void refuse_yaml(const YAML::Exception& error, std::string_view text,
                              const std::string& file) {
  const YAML::Mark& mark = error.mark;
  const SourcePlace place =
      mark.is_null() ? SourcePlace{file, 0, 0} : SourcePlace{file, mark.line + 1, mark.column + 1};
  if (error.msg == YAML::ErrorMsg::UNKNOWN_ANCHOR) refuse_alias(place);
  // Between brackets, tabs are allowed at the start of a line.
  const bool in_brackets =
      error.msg == YAML::ErrorMsg::END_OF_MAP_FLOW || error.msg == YAML::ErrorMsg::END_OF_SEQ_FLOW;
  if (!mark.is_null() && !in_brackets) {
    if (const int column = column_of_tab(text, mark)) {
      throw usage_error(SourcePlace{file, mark.line + 1, column},
                        "YAML allows no tabs for indentation", "use spaces instead of this tab");
    }
  }
  throw usage_error(place, fmt::format("this is not valid YAML: {}", error.msg),
                    "check brackets, quotes, colons and indentation here and in the line before "
                    "(within [ ], names such as \"run[3]\" need quotes)");
}

// Whether the text begins with a word for "nothing" rather than with whatever follows nothing.
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

// Turns the parser's events into Nodes, and refuses what Document::load says.
class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(const std::string& file, std::string_view text) : file_(file), text_(text) {}

  // Null where there was no document.
  std::unique_ptr<Node> take_root() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (root_ == nullptr) return;
    throw usage_error(place(mark), "the file goes on after its one YAML document",
                      "check the brackets and quotes before this place; a second document needs a "
                      "file of its own");
  }
  void OnDocumentEnd() override {}

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { refuse_alias(place(mark)); }
  void OnAnchor(const YAML::Mark& mark, const std::string&) override { refuse_alias(place(mark)); }

  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override {
    refuse_as_key(mark);
    Node node = make(mark, Node::Type::null);
    // The parser marks a value that is missing at whatever comes next, which may be far away.
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

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                const std::string& value) override {
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

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, Node::Type::list);
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    open(mark, tag, Node::Type::map);
  }
  void OnMapEnd() override { close(); }

 private:
  // A list or map whose end has not been read yet.
  struct Level {
    Node node;
    std::unordered_map<std::string, int> key_lines = {};  // of a map
  };

  SourcePlace place(const YAML::Mark& mark) const {
    return {file_, mark.line + 1, mark.column + 1};
  }

  Node make(const YAML::Mark& mark, Node::Type type) const {
    Node node;
    node.type = type;
    node.line = mark.line + 1;
    node.column = mark.column + 1;
    node.file = &file_;
    return node;
  }

  void attach(Node node) {
    if (levels_.empty()) {
      root_ = std::make_unique<Node>(std::move(node));
    } else {
      levels_.back().node.children.push_back(std::move(node));
    }
  }

  void open(const YAML::Mark& mark, const std::string& tag, Node::Type type) {
    check_tag(mark, tag);
    refuse_as_key(mark);
    if (levels_.size() == Document::depth_max) refuse_depth(place(mark));
    levels_.push_back(Level{.node = make(mark, type)});
  }

  void close() {
    Node node = std::move(levels_.back().node);
    levels_.pop_back();
    attach(std::move(node));
  }

  // Plain scalars, lists and maps have the tag "?", quoted scalars "!".
  void check_tag(const YAML::Mark& mark, const std::string& tag) const {
    const bool written = tag == "!" && text_.substr(static_cast<std::size_t>(mark.pos), 1) == "!";
    if (tag.empty() || tag == "?" || (tag == "!" && !written)) return;
    throw usage_error(place(mark), fmt::format("YAML tags ({}) are not supported", shortened(tag)),
                      "remove it: Troupe knows the type from the key");
  }

  bool next_is_key() const {
    return !levels_.empty() && levels_.back().node.type == Node::Type::map &&
           levels_.back().node.children.size() % 2 == 0;
  }

  void refuse_as_key(const YAML::Mark& mark) const {
    if (!next_is_key()) return;
    throw usage_error(place(mark), "a key must be a plain word",
                      "write it as `key: value`, and check that brackets are closed");
  }

  void check_key(const YAML::Mark& mark, const std::string& key) {
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

  const std::string& file_;
  std::string_view text_;
  std::unique_ptr<Node> root_;
  std::vector<Level> levels_;
};

// The whole file, which must be small. `place` is where an error is reported.
std::string read_file(const std::filesystem::path& path, const SourcePlace& place,
                      const std::string& prefix) {
  std::error_code status_error;
  const auto status = std::filesystem::status(path, status_error);
  if (status.type() == std::filesystem::file_type::not_found) {
    throw usage_error(place, prefix + "there is no such file", "check the path");
  }
  if (status.type() == std::filesystem::file_type::directory) {
    throw usage_error(place, prefix + "this is a directory", "name a file in it");
  }
  std::ifstream in(path, std::ios::binary);
  std::string text;
  if (in) {
    // One byte more than allowed tells a file that is too large; pipes have no size to ask for.
    text.resize(Document::bytes_max + 1);
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(in.gcount()));
  }
  if (!in.is_open() || in.bad()) {
    const std::string cause = std::generic_category().message(errno);
    throw usage_error(place, fmt::format("{}the file can't be read ({})", prefix, cause),
                      "check its permissions");
  }
  if (text.size() > Document::bytes_max) {
    throw usage_error(
        place, fmt::format("{}the file is larger than {} MiB", prefix, Document::bytes_max >> 20),
        "use `repeat` or a `pattern` instead of writing every task out");
  }
  return text;
}

}  // namespace

Document Document::load(const std::filesystem::path& path, const SourcePlace& referrer) {
  Document document;
  document.file_ = std::make_unique<const std::string>(path.string());
  const std::string& file = *document.file_;

  const bool referred = !referrer.file.empty();
  std::string text = read_file(path, referred ? referrer : SourcePlace{file, 0, 0},
                               referred ? fmt::format("'{}': ", file) : std::string());
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (text.starts_with(byte_order_mark)) text.erase(0, byte_order_mark.size());
  check_text(text, file);
  if (const auto bracket = find_bracket_too_deep(text, depth_max)) {
    refuse_depth({file, bracket->line, bracket->column});
  }

  TreeBuilder builder(file, text);
  try {
    std::istringstream in(text);
    YAML::Parser parser(in);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& error) {
    refuse_yaml(error, text, file);
  }
  document.root_ = builder.take_root();
  if (document.root_ == nullptr || document.root_->type == Node::Type::null) {
    throw usage_error(SourcePlace{file, 0, 0}, "the file is empty",
                      "the files in config/ show what goes in");
  }
  return document;
}

}  // namespace troupe
