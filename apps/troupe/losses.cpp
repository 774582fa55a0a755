#include "apps/troupe/losses.hpp"

#include "core/base/error.hpp"
#include "core/base/suggest.hpp"
#include "core/base/text.hpp"
#include "core/base/units.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include <fmt/format.h>

namespace troupe {
namespace {

Duration time_of(std::string_view option, std::string_view text) try {
  return parse_duration(text);
} catch (const Error& error) {
  throw usage_error(fmt::format("{}: {}", option, error.problem()), error.remedy());
}

// "n1@500ms"
NodeLoss parse_loss(const std::string& text, const Machine& machine) {
  const std::size_t at = text.find('@');
  if (at == std::string::npos) {
    throw usage_error(fmt::format("--lose takes NODE@TIME, and '{}' is not that", shortened(text)),
                      "write for example --lose n1@500ms");
  }
  const std::string name = text.substr(0, at);
  const std::vector<std::string_view> names(machine.nodes.begin(), machine.nodes.end());
  const auto node = std::find(names.begin(), names.end(), name);
  if (node == names.end()) {
    throw usage_error(fmt::format("--lose names the node '{}', which '{}' doesn't have",
                                  shortened(name), machine.name),
                      names.empty() ? "give the machine nodes" : suggestion(name, names));
  }
  return {.node = NodeId::at(static_cast<std::size_t>(node - names.begin())),
          .after = time_of("--lose", std::string_view(text).substr(at + 1))};
}

}  // namespace

std::vector<NodeLoss> parse_losses(const std::vector<std::string>& texts, const Machine& machine) {
  std::vector<NodeLoss> losses;
  for (const std::string& text : texts) {
    const NodeLoss loss = parse_loss(text, machine);
    for (const NodeLoss& other : losses) {
      if (other.node != loss.node) continue;
      throw usage_error(
          fmt::format("--lose names the node '{}' twice", machine.nodes[loss.node.index()]),
          "name each once");
    }
    losses.push_back(loss);
  }
  std::sort(losses.begin(), losses.end(),
            [](const NodeLoss& a, const NodeLoss& b) { return a.after < b.after; });
  return losses;
}

LossPolicy parse_loss_policy(const std::string& text) {
  constexpr std::string_view with_limit = "wait:";
  if (text == "replan") return {.on_loss = OnLoss::replan};
  if (text == "fail") return {.on_loss = OnLoss::fail};
  if (text == "wait") return {.on_loss = OnLoss::wait};
  if (text.starts_with(with_limit)) {
    return {.on_loss = OnLoss::wait,
            .wait_max = time_of("--on-loss", std::string_view(text).substr(with_limit.size()))};
  }
  throw usage_error(
      fmt::format("--on-loss is replan, fail or wait, and '{}' is none of them", shortened(text)),
      "to wait for 30 seconds at most, write --on-loss wait:30s");
}

}  // namespace troupe
