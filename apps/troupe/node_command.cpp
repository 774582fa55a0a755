#include "actors/nodes/node_server.hpp"
#include "apps/troupe/command_parts.hpp"
#include "apps/troupe/commands.hpp"
#include "apps/troupe/interrupts.hpp"
#include "apps/troupe/print_error.hpp"
#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/base/units.hpp"
#include "core/machine/discover.hpp"
#include "core/network/host_port.hpp"
#include "core/network/make_certificates.hpp"

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace troupe {
namespace {

int make_certificates_command(const std::string& folder) {
  make_certificates(folder);
  print(fmt::format(
      "made ca.pem, node.pem and node.key in {0}: copy them to all nodes and to the leader, and "
      "give them --tls-cert {0}/node.pem --tls-key {0}/node.key --tls-ca {0}/ca.pem\n",
      visible(folder)));
  return exit_done;
}

// Says which connections were refused, one a second at most.
class RefusalLog {
 public:
  // Thread-safe.
  void add(const std::string& peer, const std::string& cause) {
    const std::lock_guard lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) {
      ++unsaid_;
      return;
    }
    next_ = now + std::chrono::seconds(1);
    print_error("troupe: refused a connection from {}: {}{}", peer, cause,
                unsaid_ == 0 ? "" : fmt::format(" (and {} before)", std::exchange(unsaid_, 0)));
  }

 private:
  std::mutex mutex_;
  std::chrono::steady_clock::time_point next_;
  std::uint64_t unsaid_ = 0;
};

// "cpu0 with 2 cores, mem0 with 13 GB, no GPUs"
std::string what_it_lends(const Machine& machine, bool lends_gpus) {
  std::vector<std::string> parts;
  for (const Device& device : machine.devices) {
    const std::string streams =
        device.streams > 1 ? fmt::format(" and {} streams", device.streams) : "";
    parts.push_back(fmt::format("{} with {}{}", device.name,
                                format_count(device.cores.size(), "core"), streams));
  }
  for (const Memory& memory : machine.memories) {
    parts.push_back(fmt::format("{} with {}", memory.name, format_bytes(memory.size_bytes)));
  }
  const std::vector<std::string> gpus = discover_host().gpus;
  parts.push_back(!lends_gpus || gpus.empty()
                      ? "no GPUs"
                      : fmt::format("and to runs that ask for GPUs: {}", fmt::join(gpus, ", ")));
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

int node_command(const NodeArguments& arguments) {
  if (!arguments.make_certificates.empty()) {
    return make_certificates_command(arguments.make_certificates);
  }
  const OpRegistry ops = ops_with(arguments.ops);
  const HostPort at = read_host_port(arguments.listen);
  RefusalLog refusals;
  NodeServer server(
      ops, {.host = at.host,
            .port = at.port,
            .name = arguments.name,
            .once = arguments.once,
            .machine = {.cpu_devices = arguments.devices,
                        .storage = arguments.storage,
                        .streams = arguments.streams},
            .lends_gpus = !arguments.no_gpus,
            .memory_share = arguments.memory_share,
            .node_timeout = from_seconds(arguments.node_timeout_s),
            .tls = tls_context(arguments.tls),
            .trusts_network = arguments.trust_network,
            .on_refused = [&refusals](const std::string& peer,
                                      const std::string& cause) { refusals.add(peer, cause); },
            .on_leader_lost =
                [](const std::string& name) {
                  print_error(
                      "troupe: lost the leader ({}): it was killed, is silent, or has given this "
                      "node up; what it had begun ends",
                      name);
                }});
  const char* const safety = !arguments.tls.are_given() ? ""
                             : server.uses_tls_for_tensors()
                                 ? ", with TLS; tensors go over TLS, too, slower than without"
                                 : ", with TLS; tensors go without, which is faster";
  // At once: who has started it may close the pipe behind the first line.
  print(fmt::format("listening on {}:{}{}\nlends {}\n", at.host, server.port(), safety,
                    what_it_lends(server.machine(), !arguments.no_gpus)));
  catch_interrupts();
  const auto begun = std::chrono::steady_clock::now();
  const Duration patience = from_seconds(arguments.leader_timeout_s);
  while (!interrupted() && !server.wait(std::chrono::milliseconds(50))) {
    if (patience == Duration::zero() || server.has_had_leader()) continue;
    if (std::chrono::steady_clock::now() - begun < patience) continue;
    throw run_error(fmt::format("no leader has come for {}", format_duration(patience)),
                    "see why the run has not begun");
  }
  const bool has_failed = arguments.once && server.has_lost_leader();
  leave(has_failed ? exit_failed : exit_done);  // kernels may be under way: nobody waits for them
}

}  // namespace troupe
