#include "actors/session/open_session.hpp"

#include "actors/nodes/cluster.hpp"
#include "actors/run_setting.hpp"
#include "core/base/error.hpp"
#include "core/base/suggest.hpp"
#include "core/base/text.hpp"
#include "core/machine/discover.hpp"
#include "core/machine/fit.hpp"
#include "core/network/host_port.hpp"
#include "core/ops/registry.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace troupe {
namespace {

// Functions such as matmul() know kinds by their place among the built-in ones.
void check_begins_with_builtin(const OpRegistry& ops) {
  const std::vector<std::string_view> builtin = builtin_ops().names();
  const std::vector<std::string_view> names = ops.names();
  const auto [missing, other] = std::ranges::mismatch(builtin, names);
  if (missing == builtin.end()) return;
  throw usage_error(
      fmt::format("the op kinds of the session don't begin with those of builtin_ops(): '{}' "
                  "is missing or elsewhere",
                  *missing),
      "make the registry from a copy: `OpRegistry ops = builtin_ops();`, then add to it");
}

// Of a machine that a program has made, one that no op kind has is misspelt. A file may be meant
// for several programs, and was checked when it was read.
void check_rated_kinds(const Machine& machine, const OpRegistry& ops) {
  for (const Device& device : machine.devices) {
    if (!device.place.file.empty()) continue;
    for (const auto& [kind, rate] : device.op_flops) {
      if (ops.find(kind)) continue;
      throw usage_error(
          device.place,
          fmt::format("the device '{}' has a rate for '{}', which is no op kind of the session",
                      device.name, kind),
          suggestion(kind, ops.names()));
    }
  }
}

// What the variable lists. Throws a usage Error if an address is missing between commas.
std::vector<std::string> addresses_in(std::string_view variable) {
  if (trimmed(variable).empty()) return {};
  std::vector<std::string> addresses = split_addresses(variable);
  if (std::ranges::find(addresses, "") != addresses.end()) {
    throw usage_error(
        fmt::format("{}='{}' lacks an address beside a comma", nodes_variable, variable),
        "write HOST:PORT,HOST:PORT");
  }
  return addresses;
}

// The nodes that the environment names, if the session takes them.
std::vector<std::string> nodes_of_environment(const SessionOptions& options,
                                              const Machine* machine) {
  const char* const named = std::getenv(nodes_variable);
  const bool is_of_nodes = machine == nullptr || !machine->nodes.empty();
  if (named == nullptr || !options.node_addresses.empty() || !is_of_nodes ||
      has_virtual_time(options.mode)) {
    return {};
  }
  return addresses_in(named);
}

// How the environment has tensors go between the nodes that it names. Throws a usage Error.
bool environment_shares_memory() {
  const char* const named = std::getenv(transport_variable);
  const std::string_view transport = named != nullptr ? named : "";
  if (transport.empty() || transport == "tcp") return false;
  if (transport == "shared-memory") return true;
  throw usage_error(fmt::format("{}='{}' is no transport", transport_variable, transport),
                    "write tcp or shared-memory");
}

// What the options say of nodes, other than which these are. Empty: nothing.
std::string_view said_of_nodes(const SessionOptions& options) {
  if (options.tls.are_given()) return "tls";
  if (options.node_gpus) return "node_gpus";
  return options.node_shared_memory ? "node_shared_memory" : "";
}

// `named`: the nodes of the environment; else those of the options. Null: it has no nodes.
std::unique_ptr<Cluster> cluster_of(const SessionOptions& options,
                                    const std::vector<std::string>& named, const OpRegistry& ops) {
  const std::vector<std::string>& addresses = named.empty() ? options.node_addresses : named;
  const bool uses_tls = options.tls.are_given();
  if (uses_tls && !options.tls.are_complete()) {
    throw usage_error("TLS needs a certificate, its key, and the certificates of an authority",
                      "give all three of `tls`, or none");
  }
  if (addresses.empty()) {
    const std::string_view said = said_of_nodes(options);
    if (said.empty()) return nullptr;
    throw usage_error(fmt::format("the session has `{}`, and no nodes", said),
                      "name nodes in `node_addresses`, or leave it out");
  }
  if (has_virtual_time(options.mode)) {
    throw usage_error("a simulation runs on no nodes",
                      "leave them out, or make the session with Mode::run");
  }
  ClusterOptions nodes{.addresses = addresses,
                       .allows_other_kinds = true,
                       .uses_shared_memory = options.node_shared_memory ||
                                             (!named.empty() && environment_shares_memory())};
  if (uses_tls) nodes.tls = TlsContext(options.tls);
  try {
    return std::make_unique<Cluster>(ops, nodes);
  } catch (const Error& error) {
    if (named.empty()) throw;
    throw Error(error.kind(), error.place(),
                fmt::format("{} (from {})", error.problem(), nodes_variable), error.remedy());
  }
}

}  // namespace

SessionCore* open_session(std::optional<Machine> machine, const SessionOptions& options,
                          CallSite where) try {
  check_begins_with_builtin(options.ops);
  SessionHost host(options.ops);
  host.cluster =
      cluster_of(options, nodes_of_environment(options, machine ? &*machine : nullptr), *host.ops);
  const bool is_given = machine.has_value();
  if (is_given) {
    check_machine(*machine);
    check_rated_kinds(*machine, options.ops);
  }
  if (host.cluster == nullptr) {
    host.machine = machine ? std::move(*machine) : local_machine(discover_host(), {});
  } else if (!machine) {
    if (options.node_gpus) host.cluster->add_gpus();
    host.machine = host.cluster->machine();
    host.cluster->complete(host.machine);
  } else {
    host.machine = std::move(*machine);
    limit_to_nodes(host.machine, host.cluster->machine());
    host.cluster->complete(host.machine);
    host.cluster->check(host.machine);
  }
  if (host.cluster == nullptr && host.machine.nodes.size() > 1 && !has_virtual_time(options.mode)) {
    throw usage_error(
        fmt::format("'{}' has {} nodes, and the session none", host.machine.name,
                    host.machine.nodes.size()),
        "name them: {.node_addresses = {\"HOST:PORT\", …}} or TROUPE_NODES; or simulate "
        "with {.mode = Mode::simulate}");
  }
  if (host.cluster == nullptr && is_given) complete_machine(options.mode, host.machine);
  return new SessionCore(std::move(host), options.mode, options.seed);
} catch (const Error& error) {
  throw error.at(where.place());
}

}  // namespace troupe
