// network_bench: a Wire over TCP and one over shared memory, between two processes of this host,
// beside a plain TCP connection and memcpy. They are measured in turns, and medians are
// shown. Whoever waits spins, so there should be a core for each process.
#include "bench/child.hpp"
#include "bench/median.hpp"
#include "bench/network/raw.hpp"
#include "bench/network/wire_end.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <functional>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace {

using namespace network_bench;
using troupe::bench::median;

constexpr std::size_t pool_bytes = std::size_t{256} << 20;
constexpr std::size_t stream_bytes = std::size_t{64} << 20;

struct StreamTest {
  std::string_view name;
  std::size_t piece_bytes = 0;
  std::uint64_t in_flight = 0;  // pieces, over a Wire
};
constexpr std::array<StreamTest, 4> stream_tests{{
    {.name = "64 KiB, 8 in flight", .piece_bytes = std::size_t{64} << 10, .in_flight = 8},
    {.name = "1 MiB, 1 in flight", .piece_bytes = std::size_t{1} << 20, .in_flight = 1},
    {.name = "1 MiB, 2 in flight", .piece_bytes = std::size_t{1} << 20, .in_flight = 2},
    {.name = "1 MiB, 4 in flight", .piece_bytes = std::size_t{1} << 20, .in_flight = 4},
}};

// Of round trips. A round has fewer of those that take long.
enum class Beside : std::uint8_t { nothing, sleep, stream };
struct TripTest {
  std::string_view name;
  Beside beside;
  std::size_t part = 1;
};
constexpr std::array<TripTest, 3> trip_tests{{
    {.name = "64 B and back, µs", .beside = Beside::nothing},
    {.name = "- both asleep before, µs", .beside = Beside::sleep, .part = 20},
    {.name = "- beside 4 × 1 MiB, µs", .beside = Beside::stream, .part = 5},
}};

