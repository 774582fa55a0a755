// The options --lose, nodes that a simulation loses, and --on-loss, what a run does then.
#pragma once

#include "actors/run_options.hpp"
#include "core/machine/machine.hpp"

#include <string>
#include <vector>

namespace troupe {

// Each text is like "n1@500ms". Sorted by time. Throws a usage Error if one isn't like that, or the
// machine has no such node, or one is lost twice.
std::vector<NodeLoss> parse_losses(const std::vector<std::string>& texts, const Machine& machine);

struct LossPolicy {
  OnLoss on_loss = OnLoss::replan;
  Duration wait_max = RunOptions{}.wait_max;
};

// "replan", "fail", "wait" or "wait:30s". Throws a usage Error if the text is none of these.
LossPolicy parse_loss_policy(const std::string& text);

}  // namespace troupe
