// The part of a task that only patterns have: their rule, its parameters, and what their points do.
// The format is documented at the top of run_file.cpp.
#pragma once

#include "core/config/document.hpp"
#include "core/patterns/point_task.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace troupe {

// The entries of a task with `pattern: …`, read one after the other. Each function throws a usage
// Error at what it can't read; `task` names the task for messages, as in "'grid'".
class PatternReader {
 public:
  PatternReader(const Node& body, std::string task) : body_(body), task_(std::move(task)) {}

  // Width, steps and what else the pattern named at `name` takes.
  Pattern read(const Node& name) const;

  // Whether `kernel` means the work of points rather than an op of that name.
  bool is_point_work(const Pattern& pattern, std::string_view kernel) const;
  // What points of the kernel that stands at `kernel` do.
  PointTask read_point(const Pattern& pattern, const Node& kernel) const;

  // Throws at the first key that neither the pattern nor its kernel (`known`) takes.
  void check_keys(const Pattern& pattern, std::string_view kernel,
                  std::vector<std::string_view> known) const;

 private:
  std::string of_task(std::string_view key) const;
  std::uint32_t read_count(const Node& node, std::string_view key) const;
  double read_part(const Node& node, std::string_view key) const;
  std::int64_t read_size(const Node& node, std::string_view key, std::int64_t least) const;
  void read_parameters(Pattern& pattern) const;
  const Node* find_parameter(const Pattern& pattern, std::string_view key,
                             bool DependenceInfo::*takes) const;
  SourcePlace place_of_key(std::string_view wanted) const;

  const Node& body_;
  std::string task_;
};

}  // namespace troupe