double at_share(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

// One way to move bytes; a value for each repetition.
struct Engine {
  std::string name;
  std::function<RoundTrips(Beside, std::size_t)> round_trips;  // none: not measured
  std::function<double(Stream, std::uint64_t in_flight)> stream;
  struct Trips {
    std::vector<double> median_us;
    std::vector<double> p99_us;
  };
  std::array<Trips, trip_tests.size()> trips{};
  std::array<std::vector<double>, stream_tests.size()> gb_per_s{};

  void measure(std::size_t count) {
    for (std::size_t t = 0; t < trip_tests.size(); ++t) {
      std::vector<double> us;
      const std::size_t of_test = std::max<std::size_t>(1, count / trip_tests[t].part);
      for (const std::int64_t ns : round_trips(trip_tests[t].beside, of_test)) {
        us.push_back(static_cast<double>(ns) / 1e3);
      }
      if (us.empty()) continue;
      trips[t].median_us.push_back(median(us));
      trips[t].p99_us.push_back(at_share(us, 0.99));
    }
    for (std::size_t t = 0; t < stream_tests.size(); ++t) {
      const StreamTest& test = stream_tests[t];
      const Stream whole{.piece_bytes = test.piece_bytes,
                         .pieces = stream_bytes / test.piece_bytes};
      gb_per_s[t].push_back(whole.bytes() / 1e9 / stream(whole, test.in_flight));
    }
  }
};

struct Options {
  int repetitions = 7;
  std::size_t round_trips = 5000;
  double spin_us = 20;
  std::string json;
  std::vector<std::string> serve;  // as the other process: what is needed to connect

  troupe::Duration spin() const { return troupe::from_seconds(spin_us * 1e-6); }
};

// The two Wires of a process.
struct Wires {
  Wires(std::uint32_t node, const Options& options, Pool& pool)
      : tcp(node, Transport::tcp, options.spin(), pool),
        shared_memory(node, Transport::shared_memory, options.spin(), pool) {}
  void connect(std::uint32_t node, const std::string& tcp_address, const std::string& address) {
    tcp.wire().connect(NodeId{node}, tcp_address);
    shared_memory.wire().connect(NodeId{node}, address);
  }
  WireEnd tcp;
  WireEnd shared_memory;
};

// The other process; its standard output goes to the first one.
int serve(const Options& options) {
  Pool pool(pool_bytes);
  Wires wires(1, options, pool);
  wires.connect(0, options.serve[1], options.serve[2]);
  std::cout << wires.tcp.wire().address() << '\n'
            << wires.shared_memory.wire().address() << std::endl;
  RawTcp raw(std::stoi(options.serve[0]));
  raw.serve(pool);
  return 0;
}

Engine engine_of(std::string name, WireEnd& end) {
  return {.name = std::move(name),
          .round_trips =
              [&end](Beside beside, std::size_t count) {
                switch (beside) {
                  case Beside::sleep:
                    return end.round_trips_of_sleepers(count);
                  case Beside::stream:
                    return end.round_trips_beside_stream(count, std::size_t{1} << 20, 4);
                  default:
                    return end.round_trips(count);
                }
              },
          .stream = [&end](Stream s, std::uint64_t n) { return end.stream(s, n); }};
}

std::vector<Engine> measure(const Options& options) {
  Pool from(pool_bytes);
  Pool to(pool_bytes);
  auto raw = std::make_unique<RawTcp>();
  Wires wires(0, options, from);
  troupe::bench::Child other({"/proc/self/exe", "--spin-us", std::to_string(options.spin_us),
                              "--serve", std::to_string(raw->port()), wires.tcp.wire().address(),
                              wires.shared_memory.wire().address()});
  const std::string tcp_address = other.line();
  wires.connect(1, tcp_address, other.line());
  raw->accept_one();
  std::vector<Engine> engines{
      {.name = "memcpy",
       .round_trips = [](Beside, std::size_t) { return RoundTrips{}; },
       .stream = [&](Stream s, std::uint64_t) { return copy(s, from, to); }},
      {.name = "raw TCP",
       .round_trips =
           [&](Beside beside, std::size_t count) {
             return beside == Beside::nothing ? raw->round_trips(count) : RoundTrips{};
           },
       .stream = [&](Stream s, std::uint64_t) { return raw->stream(s, from); }},
      engine_of("Wire, TCP", wires.tcp),
      engine_of("Wire, shared memory", wires.shared_memory)};
  for (Engine& engine : engines) {  // touches memory, and connects
    Engine warm_up = engine;
    warm_up.measure(100);
  }
  for (int i = 0; i < options.repetitions; ++i) {
    for (Engine& engine : engines) engine.measure(options.round_trips);
  }
  raw.reset();  // which ends the other process
  const std::string said = other.output();
  if (!other.has_succeeded()) throw std::runtime_error("the other process failed:\n" + said);
  return engines;
}

void print(const std::vector<Engine>& engines) {
  fmt::print("{:<24}", "");
  for (const Engine& engine : engines) fmt::print("{:>20}", engine.name);
  for (std::size_t t = 0; t < trip_tests.size(); ++t) {
    fmt::print("\n{:<24}", trip_tests[t].name);
    for (const Engine& engine : engines) {
      const auto& [median_us, p99_us] = engine.trips[t];
      fmt::print("{:>20}", median_us.empty() ? "-"
                                             : fmt::format("{:.1f} (p99 {:.1f})", median(median_us),
                                                           median(p99_us)));
    }
  }
  for (std::size_t t = 0; t < stream_tests.size(); ++t) {
    fmt::print("\n{:<24}", fmt::format("{}, GB/s", stream_tests[t].name));
    for (std::size_t e = 0; e < engines.size(); ++e) {
      const double value = median(engines[e].gb_per_s[t]);
      // A Wire is compared with what it is made of: TCP with TCP, memory with memory.
      const bool is_wire = e >= 2;
      fmt::print("{:>20}", is_wire ? fmt::format("{:.2f} ({:.2f})", value,
                                                 value / median(engines[3 - e].gb_per_s[t]))
                                   : fmt::format("{:.2f}", value));
    }
  }
  fmt::print("\nIn brackets: the ratio to raw TCP, or to memcpy.\n");
}

void write_json(const std::vector<Engine>& engines, const std::string& path) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Engine& engine : engines) {
    nlohmann::ordered_json row{{"engine", engine.name}};
    for (std::size_t t = 0; t < trip_tests.size(); ++t) {
      row["median_us"][std::string(trip_tests[t].name)] = engine.trips[t].median_us;
      row["p99_us"][std::string(trip_tests[t].name)] = engine.trips[t].p99_us;
    }
    for (std::size_t t = 0; t < stream_tests.size(); ++t) {
      row["gb_per_s"][std::string(stream_tests[t].name)] = engine.gb_per_s[t];
    }
    list.push_back(row);
  }
  std::ofstream(path) << list.dump(2) << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Measures how fast tensors get from one process to another.");
  app.add_option("--repetitions", options.repetitions, "rounds; medians are shown")
      ->check(CLI::PositiveNumber);
  app.add_option("--round-trips", options.round_trips, "messages of a round")
      ->check(CLI::PositiveNumber);
  app.add_option("--spin-us", options.spin_us, "how long a Wire's thread spins before it sleeps")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--json", options.json, "writes every figure to this file");
  app.add_option("--serve", options.serve)->expected(3)->group("");
  CLI11_PARSE(app, argc, argv);
  try {
    if (!options.serve.empty()) return serve(options);
    const std::vector<Engine> engines = measure(options);
    print(engines);
    if (!options.json.empty()) write_json(engines, options.json);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "network_bench: {}\n", error.what());
    return 1;
  }
}
