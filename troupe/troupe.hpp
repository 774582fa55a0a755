// Troupe as a library: includes every header that a program may include. Headers that are installed
// and not listed here are needed by those that are listed, and may change at any time.
#pragma once

#include "actors/runner.hpp"
#include "actors/session.hpp"
#include "actors/stream.hpp"
#include "core/backend/mode.hpp"
#include "core/base/error.hpp"
#include "core/base/id.hpp"
#include "core/base/time.hpp"
#include "core/base/version.hpp"
#include "core/config/machine_file.hpp"
#include "core/config/run_file.hpp"
#include "core/graph/graph.hpp"
#include "core/graph/scenario.hpp"
#include "core/machine/discover.hpp"
#include "core/machine/machine.hpp"
#include "core/ops/op_kind.hpp"
#include "core/ops/op_library.hpp"
#include "core/ops/registry.hpp"
#include "core/ops/tensor_type.hpp"
#include "core/trace/report.hpp"
#include "core/trace/writers.hpp"
