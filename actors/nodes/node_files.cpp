#include "actors/nodes/node_files.hpp"

#include "core/base/error.hpp"
#include "core/files/data_file.hpp"
#include "core/ops/value_source.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include <fmt/format.h>

namespace troupe {
namespace {

using SourcePtr = std::shared_ptr<const ValueSource>;

std::optional<FileLocation> file_of(const Attrs& attrs) {
  for (const Attrs::Entry& entry : attrs.entries()) {
    const SourcePtr* const source = std::get_if<SourcePtr>(&entry.value);
    if (source != nullptr && *source != nullptr) return (*source)->file();
  }
  return {};
}

}  // namespace

std::vector<FilesRequest> files_of_nodes(const Graph& graph, const Machine& machine,
                                         std::span<const Plan> plans) {
  std::vector<FilesRequest> requests(machine.nodes.size());
  std::vector<std::optional<FileLocation>> files;  // by op class
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const std::uint32_t op_class = graph.class_index(OpId::at(i));
    if (op_class < files.size()) continue;  // classes are numbered as their first ops are
    files.resize(op_class + 1);
    files[op_class] = file_of(graph.attrs(OpId::at(i)));
  }
  if (std::none_of(files.begin(), files.end(), [](const auto& file) { return file.has_value(); })) {
    return requests;
  }
  std::set<std::pair<NodeId, std::uint32_t>> known;
  for (const Plan& plan : plans) {
    for (const Unit& unit : plan.units) {
      if (unit.transfer) continue;
      const std::uint32_t op_class = graph.class_index(unit.op);
      if (!files[op_class]) continue;
      const NodeId node = resource_node(machine, unit.ref.resource);
      if (!known.emplace(node, op_class).second) continue;
      requests[node.index()].files.push_back(*files[op_class]);
    }
  }
  return requests;
}

void check_files(const FilesRequest& request) {
  OpenFiles files;
  for (const FileLocation& file : request.files) {
    try {
      open_values(file, files);
    } catch (const Error& error) {
      throw usage_error(fmt::format("'{}': {}", file.path, error.problem()), error.remedy());
    }
  }
}

}  // namespace troupe
