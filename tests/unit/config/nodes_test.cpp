// Machine files with several nodes.
#include "core/config/machine_file.hpp"
#include "core/machine/route.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/unit/config/temporary_files.hpp"

#include <string>
#include <string_view>

#include <boost/test/unit_test.hpp>

using namespace troupe;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(nodes)
namespace {

constexpr std::string_view one_gpu = R"(
devices:
  cpu: {kind: cpu, memory: host, flops: 50 GFLOP/s}
  gpu: {kind: gpu, memory: vram, flops: 1 TFLOP/s}
memories: {vram: {size: 1 GiB}, host: {size: 2 GiB}, disk: {kind: storage, size: 1 TB}}
links: {pcie: {between: [host, vram], bandwidth: 10 GB/s}}
)";

Machine load(std::string_view text) {
  const TemporaryFiles files;
  files.write("one-gpu.yaml", one_gpu);
  return load_machine_file(files.write("cluster.yaml", text));
}

std::size_t hops(const Machine& machine, std::string_view from, std::string_view to) {
  Router router(machine);
  const Route* const route = router.route(machine.find_memory(from), machine.find_memory(to));
  BOOST_REQUIRE(route != nullptr);
  return route->size();
}

}  // namespace

BOOST_AUTO_TEST_CASE(each_node_has_the_parts_of_its_machine_under_its_name) {
  const Machine m = load(R"(
nodes:
  n: {count: 3, machine: one-gpu.yaml}
  store: {devices: {cpu: {kind: cpu, memory: host}}, memories: {host: {size: 1 GiB}}}
network: {bandwidth: 5 GB/s, latency: 4 us, chunk: 1 MiB}
)");
  BOOST_TEST(m.nodes == (std::vector<std::string>{"n0", "n1", "n2", "store"}),
             boost::test_tools::per_element());
  BOOST_TEST(m.devices.size() == 7U);
  const Device& gpu = m.device(m.find_device("n1.gpu"));
  BOOST_TEST(m.memory(gpu.memory).name == "n1.vram");
  BOOST_TEST((gpu.node == NodeId{1}));
  BOOST_TEST(gpu.flops.value() == 1e12);
  BOOST_TEST((m.memory(m.find_memory("store.host")).node == NodeId{3}));
  const Link& pcie = m.link(m.find_link("n2.pcie"));
  BOOST_TEST(m.memory(pcie.a).name == "n2.host");
  BOOST_TEST(m.memory(pcie.b).name == "n2.vram");
  const Link& network = m.link(m.find_link("n2.network"));
  BOOST_TEST(m.memory(network.a).name == "n2.host");
  BOOST_TEST((m.memory(network.b).kind == MemoryKind::network));
  BOOST_TEST((network.node == NodeId{2}));
  BOOST_TEST(network.bandwidth[0] == 5e9);
  BOOST_TEST(network.bandwidth[1] == 5e9);
  BOOST_TEST((network.latency == 2us));
  BOOST_TEST(network.chunk_bytes == std::uint64_t{1} << 20);
  BOOST_TEST((network.sharing == Sharing::fair));
  BOOST_TEST(hops(m, "n0.host", "store.host") == 2U);
  BOOST_TEST(hops(m, "n0.vram", "n2.vram") == 4U);
}

BOOST_AUTO_TEST_CASE(a_node_may_be_the_machine_that_reads_the_file) {
  const Machine m = load("nodes: {here: {machine: local}}\n");
  BOOST_TEST(m.devices.front().name == "here.cpu0");
  BOOST_TEST(m.nodes.size() == 1U);
}

BOOST_AUTO_TEST_CASE(nodes_choose_the_cores_of_a_machine_that_is_discovered) {
  const TemporaryFiles files;
  files.write("two.yaml", "discover: {cpu_devices: 2}\n");
  const Machine m = load_machine_file(files.write(
      "nodes.yaml", "nodes: {n: {count: 2, machine: two.yaml}}\nnetwork: {bandwidth: 1 GB/s}\n"));
  BOOST_TEST(m.devices.size() == 4U);
  for (const Device& device : m.devices) BOOST_TEST(device.cores.empty());
}

BOOST_AUTO_TEST_CASE(racks_have_switches_that_share_a_thinner_network) {
  const Machine m = load(R"(
nodes: {n: {count: 5, machine: one-gpu.yaml}}
network: {bandwidth: 4 GB/s, latency: 2 us, rack: 2, oversubscription: 4}
)");
  BOOST_TEST(hops(m, "n0.host", "n1.host") == 2U);
  BOOST_TEST(hops(m, "n0.host", "n4.host") == 4U);
  // Of a rack with one node: its switch is that of the others.
  const Link& up = m.link(m.find_link("network.rack2.up"));
  BOOST_TEST(up.bandwidth[0] == 2e9);
  BOOST_TEST((up.latency == 1us));
  BOOST_TEST(!m.find_link("network.rack3.up"));
}

