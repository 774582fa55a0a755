// cholesky_bench: a Cholesky factorisation by Troupe and its peers, of the same tiles with the same
// kernels, beside one call of LAPACK on the same cores.
//
// Each measurement runs in its own process, after a factorisation that warms it up. Repetitions are
// interleaved: each runtime once, then each again. Medians are shown.
#include "bench/cholesky/matrix.hpp"
#include "bench/median.hpp"
#include "bench/task_bench/peer_home.hpp"
#include "core/base/error.hpp"
#include "core/machine/discover.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace troupe::bench {
namespace {

struct Runtime {
  std::string_view name;
  Measure measure = nullptr;      // null: in the runtime's module
  std::string_view package = {};  // Debian package of a peer
};
constexpr Runtime runtimes[] = {{.name = "troupe", .measure = measure_troupe},
                                {.name = "lapack", .measure = measure_lapack},
                                {.name = "openmp", .package = "libgomp1"},
                                {.name = "starpu", .package = "libstarpu-dev"}};

// The module of a peer, in the folder of the program.
std::filesystem::path module_of(const Runtime& runtime) {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() /
         fmt::format("cholesky_bench_{}.so", runtime.name);
}

Measure load(const Runtime& runtime) {
  if (runtime.measure != nullptr) return runtime.measure;
  // OpenMP reads it when it is loaded. By default all tasks have the same priority.
  setenv("OMP_MAX_TASK_PRIORITY", "3", 0);
  void* const module = dlopen(module_of(runtime).c_str(), RTLD_NOW | RTLD_LOCAL);
  void* const measure = module != nullptr ? dlsym(module, "cholesky_measure") : nullptr;
  if (measure != nullptr) return reinterpret_cast<Measure>(measure);
  throw run_error(fmt::format("{} can't be loaded: {}", runtime.name, dlerror()));
}

// Measures once in a new process. Returns seconds; nullopt if it fails, after a message.
std::optional<double> measure_apart(const Runtime& runtime, const Problem& problem) {
  int ends[2];
  if (pipe(ends) != 0) throw run_error("the system refuses a pipe");
  const pid_t child = fork();
  if (child < 0) throw run_error("the system refuses another process");
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);  // the measurement ends with this program
    try {
      const double seconds = load(runtime)(problem);
      _exit(write(ends[1], &seconds, sizeof seconds) == sizeof seconds ? 0 : 1);
    } catch (const std::exception& error) {
      fmt::print(stderr, "cholesky_bench: {}: {}\n", runtime.name, error.what());
      _exit(1);
    }
  }
  close(ends[1]);
  double seconds = 0;
  const bool is_complete = read(ends[0], &seconds, sizeof seconds) == sizeof seconds;
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return is_complete ? std::optional(seconds) : std::nullopt;
}

struct Options {
  Problem problem;
  std::vector<int> tiles{128, 256, 512, 1024};
  std::vector<std::string> runtimes;  // empty: all
  int repetitions = 5;
};

// Seconds by runtime and repetition. A runtime that fails once is left out: it has no seconds.
using Rounds = std::vector<std::vector<double>>;

Rounds measure_in_turns(const std::vector<Runtime>& measured, const Problem& problem,
                        int repetitions) {
  Rounds rounds(measured.size());
  std::vector<bool> failed(measured.size(), false);
  for (int n = 0; n < repetitions; ++n) {
    for (std::size_t r = 0; r < measured.size(); ++r) {
      if (failed[r]) continue;
      const std::optional<double> seconds = measure_apart(measured[r], problem);
      failed[r] = !seconds;
      if (seconds) rounds[r].push_back(*seconds);
      if (failed[r]) rounds[r].clear();
    }
  }
  return rounds;
}

// The rate of each runtime, and how many times as long as the first one it took in the same round.
void print_row(const Problem& problem, const Rounds& rounds) {
  fmt::print("{:>6}", problem.tile);
  for (const std::vector<double>& seconds : rounds) {
    if (seconds.empty()) {
      fmt::print("{:>15}", "failed");
      continue;
    }
    std::vector<double> ratios;
    for (std::size_t n = 0; n < std::min(seconds.size(), rounds[0].size()); ++n) {
      ratios.push_back(seconds[n] / rounds[0][n]);
    }
    fmt::print(
        "{:>8.1f}{:>7}", problem.flops() / median(seconds) / 1e9,
        &seconds == rounds.data() || ratios.empty() ? "" : fmt::format("{:.3f}", median(ratios)));
  }
  fmt::print("\n");
  std::fflush(stdout);
}

int run(Options options) {
  Problem& problem = options.problem;
  for (const int tile : options.tiles) {
    if (tile > 0 && problem.extent % tile == 0) continue;
    throw usage_error(fmt::format("tiles of {} don't divide {} rows", tile, problem.extent),
                      "give --tiles divisors of --extent");
  }
  const PeerHome home;
  problem.cores = discover_host().cores;
  std::vector<Runtime> measured;
  for (const Runtime& runtime : runtimes) {
    const auto& names = options.runtimes;
    const bool is_wanted =
        names.empty() || std::find(names.begin(), names.end(), runtime.name) != names.end();
    if (!is_wanted) continue;
    if (runtime.measure != nullptr || std::filesystem::exists(module_of(runtime))) {
      measured.push_back(runtime);
    } else {
      fmt::print(stderr, "cholesky_bench: {} is absent: install {} and build again\n", runtime.name,
                 runtime.package);
    }
  }
  fmt::print("{} x {} float64 on {} cores; medians of {}: GFLOP/s, and the time in units of {}'s\n",
             problem.extent, problem.extent, problem.cores.size(), options.repetitions,
             measured.at(0).name);
  fmt::print("{:>6}", "tile");
  for (const Runtime& runtime : measured) fmt::print("{:>8}       ", runtime.name);
  fmt::print("\n");
  bool is_complete = true;
  for (const int tile : options.tiles) {
    problem.tile = tile;
    const Rounds rounds = measure_in_turns(measured, problem, options.repetitions);
    print_row(problem, rounds);
    for (const auto& seconds : rounds) is_complete = is_complete && !seconds.empty();
  }
  return is_complete ? 0 : 1;
}

}  // namespace
}  // namespace troupe::bench

int main(int argc, char** argv) {
  troupe::bench::Options options;
  CLI::App app{"A Cholesky factorisation by Troupe and its peers, beside one call of LAPACK."};
  app.add_option("--extent", options.problem.extent, "rows and columns of the matrix")
      ->check(CLI::Range(1, 1 << 15));
  app.add_option("--tiles", options.tiles, "rows and columns of a tile, one size after the other")
      ->delimiter(',');
  app.add_option("--runtimes", options.runtimes, "some of troupe, lapack, openmp, starpu")
      ->delimiter(',')
      ->check(CLI::IsMember({"troupe", "lapack", "openmp", "starpu"}));
  app.add_option("--repetitions", options.repetitions)->check(CLI::Range(1, 1000));
  CLI11_PARSE(app, argc, argv);
  try {
    return troupe::bench::run(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "cholesky_bench: {}\n", error.what());
    return 1;
  }
}
