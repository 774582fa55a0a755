// tensor_bench: tensors from one node to another by Troupe, between two node processes of this
// host, beside what moves the same bytes without a graph: a plain TCP connection whose reader
// spins, iperf3, UCX's ucx_perftest, memcpy, and the kernel's copy within a process. They are
// measured in turns, and medians are shown. A tensor is a copy op on its own. The time of Troupe is
// the makespan: from when the leader hands the copies out to the end of the last one, all that
// nodes do included; the tensors are made before.
#include "actors/nodes/cluster.hpp"
#include "actors/runner.hpp"
#include "apps/troupe/local_nodes.hpp"
#include "bench/child.hpp"
#include "bench/median.hpp"
#include "bench/network/raw.hpp"
#include "core/base/error.hpp"
#include "core/patterns/pattern_ops.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <functional>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace {

using namespace network_bench;
using namespace troupe;
using namespace troupe::bench;

struct Size {
  std::string_view name;
  std::size_t bytes = 0;
};
constexpr std::array<Size, 3> sizes{{{"64 KiB", std::size_t{64} << 10},
                                     {"1 MiB", std::size_t{1} << 20},
                                     {"64 MiB", std::size_t{64} << 20}}};
constexpr std::size_t bytes_of_round = std::size_t{256} << 20;

Stream stream_of(const Size& size) {
  return {.piece_bytes = size.bytes, .pieces = bytes_of_round / size.bytes};
}

// Copies tensors from the first of two nodes to the second.
class TroupeNodes {
 public:
  explicit TroupeNodes(bool uses_shared_memory)
      : nodes_({.count = 2, .program = program()}),
        cluster_(pattern_ops(),
                 {.addresses = nodes_.addresses(), .uses_shared_memory = uses_shared_memory}) {}

  double seconds(const Stream& stream) {
    const Machine& machine = cluster_.machine();
    Graph graph(pattern_ops());
    graph.begin_group("x", true);
    const OpTemplateId make = graph.add_template(
        {.kind = pattern_ops().find("zeros"),
         .placement = {.device = DeviceId{0}},
         .declared = {.dtype = DType::f32,
                      .shape = {static_cast<std::int64_t>(stream.piece_bytes / sizeof(float))}}});
    for (std::uint64_t k = 0; k < stream.pieces; ++k) graph.append(make, {});
    const GroupId copies = graph.begin_group("copy", true);
    const OpTemplateId copy =
        graph.add_template({.kind = pattern_ops().find("copy"),
                            .placement = {.memory = machine.device(DeviceId{1}).memory}});
    for (std::uint64_t k = 0; k < stream.pieces; ++k) {
      const OpId x = OpId::at(k);
      graph.append(copy, {&x, 1});
    }
    const std::vector<Scenario> scenarios{{.name = "copies", .steps = {Step{.group = copies}}}};
    Run run(machine, graph, scenarios,
            {.verify = false, .keep_timeline = false, .cluster = &cluster_});
    const Report report = run.perform();
    const ScenarioReport& scenario = report.scenarios.at(0);
    if (scenario.outcome != Outcome::done) throw run_error(scenario.error);
    return troupe::seconds(scenario.makespan);
  }

 private:
  static std::string program() {
    const auto here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    return here.parent_path() / "troupe";
  }

  LocalNodes nodes_;
  Cluster cluster_;
};

// iperf3 takes no pieces of more than 1 MiB. Now and then its end doesn't hear what the other one
// has received, or finds nobody there yet, and says so in place of figures.
double iperf3(const Stream& stream) {
  constexpr int attempts = 10;
  nlohmann::json report;
  for (int i = 0; i < attempts; ++i) {
    const std::string port = std::to_string(free_port());
    const Child server({"iperf3", "--server", "--one-off", "--bind", "127.0.0.1", "--port", port});
    std::this_thread::sleep_for(i * std::chrono::milliseconds(20));
    report = nlohmann::json::parse(
        output_of_client({"iperf3", "--client", "127.0.0.1", "--port", port, "--json", "--bytes",
                          fmt::format("{:.0f}", stream.bytes()), "--length",
                          std::to_string(std::min(stream.piece_bytes, std::size_t{1} << 20))}));
    const nlohmann::json end = report.value("end", nlohmann::json::object());
    if (end.contains("sum_received")) {
      return end["sum_received"].at("bits_per_second").get<double>() / 8e9;
    }
  }
  throw std::runtime_error("iperf3 says: " + report.value("error", "nothing of what was received"));
}

// `transports`: as UCX_TLS takes them.
double ucx_perftest(const Stream& stream, const std::string& transports) {
  const std::vector<std::string> server_words{
      "env", "UCX_TLS=" + transports,    "UCX_NET_DEVICES=lo", "ucx_perftest",
      "-p",  std::to_string(free_port())};
  const Child server(server_words);
  std::vector<std::string> words = server_words;
  words.insert(words.end(), {"127.0.0.1", "-t", "tag_bw", "-s", std::to_string(stream.piece_bytes),
                             "-n", std::to_string(stream.pieces), "-w", "1", "-f", "-v"});
  // The line of figures has the overall bandwidth in MiB/s as its sixth.
  std::istringstream lines(output_of_client(words));
  double mib_per_s = 0;
  for (std::string line; std::getline(lines, line);) {
    std::sscanf(line.c_str(), "%*f,%*f,%*f,%*f,%*f,%lf", &mib_per_s);
  }
  if (mib_per_s <= 0) throw std::runtime_error("ucx_perftest printed no figures");
  return mib_per_s * 0x1p20 / 1e9;
}

