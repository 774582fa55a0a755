// file_bench: a file of NumPy in and out, beside `cp` of that file. Whole processes, in random
// order in each round; the file is in the system's cache, and the target is removed and the disk
// synced before each.
#include "actors/session.hpp"
#include "bench/child.hpp"
#include "bench/median.hpp"
#include "bench/temporary_folder.hpp"
#include "core/base/units.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

namespace {

using namespace troupe;
namespace fs = std::filesystem;

struct Way {
  std::string name;
  std::vector<std::string> command;
  std::vector<double> times = {};
};

std::string output_of(const std::vector<std::string>& command) {
  bench::Child child(command);
  std::string output = child.output();
  if (!child.has_succeeded()) throw std::runtime_error(command[0] + " failed:\n" + output);
  return output;
}

double time_of(const std::vector<std::string>& command, const fs::path& target) {
  fs::remove(target);
  sync();
  const auto begin = std::chrono::steady_clock::now();
  output_of(command);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void write_run_file(const fs::path& path, const fs::path& from, const fs::path& to) {
  std::ofstream(path) << fmt::format(
      "machine: {{discover: true}}\n"
      "tensors: {{x: {{file: '{}', on: cpu0}}}}\n"
      "tasks: {{one: {{op: slice, in: x, begin: [0, 0], end: [1, 1], on: cpu0}}}}\n"
      "save: {{x: '{}'}}\n"
      "scenarios: {{in and out: [one]}}\n",
      from.string(), to.string());
}

void measure(std::int64_t extent, int repetitions, const fs::path& parent) {
  const bench::TemporaryFolder folder(parent);
  const fs::path from = folder.path() / "x.npy";
  const fs::path to = folder.path() / "y.npy";
  const fs::path file = folder.path() / "run.yaml";
  Session().uniform({extent, extent}).save(from);
  write_run_file(file, from, to);
  const fs::path self = fs::read_symlink("/proc/self/exe");
  const std::string troupe = self.parent_path().parent_path() / "troupe";
  std::array<Way, 3> ways{{{"cp", {"cp", from, to}},
                           {"session", {self, "--from", from, "--to", to}},
                           {"run file", {troupe, "run", file, "--no-verify"}}}};
  for (const Way& way : ways) {  // once before, and to compare
    time_of(way.command, to);
    output_of({"cmp", from, to});
  }
  std::mt19937 random(1);
  std::vector<std::size_t> order{0, 1, 2};
  for (int i = 0; i < repetitions; ++i) {
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t w : order) ways[w].times.push_back(time_of(ways[w].command, to));
  }
  fmt::print("a .npy file of {} x {} float32, {}; medians of {}, and the speed in units of cp's\n",
             extent, extent, format_bytes(static_cast<std::uint64_t>(extent * extent) * 4),
             repetitions);
  for (const Way& way : ways) {
    std::vector<double> speeds;
    for (std::size_t i = 0; i < way.times.size(); ++i) {
      speeds.push_back(ways[0].times[i] / way.times[i]);
    }
    fmt::print("{:8}  {:.3f} s  {:.2f}\n", way.name, bench::median(way.times),
               bench::median(speeds));
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Loads a .npy file and saves it, beside cp of that file."};
  std::int64_t extent = 16'384;
  int repetitions = 15;
  std::string parent = ".";
  std::string from;
  std::string to;
  app.add_option("--extent", extent, "Rows and columns of float32")->check(CLI::Range(1, 65'536));
  app.add_option("--repetitions", repetitions)->check(CLI::Range(1, 999));
  app.add_option("--folder", parent, "Where the files are, for a while")->capture_default_str();
  CLI::Option* const source = app.add_option("--from", from, "Only copies this file …");
  source->needs(app.add_option("--to", to, "… to this one"));
  CLI11_PARSE(app, argc, argv);
  try {
    if (!from.empty()) {
      Session session;
      session.load(from).save(to);
    } else {
      measure(extent, repetitions, fs::absolute(parent));
    }
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "file_bench: {}\n", error.what());
    return 1;
  }
}
