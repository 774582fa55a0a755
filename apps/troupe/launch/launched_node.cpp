#include "apps/troupe/launch/launched_node.hpp"

#include "core/base/error.hpp"

#include <csignal>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>

namespace troupe {
namespace {

std::vector<int> numbers_in(const cpu_set_t& set) {
  std::vector<int> numbers;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) numbers.push_back(core);
  }
  return numbers;
}

// Leaves the cores to which a launcher has bound this process, unless ranks would share them.
void take_part_of_cores(const Rank& rank) {
  cpu_set_t bound;
  cpu_set_t all;
  CPU_ZERO(&bound);
  if (rank.count_here == 1 || sched_getaffinity(0, sizeof bound, &bound) != 0) return;
  for (std::size_t core = 0; core < CPU_SETSIZE; ++core) CPU_SET(core, &all);
  sched_setaffinity(0, sizeof all, &all);
  sched_getaffinity(0, sizeof all, &all);  // those that this process may use
  const std::vector<int> cores = numbers_in(all);
  const bool are_shared = numbers_in(bound).size() * rank.count_here > cores.size();
  const cpu_set_t own =
      are_shared ? part_of_cores(cores, rank.number_here, rank.count_here) : bound;
  sched_setaffinity(0, sizeof own, &own);
}

// The IPv4 address of this network interface; empty: of the first that others may reach.
std::string address_of(const std::string& interface) {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) list = nullptr;
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> all(list, &freeifaddrs);
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
    const bool is_wanted = interface.empty() ? (one->ifa_flags & (IFF_UP | IFF_LOOPBACK)) == IFF_UP
                                             : interface == one->ifa_name;
    if (!is_wanted) continue;
    char text[INET_ADDRSTRLEN];
    const in_addr at = reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr;
    return inet_ntop(AF_INET, &at, text, sizeof text);
  }
  throw usage_error(interface.empty()
                        ? "this host has no network interface that other hosts could reach"
                        : fmt::format("there is no network interface '{}' with an IPv4 address "
                                      "on this host",
                                      interface),
                    "name one with --interface: `ip -4 address` lists them");
}

}  // namespace

Duration patience_with_ranks(const RunArguments& arguments) {
  return from_seconds(60 + 5 * arguments.connect_timeout_s);
}

LocalNodes start_launched_node(const Launch& launch, const RunArguments& arguments) {
  const Rank rank = launch.rank();
  const bool is_one_host = rank.count == rank.count_here;
  if (!is_one_host && !arguments.tls.are_given() && !arguments.trust_network) {
    throw usage_error(
        "the ranks are on several hosts, and what goes between them would be neither encrypted "
        "nor authenticated",
        "give --tls-cert, --tls-key and --tls-ca (`troupe node --make-certs DIR` makes them); or, "
        "where the network is closed or encrypted by other means, add --trust-network");
  }
  if (!arguments.interface.empty() && launch.port() != 0) {
    throw usage_error("--interface: a plain srun tells others the names of hosts only",
                      "use srun --mpi=pmix, or leave it out");
  }
  take_part_of_cores(rank);
  const std::string host = is_one_host ? "127.0.0.1" : address_of(arguments.interface);
  std::vector<std::string> more = {"--leader-timeout",
                                   fmt::format("{}", seconds(patience_with_ranks(arguments)))};
  if (arguments.trust_network) more.emplace_back("--trust-network");
  if (arguments.tls.are_given()) {
    more.insert(more.end(), {"--tls-cert", arguments.tls.certificate, "--tls-key",
                             arguments.tls.key, "--tls-ca", arguments.tls.authority});
  }
  return LocalNodes({.count = 1,
                     .first = static_cast<std::size_t>(rank.number),
                     .ops = arguments.ops,
                     .start_timeout = patience_with_ranks(arguments),
                     .node_timeout_s = arguments.node_timeout_s,
                     .listen = fmt::format("{}:{}", host, launch.port()),
                     .memory_share = 1.0 / static_cast<double>(rank.count_here),
                     .more = more});
}

int serve_launched_node(LocalNodes& node) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, SIG_IGN);
  return node.wait() ? exit_done : exit_failed;
}

}  // namespace troupe
