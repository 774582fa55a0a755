// The op kinds of run files: those that are built in, and the points of patterns.
#pragma once

#include "core/ops/registry.hpp"

namespace troupe {

// The kinds of builtin_ops() and `point`, which executes one point of a pattern. A graph must be
// made with this registry to hold patterns of points. A run file can't use `point` as a task.
const OpRegistry& pattern_ops();

}  // namespace troupe