BOOST_AUTO_TEST_CASE(nodes_may_be_joined_by_links_in_place_of_a_network) {
  const Machine m = load(R"(
nodes: {n: {count: 2, machine: one-gpu.yaml}}
links: {cable: {between: [n0.host, n1.host], bandwidth: 1 GB/s}}
)");
  BOOST_TEST(hops(m, "n0.host", "n1.host") == 1U);
}

BOOST_AUTO_TEST_CASE(a_switch_is_no_memory_to_put_tensors_into) {
  const Machine m = load(R"(
nodes: {n: {count: 2, machine: one-gpu.yaml}}
network: {bandwidth: 1 GB/s}
)");
  BOOST_TEST(!m.find_memory("network"));
}

BOOST_AUTO_TEST_CASE(the_network_reads_and_writes_the_memory_that_is_named) {
  const Machine m = load(R"(
nodes: {n: {count: 2, machine: one-gpu.yaml, network_memory: vram}}
network: {bandwidth: 1 GB/s}
)");
  BOOST_TEST(m.memory(m.link(m.find_link("n0.network")).a).name == "n0.vram");
}

BOOST_AUTO_TEST_CASE(a_thousand_nodes_take_a_few_lines) {
  const Machine m = load(R"(
nodes: {n: {count: 1024, machine: one-gpu.yaml}}
network: {bandwidth: 12.5 GB/s, latency: 5 us, rack: 32, oversubscription: 2}
)");
  BOOST_TEST(m.devices.size() == 2048U);
  BOOST_TEST(hops(m, "n0.vram", "n1023.vram") == 6U);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_read_is_refused_where_it_stands) {
  const auto refused = [](const std::string& text, const std::string& message) {
    testing::expect_error(ErrorKind::usage, message, [&] { load(text); });
  };
  const std::string node = "{machine: one-gpu.yaml}";
  const std::string two = "nodes: {a: " + node + ", b: " + node + "}\n";
  refused("nodes: {}\n", "cluster.yaml:1:8: the machine has no nodes");
  refused("nodes: {a.b: " + node + "}\n", "cluster.yaml:1:9: the name 'a.b' has a dot");
  refused("nodes: {a: {machine: none.yaml}}\n", "cluster.yaml:1:22: ");
  refused("nodes: {a: {machine: cluster.yaml}}\n", "has nodes itself");
  refused("nodes: {a: {machine: one-gpu.yaml, devices: {}}}\n", "'devices' beside 'machine'");
  refused("nodes: {a: {count: 0, machine: one-gpu.yaml}}\n", "count of node 'a'");
  refused("nodes: {a: {}}\n", "'devices'");
  refused("nodes: {a: local}\n", "cluster.yaml:1:12: node 'a' is 'local'; write {machine: local}");
  refused("nodes: {n1: " + node + ", n: {count: 2, machine: one-gpu.yaml}}\n",
          "there are two nodes 'n1'");
  refused(two, "cluster.yaml:1:8: nothing joins the nodes; add `network");
  refused(two + "network: {}\n", "'bandwidth'");
  refused(two + "network: {bandwidth: 1 GB/s, oversubscription: 2}\n", "no racks");
  refused(two + "network: {bandwidth: 1 GB/s, rack: 1, oversubscription: 0.5}\n", "1 means none");
  refused(two + "network: {bandwidth: 1 GB/s, rack: 0}\n", "rack of the network");
  refused(two + "network: {bandwidth: 1 GB/s, chunk: 1 KiB}\n", "at least 4 KiB");
  refused(two + "network: {bandwith: 1 GB/s}\n", "bandwidth");
  refused(two + "devices: {}\n", "'devices'");
  refused("devices: {}\nnetwork: {bandwidth: 1 GB/s}\n", "no nodes that it could join");
  refused("discover: true\n" + two, "can't stand beside 'discover'");
  refused("nodes: {a: {machine: one-gpu.yaml, network_memory: disk}}\n",
          "'disk', which is storage");
  refused("nodes: {a: {machine: one-gpu.yaml, network_memory: hots}}\n", "'host'");
  refused(two + "links: {a.pcie: {between: [a.host, b.host], bandwidth: 1 GB/s}}\n",
          "the name 'a.pcie' is taken");
  refused(two + "links: {c: {between: [a.host, c.host], bandwidth: 1 GB/s}}\n",
          "'c.host', which is no memory");
  refused("nodes: {a: {devices: {g: {kind: gpu, memory: v}}, memories: {v: {size: 1 GiB}}}}\n",
          "no memory but those of its GPUs");
}

BOOST_AUTO_TEST_SUITE_END()
