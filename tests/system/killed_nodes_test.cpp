// Nodes that are killed at seeded moments of programs that people run: a Cholesky factorisation, an
// epoch of training, a random graph. TROUPE_SEEDS: how many times; tools/soak tries more.
#include "core/base/random.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/node_process.hpp"
#include "tests/support/run_workspace.hpp"
#include "tests/support/seeds.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

using namespace troupe::testing;
using troupe::Random;
namespace fs = std::filesystem;

BOOST_AUTO_TEST_SUITE(killed_nodes)
namespace {

constexpr std::size_t node_count = 3;

// A run file, line by line: what a task makes can be read by later tasks.
class RunFile {
 public:
  std::string tensor(const std::string& name, const std::string& rest) {
    tensors_ += fmt::format("  {}: {{{}}}\n", name, rest);
    return name;
  }
  std::string task(const std::string& op, const std::string& inputs, const std::string& rest = {}) {
    std::string name = fmt::format("t{}", tasks_made_++);
    tasks_ += fmt::format("  {}: {{op: {}, in: [{}]{}{}}}\n", name, op, inputs,
                          rest.empty() ? "" : ", ", rest);
    return name;
  }
  void save(const std::string& name) {
    saves_ += fmt::format("  {}: {}.npy\n", name, name);
    saved_.push_back(name + ".npy");
  }
  std::string text() const {
    return "machine: {discover: {}}\ntensors:\n" + tensors_ + "tasks:\n" + tasks_ + "save:\n" +
           saves_;
  }
  const std::vector<std::string>& saved() const { return saved_; }

 private:
  std::string tensors_;
  std::string tasks_;
  std::string saves_;
  std::vector<std::string> saved_;
  int tasks_made_ = 0;
};

std::string on(std::size_t node) {
  return fmt::format("on: n{}.cpu0", node % node_count);
}

// The tile in row i and column j is updated where the sum of both says.
RunFile cholesky() {
  constexpr std::size_t tiles = 6;
  const std::string shape = "dtype: float64, shape: [128, 128]";
  RunFile file;
  const std::string zero = file.tensor("zero", fmt::format("op: zeros, {}, {}", shape, on(0)));
  const std::string wide =
      file.tensor("wide", fmt::format("op: uniform, dtype: float64, shape: [128, 512], {}", on(0)));
  std::vector<std::vector<std::string>> a(tiles);
  for (std::size_t i = 0; i < tiles; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const std::string part =
          file.tensor(fmt::format("a{}_{}", i, j),
                      fmt::format("op: uniform, seed: {}, {}, {}", 10 * i + j, shape, on(i + j)));
      a[i].push_back(file.task("scale", part, "alpha: 1.0e-3, " + on(i + j)));
    }
    a[i].push_back(file.task("syrk", wide + ", " + zero, on(2 * i)));
  }
  for (std::size_t k = 0; k < tiles; ++k) {
    a[k][k] = file.task("potrf", a[k][k], on(2 * k));
    for (std::size_t i = k + 1; i < tiles; ++i) {
      a[i][k] =
          file.task("trsm", a[k][k] + ", " + a[i][k], "side: right, transpose: true, " + on(i + k));
    }
    for (std::size_t i = k + 1; i < tiles; ++i) {
      a[i][i] = file.task("syrk", a[i][k] + ", " + a[i][i], "alpha: -1, " + on(2 * i));
      for (std::size_t j = k + 1; j < i; ++j) {
        a[i][j] = file.task("gemm", a[i][k] + ", " + a[j][k] + ", " + a[i][j],
                            "alpha: -1, transpose_b: true, " + on(i + j));
      }
    }
  }
  for (const auto& row : a) file.save(row.back());
  return file;
}

// Two workers, and a server of the parameters.
RunFile training() {
  RunFile file;
  const auto uniform = [&](const std::string& name, int rows, int columns, std::size_t node) {
    return file.tensor(name, fmt::format("op: uniform, seed: {}, shape: [{}, {}], {}",
                                         rows + static_cast<int>(node), rows, columns, on(node)));
  };
  std::string w1 = file.task("scale", uniform("w1", 64, 128, 0), "alpha: 0.01, " + on(0));
  std::string w2 = file.task("scale", uniform("w2", 128, 10, 0), "alpha: 0.01, " + on(0));
  for (int step = 0; step < 20; ++step) {
    for (std::size_t worker = 1; worker <= 2; ++worker) {
      const std::string own = on(worker);
      const std::string x = uniform(fmt::format("x{}_{}", step, worker), 256, 64, worker);
      const std::string wanted = uniform(fmt::format("y{}_{}", step, worker), 256, 10, worker);
      const std::string sum = file.task("matmul", x + ", " + w1, own);
      const std::string hidden = file.task("relu", sum, own);
      const std::string out = file.task("matmul", hidden + ", " + w2, own);
      const std::string error = file.task("sub", out + ", " + wanted, own);
      const std::string by_w2 =
          file.task("matmul", file.task("transpose", hidden, own) + ", " + error, own);
      const std::string by_hidden =
          file.task("matmul", error + ", " + file.task("transpose", w2, own), own);
      const std::string by_sum = file.task("relu_grad", by_hidden + ", " + sum, own);
      const std::string by_w1 =
          file.task("matmul", file.task("transpose", x, own) + ", " + by_sum, own);
      w1 = file.task("axpy", by_w1 + ", " + w1, "alpha: -1.0e-5, " + on(0));
      w2 = file.task("axpy", by_w2 + ", " + w2, "alpha: -1.0e-5, " + on(0));
    }
  }
  file.save(w1);
  file.save(w2);
  return file;
}

