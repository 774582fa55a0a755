// From the events of yaml-cpp's parser to Nodes.
#pragma once

#include "core/config/document.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/mark.h>

namespace troupe {

// The usage Errors for an alias or an anchor, and for too many levels, wherever they are found.
[[noreturn]] void refuse_alias(const SourcePlace& place);
[[noreturn]] void refuse_depth(const SourcePlace& place);

// Builds the tree of one document. Throws a usage Error at whatever Document::load doesn't support.
// `file`, its path, and `text`, its content, must outlive the builder.
class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(const std::string& file, std::string_view text) : file_(file), text_(text) {}

  // Null if there was no document.
  std::unique_ptr<Node> take_root() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override;
  void OnDocumentEnd() override {}
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { refuse_alias(place(mark)); }
  void OnAnchor(const YAML::Mark& mark, const std::string&) override { refuse_alias(place(mark)); }
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override;
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                const std::string& value) override;
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
  Node make(const YAML::Mark& mark, Node::Type type) const;
  void attach(Node node);
  void open(const YAML::Mark& mark, const std::string& tag, Node::Type type);
  void close();
  void check_tag(const YAML::Mark& mark, const std::string& tag) const;
  bool next_is_key() const;
  void refuse_as_key(const YAML::Mark& mark) const;
  void check_key(const YAML::Mark& mark, const std::string& key);

  const std::string& file_;
  std::string_view text_;
  std::unique_ptr<Node> root_;
  std::vector<Level> levels_;
};

}  // namespace troupe
