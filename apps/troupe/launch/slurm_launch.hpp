// Ranks that srun has started without PMIx: each listens at a port that all know, on a host of
// Slurm's list.
#pragma once

#include "apps/troupe/launch/launch.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

// "n[08-10,12],gpu": n08, n09, n10, n12, gpu. Throws a usage Error if the text isn't that.
std::vector<std::string> expand_hosts(std::string_view text);
// "2(x3),1": 2, 2, 2, 1. Throws likewise.
std::vector<std::size_t> expand_counts(std::string_view text);

// Returns null unless srun has started this process. Throws a usage Error if the ranks aren't
// distributed in blocks: the first ones on the first host, and so on.
std::unique_ptr<Launch> find_slurm_launch();

}  // namespace troupe
