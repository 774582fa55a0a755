#include "core/config/saves.hpp"

#include "core/base/text.hpp"
#include "core/config/values.hpp"
#include "core/files/data_file.hpp"
#include "core/files/output_file.hpp"

#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

namespace troupe {
namespace {

constexpr std::string_view index_mark = "{i}";
constexpr std::size_t files_max = 10'000;  // a mistyped `repeat` doesn't fill a folder

std::string with_index(std::string path, std::uint32_t index) {
  for (std::size_t at = 0; (at = path.find(index_mark, at)) != std::string::npos;) {
    const std::string number = std::to_string(index);
    path.replace(at, index_mark.size(), number);
    at += number.size();
  }
  return path;
}

class SavesReader {
 public:
  SavesReader(const Document& document, const TaskTable& table, const RunFile& run)
      : folder_(document.path().parent_path()), table_(table), run_(run) {
    note_input(document.path(), "the run file");
    if (!run.machine_file.empty()) note_input(run.machine_file, "the machine file");
    for (const InputData& data : run.inputs) note_input(data.path, "read by the run");
  }

  void read(const Node& key, const Node& value) {
    TaskInput saved = read_task_input(key, "a tensor to save");
    if (saved.is_all) {
      throw usage_error(key.place(),
                        fmt::format("'{}' is no name of a tensor", shortened(key.text)),
                        fmt::format("write '{}': a list is saved with all of its elements",
                                    shortened(saved.name)));
    }
    if (const OpRegistry& ops = run_.graph.kinds(); !table_.look_up(saved, ops)) {
      throw usage_error(key.place(),
                        fmt::format("'{}' is no tensor or task", shortened(saved.name)),
                        table_.remedy(saved, ops));
    }
    const Task& task = table_.tasks[saved.task];
    check_element(task, saved);
    const std::string path = read_string(value, fmt::format("where '{}' is saved", key.text),
                                         "the path of a .npy or .safetensors file");
    const bool is_list = task.is_list && !saved.element;
    const bool has_index = path.find(index_mark) != std::string::npos;
    if (has_index && !is_list) {
      throw usage_error(value.place(),
                        fmt::format("'{}' is a single tensor, so there is nothing to count by {}",
                                    key.text, index_mark),
                        "remove it from the path");
    }
    const std::uint32_t first = saved.element.value_or(0);
    const std::uint32_t count = is_list ? task.count : 1;
    std::vector<OpId> ops;
    for (std::uint32_t i = 0; i < count; ++i) {
      ops.push_back(run_.graph.op_in_group(task.group, first + i, saved.output));
    }
    if (!has_index) return add(path, ops, value);
    for (std::uint32_t i = 0; i < count; ++i) add(with_index(path, i), {&ops[i], 1}, value);
  }

  std::vector<SavedFile> take() { return std::move(files_); }

 private:
  // What is written to `path` must not be this.
  void note_input(const std::filesystem::path& path, const char* what) {
    inputs_.emplace(output_target(path).string(), what);
  }

  // Adds ops to a file.
  void add(const std::string& given, std::span<const OpId> saved, const Node& node) {
    const std::filesystem::path path = (folder_ / given).lexically_normal();
    DataFormat format = DataFormat::npy;
    try {
      format = format_of(path);
    } catch (const Error& error) {
      throw error_of_file(error, path, node.place());
    }
    const std::string target = output_target(path).string();
    if (const auto input = inputs_.find(target); input != inputs_.end()) {
      throw usage_error(node.place(),
                        fmt::format("'{}' is {}, and would be overwritten", visible(path.string()),
                                    input->second),
                        "give another path");
    }
    const auto [known, is_new] = by_target_.emplace(target, files_.size());
    if (is_new) {
      if (files_.size() == files_max) {
        throw usage_error(node.place(), fmt::format("more than {} files would be saved", files_max),
                          "save fewer, or all tensors of a list in one .safetensors file");
      }
      files_.push_back({.path = path, .ops = {}, .place = node.place()});
    }
    std::vector<OpId>& ops = files_[known->second].ops;
    for (const OpId op : saved) {
      if (!saved_.emplace(known->second, op.value).second) {
        throw usage_error(node.place(),
                          fmt::format("'{}' is saved to '{}' twice", run_.graph.name(op), given),
                          "remove one");
      }
      if (format == DataFormat::npy && !ops.empty()) {
        throw usage_error(
            node.place(),
            fmt::format("'{}' and '{}' are both saved to '{}', which holds one array",
                        run_.graph.name(ops.front()), run_.graph.name(op), given),
            "give each tensor a file of its own, the elements of a list with {i} in the path; or "
            "save them all to one .safetensors file");
      }
      ops.push_back(op);
    }
  }

  std::filesystem::path folder_;
  const TaskTable& table_;
  const RunFile& run_;
  std::unordered_map<std::string, const char*> inputs_;     // by target
  std::unordered_map<std::string, std::size_t> by_target_;  // into files_
  std::set<std::pair<std::size_t, std::uint32_t>> saved_;   // of files_, and op
  std::vector<SavedFile> files_;
};

}  // namespace

std::vector<SavedFile> read_saves(const Document& document, const TaskTable& table,
                                  const RunFile& run) {
  const Node* section = find(document.root(), "save");
  if (section == nullptr) return {};
  expect_map(*section, "save");
  SavesReader reader(document, table, run);
  for (std::size_t i = 0; i < section->entry_count(); ++i) {
    reader.read(section->key(i), section->value(i));
  }
  return reader.take();
}

void check_target(const SavedFile& file) {
  try {
    check_no_other(file.path);
    const OutputFile test(file.path.string());
  } catch (const Error& error) {
    throw error.at(file.place);
  }
}

}  // namespace troupe
