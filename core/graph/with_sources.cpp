// A file of its own: with one more caller in its file, what Graph::append() does for each op is not
// inlined into it by GCC, and an op takes 10 % longer.
#include "core/base/assert.hpp"
#include "core/graph/graph.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace troupe {

Graph Graph::with_sources(std::span<const Source> sources) const {
  TROUPE_ASSERT(rows_.first() == 0);
  Graph copy = *this;
  copy.rows_ = {};
  copy.inputs_ = {};
  copy.rows_.reserve(rows_.size());
  copy.inputs_.reserve(inputs_.size());
  for (std::size_t i = 0; i < size(); ++i) {
    const OpId op = OpId::at(i);
    const auto first_input = static_cast<std::uint32_t>(copy.inputs_.size());
    if (sources.empty() || sources.front().op != op) {
      copy.inputs_.append(inputs(op));
      copy.rows_.push_back({first_input, class_index(op)});
      continue;
    }
    const OpTemplateId source = copy.add_template(sources.front().op_template);
    copy.rows_.push_back({first_input, copy.find_older_class(source, {})});
    TROUPE_ASSERT(copy.type(op) == type(op));
    sources = sources.subspan(1);
  }
  TROUPE_ASSERT(sources.empty());
  return copy;
}

}  // namespace troupe
