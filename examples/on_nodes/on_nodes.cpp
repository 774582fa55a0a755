// The largest eigenvalue of a matrix that is spread over the devices of several nodes, by power
// iteration: each device has a block of the rows, and multiplies it by the vector of the step
// before. Troupe sends the vector to the nodes, and their parts of the next one back.
//
//   troupe launch --local-nodes 2 example_on_nodes --run      on two node processes of this host
//   TROUPE_NODES=10.0.0.1:7420,10.0.0.2:7420 example_on_nodes --run
//                                       on others, each with a `troupe node` at this address
//
// Without --run, it is simulated on the nodes of a machine file.
#include "troupe/troupe.hpp"

#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>

using namespace troupe;

namespace {

constexpr std::int64_t n = 2048;
constexpr int steps = 20;

// Elements between 0 and 1 on average add up to n/2 in a row.
Tensor next(Session& session, const std::vector<Tensor>& blocks, const Tensor& x) {
  std::vector<Tensor> parts;
  for (std::size_t d = 0; d < blocks.size(); ++d) {
    const DeviceScope on = session.on(session.machine().devices[d].name);
    parts.push_back(matmul(blocks[d], x));
  }
  return (2.0 / n) * concat(parts, 0);
}

void iterate(Session& session) {
  const std::size_t devices = session.machine().devices.size();
  std::vector<Tensor> blocks;
  for (std::size_t d = 0; d < devices; ++d) {
    const DeviceScope on = session.on(session.machine().devices[d].name);
    const std::int64_t count = static_cast<std::int64_t>(devices);
    const std::int64_t rows = n / count + (static_cast<std::int64_t>(d) < n % count ? 1 : 0);
    blocks.push_back(session.uniform({rows, n}, static_cast<std::int64_t>(d)));
  }
  Tensor x;
  const ScenarioReport& report = session.measure("power iteration", [&] {
    x = session.call("constant", {}, {{"value", 1.0}}, {.shape = {n, 1}});
    for (int i = 0; i < steps; ++i) x = next(session, blocks, x);
  });
  fmt::print("{} devices on {} nodes: {} steps, {} transfers\n", devices,
             session.machine().nodes.size(), steps, report.transfers);
  if (session.report().mode == "simulate") {
    fmt::print("predicted: {:.2f} ms\n", 1e3 * seconds(report.makespan));
    return;
  }
  const Tensor before = sum(x, 0);
  const Tensor after = sum(next(session, blocks, x), 0);
  fmt::print("in {:.2f} ms; the eigenvalue is {:.2f}\n", 1e3 * seconds(report.makespan),
             after.read<float>()[0] / before.read<float>()[0] * n / 2);
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc > 1 && argv[1] == std::string("--run")) {
    Session session;
    iterate(session);
  } else {
    const std::filesystem::path machine = argc > 1 ? argv[1] : "examples/on_nodes/four_hosts.yaml";
    Session session(machine, {.mode = Mode::simulate});
    iterate(session);
  }
} catch (const std::exception& error) {
  fmt::print(stderr, "on_nodes: {}\n", error.what());
  return 1;
}