RunFile random_graph(Random& random) {
  RunFile file;
  std::vector<std::string> made;
  for (std::size_t n = 0; n < node_count; ++n) {
    made.push_back(
        file.tensor(fmt::format("x{}", n),
                    fmt::format("op: uniform, seed: {}, shape: [200, 200], {}", n, on(n))));
  }
  const auto any = [&] {
    return made[made.size() - 1 - random.below(std::min<std::size_t>(8, made.size()))];
  };
  for (int i = 0; i < 100; ++i) {
    const std::string device = on(random.below(node_count));
    const std::string a = any();
    const std::string b = any();
    const std::string kinds[] = {"matmul", "add", "sub", "mul"};
    made.push_back(
        file.task("tanh", file.task(kinds[random.below(4)], a + ", " + b, device), device));
  }
  for (std::size_t last = 1; last <= 3; ++last) file.save(made[made.size() - last]);
  return file;
}

// Its children that are "troupe node ...": a sanitizer has helper processes in the same folder.
std::vector<pid_t> nodes_of(const Workspace& workspace, const Program& leader) {
  std::vector<pid_t> nodes = processes_in(workspace.path());
  std::erase_if(nodes, [&](pid_t process) {
    const fs::path about = fmt::format("/proc/{}", process);
    const std::string arguments = workspace.read(about / "cmdline");
    const std::string status = workspace.read(about / "status");
    return arguments.find(std::string("\0node\0", 6)) == std::string::npos ||
           !contains(status, fmt::format("PPid:\t{}\n", leader.pid()));
  });
  return nodes;
}

// The names of UCX's memory in /dev/shm.
std::set<std::string> shared_memory() {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator("/dev/shm")) {
    const std::string name = entry.path().filename();
    if (name.starts_with("ucx_shm")) names.insert(name);
  }
  return names;
}

}  // namespace

BOOST_AUTO_TEST_CASE(programs_end_with_the_right_results_whenever_a_node_is_killed) {
  std::uint64_t lost = 0;  // in time: some blows come before or after the work
  for (std::uint64_t seed = 1; seed <= seeds(6); ++seed) {
    Random random(seed);
    const RunFile file = seed % 3 == 0   ? cholesky()
                         : seed % 3 == 1 ? training()
                                         : random_graph(random);
    const std::string policy = std::array{"replan", "wait", "wait", "fail"}[random.below(4)];
    const bool goes_on = policy != "fail";
    const std::string transport = random.below(2) == 0 ? "tcp" : "shared-memory";
    const std::chrono::milliseconds moment(random.below(250));
    BOOST_TEST_CONTEXT("seed " << seed << ", " << transport << ", after " << moment.count()
                               << " ms, " << policy) {
      RunWorkspace files;
      files.write("run.yaml", file.text());
      const auto before = shared_memory();
      Program leader(troupe_command({"run", "run.yaml", "--verbose", "--json", "report.json",
                                     "--local-nodes", std::to_string(node_count), "--transport",
                                     transport, "--on-loss", policy}),
                     options_in(files));
      BOOST_REQUIRE(leader.wait_until([&] { return contains(leader.err(), "planned"); }));
      for (int blows = policy == "wait" ? 3 : 1; blows > 0; --blows) {
        std::this_thread::sleep_for(moment);
        const std::vector<pid_t> nodes = nodes_of(files, leader);
        if (!nodes.empty()) kill(nodes[random.below(nodes.size())], SIGKILL);
      }
      const Finished finished = leader.wait();
      BOOST_TEST_INFO(finished.err);
      if (goes_on || finished.exit_code == 0) {
        BOOST_TEST(finished.exit_code == 0);
        const auto report = files.report();
        lost += contains(report["notes"].dump(), "was lost") ? 1 : 0;
        const auto& scenario = report["scenarios"][0];
        BOOST_TEST(scenario["outcome"] == "done");
        BOOST_TEST(scenario["verified"] == true);
        for (const std::string& name : file.saved()) BOOST_TEST(fs::exists(files.path() / name));
      } else {
        BOOST_TEST(finished.exit_code == 1);
        bool named = false;
        for (std::size_t n = 0; n < node_count; ++n) {
          named |= contains(finished.err, fmt::format("n{} was lost", n)) ||
                   contains(finished.err, fmt::format("node n{} (", n));
        }
        BOOST_TEST(contains(finished.err, "was lost"));
        BOOST_TEST(named);
        ++lost;
      }
      check_nothing_is_left(files);
      // Tests beside this one have names there, too, for a moment.
      BOOST_TEST(soon([&] { return std::ranges::includes(before, shared_memory()); }));
    }
  }
  BOOST_TEST_MESSAGE(lost << " runs lost a node");
}

BOOST_AUTO_TEST_SUITE_END()
