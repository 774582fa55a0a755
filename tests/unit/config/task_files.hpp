// Run files of one machine and a tensor, to which a test adds its tasks.
#pragma once

#include "core/config/run_file.hpp"
#include "tests/unit/config/temporary_files.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {

// Two lines; `x` is a single tensor. What tests add begins in line 3.
inline constexpr std::string_view head =
    "machine: {devices: {cpu0: {kind: cpu, memory: m0}, cpu1: {kind: cpu, memory: m1}}, memories: "
    "{m0: {size: 1 GiB}, m1: {size: 1 GiB}}, links: {l: {between: [m0, m1], bandwidth: 1 GB/s}}}\n"
    "tensors: {x: {op: uniform, shape: [4, 4], on: cpu0}}\n";

inline std::string with_head(std::string_view rest) {
  return std::string(head) + std::string(rest);
}

inline RunFile load(std::string_view rest) {
  const TemporaryFiles files;
  return load_run_file(files.write("run.yaml", with_head(rest)));
}

// The error of `tasks: {t: {…}}`; the inner brace stands in line 3, column 12.
inline std::string task_error(std::string_view task) {
  return run_error_of(with_head("tasks: {t: " + std::string(task) + "}\n"));
}
inline std::string error(std::string_view rest) {
  return run_error_of(with_head(rest));
}

inline std::vector<std::string> input_names(const Graph& graph, OpId op) {
  std::vector<std::string> names;
  for (const OpId input : graph.inputs(op)) names.push_back(graph.name(input));
  return names;
}

inline OpId element(const RunFile& run, std::string_view task, std::size_t i = 0) {
  const GroupId group = run.graph.find_group(task);
  BOOST_REQUIRE(static_cast<bool>(group));
  return OpId::at(run.graph.group(group).first.index() + i);
}

using Names = std::vector<std::string>;

}  // namespace troupe
