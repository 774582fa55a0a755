// Reads the entries of a task that only patterns have: the pattern, its parameters, and the work of
// its points.
// The format is documented in docs/run_files.md.
#pragma once

#include "core/config/document.hpp"
#include "core/patterns/point_task.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace troupe {

// Reads the entries of one task with `pattern: …`. `task` names the task in messages: "'grid'",
// with the quotes. Each function throws a usage Error at the first entry that is wrong.
class PatternReader {
 public:
  PatternReader(const Node& body, std::string task) : body_(body), task_(std::move(task)) {}

  // The pattern named at `name`, with its width, its steps and its other parameters.
  Pattern read(const Node& name) const;

  // Whether `kernel` means the work of points rather than an op of that name.
  bool is_point_work(const Pattern& pattern, std::string_view kernel) const;
  // The work of each point, by the name that stands at `kernel`.
  PointTask read_point(const Pattern& pattern, const Node& kernel) const;

  // Throws at the first key that is neither one of the pattern's nor one of the kernel's, `known`.
  void check_keys(const Pattern& pattern, std::string_view kernel,
                  std::vector<std::string_view> known) const;

 private:
  std::string of_task(std::string_view key) const;
  std::uint32_t read_count(const Node& node, std::string_view key) const;
  double read_part(const Node& node, std::string_view key) const;
  std::int64_t read_size(const Node& node, std::string_view key, std::int64_t bytes_min) const;
  void read_parameters(Pattern& pattern) const;
  const Node* find_parameter(const Pattern& pattern, std::string_view key,
                             bool DependenceInfo::*takes) const;
  SourcePlace place_of_key(std::string_view wanted) const;

  const Node& body_;
  std::string task_;
};

}  // namespace troupe
