// How CAF writes and reads ids.
#pragma once

#include "core/base/id.hpp"

namespace troupe {

template <class Inspector, class Tag>
auto inspect(Inspector& f, Id<Tag>& id) {
  return f(id.value);
}

}  // namespace troupe
