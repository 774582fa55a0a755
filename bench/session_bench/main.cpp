// What the session costs: appending a call, a call that is waited for, a million small products
// beside the same graph built and run as a whole, and the memory of a long loop.
#include "actors/runner.hpp"
#include "actors/session.hpp"
#include "actors/tensor_ops.hpp"
#include "bench/median.hpp"
#include "core/machine/discover.hpp"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>

using namespace troupe;

namespace {

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// The median of `repetitions` calls.
double median(int repetitions, const std::function<double()>& measure) {
  std::vector<double> times;
  for (int i = 0; i < repetitions; ++i) times.push_back(measure());
  return bench::median(times);
}

// One memory, so that no copies are needed.
Machine two_devices() {
  const HostInfo host = discover_host();
  Machine machine{.name = "session_bench", .devices = {}, .memories = {}, .links = {}};
  machine.memories.push_back({.name = "host", .size_bytes = host.available_memory_bytes / 2});
  for (std::size_t d = 0; d < 2; ++d) {
    machine.devices.push_back({.name = "cpu" + std::to_string(d),
                               .memory = MemoryId{0},
                               .flops = 16e9,
                               .cores = {host.cores[d % host.cores.size()]}});
  }
  return machine;
}

std::uint64_t resident_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::stoull(line.substr(6));
  }
  return 0;
}

// The time that callers spend in calls, in bursts that are waited for: a caller that is faster than
// the devices would else wait for them in its calls.
double append_ns(int threads) {
  constexpr int bursts = 100;
  constexpr int calls = 5'000;
  Session session(two_devices());
  const Tensor x = session.zeros({1});
  session.wait_all();
  std::vector<double> times(static_cast<std::size_t>(threads));
  for (int b = 0; b < bursts; ++b) {
    std::vector<std::thread> callers;
    for (double& time : times) {
      callers.emplace_back([&] {
        const DeviceScope on = session.on("cpu0");
        time += seconds_of([&] {
          for (int i = 0; i < calls; ++i) relu(x);
        });
      });
    }
    for (std::thread& caller : callers) caller.join();
    session.wait_all();
  }
  return 1e9 * *std::max_element(times.begin(), times.end()) / (bursts * calls);
}

// The median time from a call, of an op that takes next to nothing, until its tensor is there. The
// program pauses before each call.
double wait_us(std::chrono::microseconds pause) {
  constexpr int calls = 1'000;
  Session session(two_devices());
  const Tensor x = session.zeros({1});
  session.wait_all();
  const DeviceScope on = session.on("cpu0");
  return 1e6 * median(calls, [&] {
           if (pause.count() > 0) std::this_thread::sleep_for(pause);
           return seconds_of([&] { relu(x).wait(); });
         });
}

constexpr int products = 1'000'000;

double products_of_session() {
  return seconds_of([] {
    Session session(two_devices());
    const DeviceScope on = session.on("cpu0");
    const Tensor x = session.uniform({8, 8});
    for (int i = 0; i < products; ++i) {
      const DeviceScope place = session.on(i % 2 == 0 ? "cpu0" : "cpu1");
      matmul(x, x);
    }
    session.wait_all();
  });
}

double products_of_graph() {
  return seconds_of([] {
    const Machine machine = two_devices();
    Graph graph;
    graph.begin_group("x");
    const OpId x = graph.append({.kind = graph.kinds().find("uniform"),
                                 .placement = {.device = DeviceId{0}},
                                 .declared = {.shape = {8, 8}}});
    const GroupId run = graph.begin_group("run", true);
    const OpTemplateId product[] = {graph.add_template({.kind = graph.kinds().find("matmul"),
                                                        .placement = {.device = DeviceId{0}}}),
                                    graph.add_template({.kind = graph.kinds().find("matmul"),
                                                        .placement = {.device = DeviceId{1}}})};
    const OpId inputs[] = {x, x};
    for (int i = 0; i < products; ++i) graph.append(product[i % 2], inputs);
    const std::vector<Scenario> all{{.name = "all", .steps = {Step{.group = run}}}};
    Run(machine, graph, all, {.verify = false, .keep_timeline = false}).perform();
  });
}

void long_loop(int calls) {
  Session session(two_devices());
  std::vector<Tensor> live;
  for (int i = 0; i < 100; ++i) live.push_back(session.zeros({16}));
  session.wait_all();
  const std::uint64_t before = resident_kib();
  std::uint64_t peak = 0;
  const double time = seconds_of([&] {
    for (int i = 0; i < calls; ++i) {
      // The first half is read for ever, the second half is replaced again and again.
      const auto place = static_cast<std::size_t>(50 + i % 50);
      live[place] = live[place] + live[static_cast<std::size_t>(i % 50)];
      if (i % 100'000 == 0) peak = std::max(peak, resident_kib());
    }
    session.wait_all();
  });
  peak = std::max(peak, resident_kib());
  fmt::print("{} million ops, 100 tensors live: {:.1f} s, {:.1f} MiB more than before\n",
             calls / 1'000'000, time, static_cast<double>(peak - std::min(peak, before)) / 1024);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "all";
  constexpr std::string_view parts[] = {"all", "append", "wait", "products", "loop"};
  if (argc > 2 || std::ranges::find(parts, what) == std::end(parts)) {
    fmt::print(stderr, "usage: session_bench [{}]\n", fmt::join(parts, "|"));
    return 2;
  }
  const bool all = what == "all";
  if (all || what == "append") {
    fmt::print("append, 1 thread:  {:.0f} ns a call\n", median(5, [] { return append_ns(1); }));
    fmt::print("append, 2 threads: {:.0f} ns a call\n", median(5, [] { return append_ns(2); }));
  }
  if (all || what == "wait") {
    for (const int pause_us : {0, 200, 5'000}) {
      fmt::print("call and wait, {:>4} us after the last: {:.0f} us\n", pause_us,
                 wait_us(std::chrono::microseconds(pause_us)));
    }
  }
  if (all || what == "products") {
    std::vector<double> session;
    std::vector<double> graph;
    std::vector<double> ratios;
    for (int i = 0; i < 5; ++i) {
      if (i % 2 == 0) session.push_back(products_of_session());
      graph.push_back(products_of_graph());
      if (i % 2 == 1) session.push_back(products_of_session());
      ratios.push_back(session.back() / graph.back());
    }
    fmt::print(
        "a million 8 x 8 products on 2 devices: session {:.3f} s, graph {:.3f} s, ratio {:.2f}; "
        "medians of 5\n",
        bench::median(session), bench::median(graph), bench::median(ratios));
  }
  if (all || what == "loop") long_loop(10'000'000);
}
