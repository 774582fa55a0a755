#include "core/result/run_digest.hpp"

#include "core/base/absolute_path.hpp"
#include "core/base/version.hpp"
#include "core/memory/digest.hpp"
#include "core/ops/attrs.hpp"
#include "core/ops/value_source.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <variant>
#include <vector>

#include <fmt/format.h>

namespace troupe {
namespace {

// Words and texts, one after the other.
class Record {
 public:
  void add(std::uint64_t word) {
    const auto* const bytes = reinterpret_cast<const char*>(&word);
    text_.append(bytes, sizeof word);
  }
  void add(std::string_view text) {
    add(text.size());
    text_.append(text);
  }
  void add_attr(const Attr& attr) {
    add(attr.index());
    std::visit([this](const auto& value) { add_value(value); }, attr);
  }
  Digest digest() const { return digest_of(std::as_bytes(std::span(text_))); }

 private:
  void add_value(bool value) { add(std::uint64_t{value}); }
  void add_value(std::int64_t value) { add(static_cast<std::uint64_t>(value)); }
  void add_value(double value) { add(std::bit_cast<std::uint64_t>(value)); }
  void add_value(Duration value) { add_value(value.count()); }
  void add_value(const std::string& value) { add(std::string_view(value)); }
  template <class T>
  void add_value(const std::vector<T>& values) {
    add(std::uint64_t{values.size()});
    for (const T& value : values) add_value(value);
  }
  void add_value(const std::shared_ptr<const ValueSource>& source) {
    const std::optional<FileLocation> file = source ? source->file() : std::nullopt;
    if (!file) return;
    add(std::string_view(file->path));
    add(std::string_view(file->tensor));
    add(file->file_bytes);
    std::error_code error;  // a file that is gone can't be loaded either
    add_value(std::int64_t{
        std::filesystem::last_write_time(file->path, error).time_since_epoch().count()});
  }

  std::string text_;
};

}  // namespace

std::string run_digest(const Graph& graph, std::span<const Scenario> scenarios,
                       std::span<const SavedFile> saves) {
  Record record;
  record.add(version);
  std::vector<bool> is_known(graph.classes().size(), false);
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const OpId op = OpId::at(i);
    const std::uint32_t op_class = graph.class_index(op);
    record.add(std::uint64_t{op_class});
    for (const OpId input : graph.inputs(op)) record.add(std::uint64_t{input.value});
    if (is_known[op_class]) continue;
    is_known[op_class] = true;
    record.add(graph.kind(op).name);
    record.add(std::uint64_t{graph.output_number(op)});
    record.add(to_string(graph.type(op)));
    for (const Attrs::Entry& entry : graph.attrs(op).entries()) {
      record.add(entry.name);
      record.add_attr(entry.value);
    }
  }
  for (std::size_t g = 0; g < graph.group_count(); ++g) {  // kernels know their index in it
    const Group& group = graph.group(GroupId::at(g));
    record.add(std::uint64_t{group.first.value});
    record.add(std::uint64_t{group.count});
  }
  for (const Scenario& scenario : scenarios) {
    record.add(scenario.name);
    for (const Step& step : scenario.steps) {
      record.add(step.is_wait() ? std::string_view("wait") : std::string_view("group"));
      if (!step.is_wait()) record.add(std::uint64_t{step.group.value});
    }
  }
  for (const SavedFile& file : saves) {
    // By what folder the run file was named makes no difference; another folder does.
    record.add(absolute_path(file.path).lexically_normal().string());
    for (const OpId op : file.ops) record.add(std::uint64_t{op.value});
  }
  const Digest digest = record.digest();
  return fmt::format("{:016x}{:016x}", digest.high, digest.low);
}

}  // namespace troupe
