// Which GPUs of this host a real run can use.
#pragma once

#include "core/machine/discover.hpp"

namespace troupe {

// By the backends of this build. Blocks while the driver starts.
//
//   Machine machine = local_machine(discover_host(), {});
//   add_gpus(machine, usable_gpus().gpus);
UsableGpus usable_gpus();

}  // namespace troupe