// One way to move bytes.
struct Engine {
  std::string name;
  std::function<double(const Stream&)> gb_per_s;
  std::string program = {};               // that may be missing
  std::string package = {};               // which has it
  std::optional<std::size_t> floor = {};  // the engine that the ratio compares with
  std::array<std::vector<double>, sizes.size()> measured = {};

  bool is_there() const { return program.empty() || is_installed(program); }
};

double gb_per_s(const Stream& stream, double seconds) {
  return stream.bytes() / 1e9 / seconds;
}

// A plain TCP connection to a process that takes all.
class RawPeer {
 public:
  RawPeer() : process_({"/proc/self/exe", "--serve", std::to_string(raw_.port())}) {
    raw_.accept_one();
  }
  double seconds(const Stream& stream, Pool& from) { return raw_.stream(stream, from); }

 private:
  RawTcp raw_;
  Child process_;
};

std::vector<Engine> measure(int repetitions) {
  Pool from(bytes_of_round);
  Pool to(bytes_of_round);
  RawPeer raw;
  TroupeNodes tcp(false);
  TroupeNodes shared_memory(true);
  std::vector<Engine> engines{
      {.name = "raw TCP",
       .gb_per_s = [&](const Stream& s) { return gb_per_s(s, raw.seconds(s, from)); }},
      {.name = "iperf3", .gb_per_s = iperf3, .program = "iperf3", .package = "iperf3", .floor = 0},
      {.name = "ucx_perftest, TCP",
       .gb_per_s = [](const Stream& s) { return ucx_perftest(s, "tcp"); },
       .program = "ucx_perftest",
       .package = "ucx-utils",
       .floor = 0},
      {.name = "troupe, TCP",
       .gb_per_s = [&](const Stream& s) { return gb_per_s(s, tcp.seconds(s)); },
       .floor = 0},
      {.name = "memcpy",
       .gb_per_s = [&](const Stream& s) { return gb_per_s(s, copy(s, from, to)); }},
      {.name = "ucx_perftest, shared memory",
       .gb_per_s = [](const Stream& s) { return ucx_perftest(s, "sm"); },
       .program = "ucx_perftest",
       .package = "ucx-utils",
       .floor = 4},
      {.name = "process_vm_readv",
       .gb_per_s = [&](const Stream& s) { return gb_per_s(s, copy_by_kernel(s, from, to)); },
       .floor = 4},
      {.name = "troupe, shared memory",
       .gb_per_s = [&](const Stream& s) { return gb_per_s(s, shared_memory.seconds(s)); },
       .floor = 4},
  };
  for (const Engine& engine : engines) {
    if (engine.is_there()) continue;
    fmt::print(stderr, "tensor_bench: {} is absent: install {}\n", engine.name, engine.package);
  }
  // The first round touches memory and connects.
  for (int round = 0; round <= repetitions; ++round) {
    for (Engine& engine : engines) {
      if (!engine.is_there()) continue;
      // The kernel may have taken memory back that was idle for as long as the others took.
      engine.gb_per_s(stream_of(sizes.front()));
      for (std::size_t s = 0; s < sizes.size(); ++s) {
        const double value = engine.gb_per_s(stream_of(sizes[s]));
        if (round > 0) engine.measured[s].push_back(value);
      }
    }
  }
  return engines;
}

void print(const std::vector<Engine>& engines, int repetitions) {
  fmt::print("{:<28}", "GB/s");
  for (const Size& size : sizes) fmt::print("{:>15}", size.name);
  for (const Engine& engine : engines) {
    fmt::print("\n{:<28}", engine.name);
    for (std::size_t s = 0; s < sizes.size(); ++s) {
      if (engine.measured[s].empty()) {
        fmt::print("{:>15}", "-");
        continue;
      }
      const double value = bench::median(engine.measured[s]);
      fmt::print("{:>15}",
                 engine.floor
                     ? fmt::format("{:.2f} ({:.2f})", value,
                                   value / bench::median(engines[*engine.floor].measured[s]))
                     : fmt::format("{:.2f}       ", value));
    }
  }
  fmt::print("\nMedians of {}. In brackets: the ratio to raw TCP, or to memcpy.\n", repetitions);
}

// The other end of a RawPeer.
void serve(int port) {
  Pool to(bytes_of_round);
  RawTcp(port).serve(to);
}

}  // namespace

int main(int argc, char** argv) {
  int repetitions = 7;
  int port = 0;
  CLI::App app("Measures how fast tensors get from one node to another, beside plain copies.");
  app.add_option("--repetitions", repetitions, "rounds; medians are shown")
      ->check(CLI::PositiveNumber);
  app.add_option("--serve", port)->group("");
  CLI11_PARSE(app, argc, argv);
  try {
    if (port != 0) {
      serve(port);
      return 0;
    }
    print(measure(repetitions), repetitions);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "tensor_bench: {}\n", error.what());
    return 1;
  }
}
