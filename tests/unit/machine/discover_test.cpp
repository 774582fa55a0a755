#include "core/machine/discover.hpp"

#include "core/machine/route.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/expect_error.hpp"

#include <numeric>
#include <set>
#include <string>

#include <boost/test/unit_test.hpp>
#include <sched.h>

namespace troupe {
using testing::contains;
using testing::expect_error;

BOOST_AUTO_TEST_SUITE(discover)
namespace {

HostInfo host_of(std::vector<std::vector<int>> numa_cores) {
  HostInfo host;
  host.cpu_model = "Example Processor";
  for (std::vector<int>& cores : numa_cores) {
    host.cores.insert(host.cores.end(), cores.begin(), cores.end());
    host.numa.push_back({.memory_bytes = std::uint64_t{8} << 30, .cores = std::move(cores)});
  }
  host.caches = {{.level = 2, .size_bytes = 2 << 20, .count = 4}};
  host.memory_bytes = std::uint64_t{16} << 30;
  host.available_memory_bytes = std::uint64_t{8} << 30;
  return host;
}

BOOST_AUTO_TEST_CASE(this_host_has_cores_memory_and_numa_nodes_that_hold_the_cores) {
  const HostInfo host = discover_host();
  BOOST_TEST(!host.cpu_model.empty());
  BOOST_TEST(!host.cores.empty());
  BOOST_TEST(!host.numa.empty());
  BOOST_TEST(host.memory_bytes > 0U);
  BOOST_TEST(host.available_memory_bytes > 0U);
  BOOST_TEST(host.available_memory_bytes <= host.memory_bytes);
  std::set<int> in_nodes;
  for (const auto& node : host.numa) in_nodes.insert(node.cores.begin(), node.cores.end());
  BOOST_TEST((in_nodes == std::set<int>(host.cores.begin(), host.cores.end())));
}

BOOST_AUTO_TEST_CASE(cores_that_the_process_may_not_use_are_left_out) {
  cpu_set_t before;
  BOOST_REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
  const int only = discover_host().cores.back();
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(only, &one);
  BOOST_REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
  const HostInfo host = discover_host();
  BOOST_REQUIRE(sched_setaffinity(0, sizeof before, &before) == 0);
  BOOST_TEST(host.cores == std::vector<int>{only}, boost::test_tools::per_element());
}

//   cpu0: cores 0 1   cpu1: cores 2 3
//   mem0 ───copy0-1─── mem1
BOOST_AUTO_TEST_CASE(cores_are_split_evenly_and_each_pair_of_memories_has_a_link) {
  const Machine m = local_machine(host_of({{0, 1, 2, 3}}), {.cpu_devices = 2});
  BOOST_TEST(m.devices.size() == 2U);
  BOOST_TEST((m.devices[0].cores == std::vector{0, 1} && m.devices[1].cores == std::vector{2, 3}));
  BOOST_TEST(m.devices[1].name == "cpu1");
  BOOST_TEST((m.devices[1].memory == m.find_memory("mem1")));
  BOOST_REQUIRE(m.links.size() == 1U);
  BOOST_TEST(m.links[0].name == "copy0-1");
  BOOST_TEST(m.memories[0].size_bytes == std::uint64_t{7} << 29);  // half of 8 GiB less an eighth
  BOOST_TEST(m.devices[0].op_flops.at("matmul") > *m.devices[0].flops);
}

BOOST_AUTO_TEST_CASE(without_a_number_there_is_a_device_for_each_numa_node_with_cores) {
  const Machine m = local_machine(host_of({{0, 1, 2}, {}, {3, 4}}), {});
  BOOST_REQUIRE(m.devices.size() == 2U);
  BOOST_TEST((m.devices[0].cores == std::vector{0, 1, 2}));
  BOOST_TEST((m.devices[1].cores == std::vector{3, 4}));
}

// The rates of a device are those of each of its streams.
BOOST_AUTO_TEST_CASE(the_streams_of_a_device_divide_its_cores_and_its_rates) {
  const HostInfo host = host_of({{0, 1, 2, 3}});
  const Device one = local_machine(host).devices[0];
  const Device two = local_machine(host, {.streams = 2}).devices[0];
  const Device all = local_machine(host, {.streams = LocalMachineOptions::one_per_core}).devices[0];
  BOOST_TEST(one.streams == 1);
  BOOST_TEST(two.streams == 2);
  BOOST_TEST(all.streams == 4);
  BOOST_TEST((two.cores == one.cores && all.cores == one.cores));
  BOOST_TEST(two.op_flops.at("matmul") == one.op_flops.at("matmul") / 2);
  BOOST_TEST(*all.flops == *one.flops / 4);
  BOOST_TEST(*all.bandwidth == *one.bandwidth / 4);
  // More streams than cores take turns.
  BOOST_TEST(*local_machine(host, {.streams = 8}).devices[0].flops == *one.flops / 8);
}

BOOST_AUTO_TEST_CASE(a_device_has_no_more_streams_than_a_machine_file_may_ask_for) {
  for (const int streams : {-1, 1025}) {
    expect_error(ErrorKind::usage, "ask for 1 to 1024, or for one_per_core",
                 [&] { local_machine(host_of({{0}}), {.streams = streams}); });
  }
}

BOOST_AUTO_TEST_CASE(devices_share_cores_where_there_are_fewer_cores) {
  const Machine m = local_machine(host_of({{5}}), {.cpu_devices = 3});
  BOOST_REQUIRE(m.devices.size() == 3U);
  for (const Device& d : m.devices) BOOST_TEST((d.cores == std::vector{5}));
  BOOST_TEST(m.links.size() == 3U);
}

BOOST_AUTO_TEST_CASE(a_host_makes_no_more_devices_than_a_machine_file_may_ask_for) {
  for (const int devices : {-1, 1025}) {
    expect_error(ErrorKind::usage, "ask for 1 to 1024",
                 [&] { local_machine(host_of({{0}}), {.cpu_devices = devices}); });
  }
}

//   up to 32 memories: a link between each pair;  of more: mem1 ── mem0 ── mem2, …
BOOST_AUTO_TEST_CASE(many_memories_are_joined_through_the_first_one) {
  const HostInfo host = host_of({{0, 1}});
  BOOST_TEST(local_machine(host, {.cpu_devices = 32}).links.size() == 32U * 31U / 2U);
  for (const int devices : {33, 1024}) {
    const Machine m = local_machine(host, {.cpu_devices = devices});
    const auto others = static_cast<std::size_t>(devices) - 1;
    BOOST_TEST_REQUIRE(m.links.size() == others);
    for (std::size_t i = 0; i < others; ++i) {
      BOOST_TEST((m.links[i].a == MemoryId{0} && m.links[i].b == MemoryId::at(i + 1)));
    }
    BOOST_TEST(m.links.back().name == "copy0-" + std::to_string(others));
    Router router(m);
    const Route* const route = router.route(MemoryId{1}, MemoryId::at(others));
    BOOST_TEST_REQUIRE(route != nullptr);
    BOOST_TEST(route->size() == 2U);
  }
}

//   mem0 ──disk0── disk ──disk1── mem1,  mem0 ──copy0-1── mem1
BOOST_AUTO_TEST_CASE(storage_is_linked_to_every_memory) {
  const Machine m =
      local_machine(host_of({{0, 1}}), {.cpu_devices = 2, .storage = true, .directory = "/"});
  const MemoryId disk = m.find_memory("disk");
  BOOST_REQUIRE(bool(disk));
  BOOST_TEST((m.memory(disk).kind == MemoryKind::storage));
  BOOST_TEST(m.memory(disk).directory == "/");
  BOOST_TEST(m.memory(disk).size_bytes > 0U);
  BOOST_TEST((m.link(m.find_link("disk0")).a == m.find_memory("mem0")));
  BOOST_TEST((m.link(m.find_link("disk1")).b == disk));
}

BOOST_AUTO_TEST_CASE(the_machine_file_says_what_was_found) {
  HostInfo host = host_of({{0, 2}, {4}});
  const std::string text = describe_yaml(host);
  BOOST_TEST_INFO(text);
  BOOST_TEST(contains(text, "# Example Processor\n"));
  BOOST_TEST(contains(text, "# no GPU found\n"));
  BOOST_TEST(contains(text, "# 4 × 2 MiB of L2 cache\n"));
  BOOST_TEST(contains(text, "machine: local\n"));
  BOOST_TEST(contains(text, "  cpu0: {kind: cpu, cores: [0, 2], memory: mem0, "));
  BOOST_TEST(contains(text, "  cpu1: {kind: cpu, cores: [4], memory: mem1, "));
  BOOST_TEST(contains(text, "  copy0-1: {between: [mem0, mem1], bandwidth: 6 GB/s, "));
  BOOST_TEST(contains(text, "  mem0: {size: 3584 MiB}\n"));
  BOOST_TEST(contains(text, "  disk: {kind: storage, size: "));
  host.gpus = {"Example GPU"};
  BOOST_TEST(contains(describe_yaml(host), "# GPU: Example GPU\n"));
  BOOST_TEST(!contains(describe_yaml(host), "# no GPU found\n"));
}

BOOST_AUTO_TEST_CASE(the_machine_file_says_why_runs_have_no_gpu) {
  HostInfo host = host_of({{0, 1}});
  host.gpus = {"Example GPU"};
  const std::string text = describe_yaml(host, {.gpus = {}, .problem = "the driver is too old"});
  BOOST_TEST_INFO(text);
  BOOST_TEST(contains(text, "# GPU: Example GPU\n# runs have no GPU: the driver is too old\n"));
  BOOST_TEST(!contains(text, "gpu0"));
}

BOOST_AUTO_TEST_CASE(a_gpu_behind_one_that_can_not_be_opened_has_the_name_of_its_number) {
  const std::vector<UsableGpu> second{{.number = 1, .available_memory_bytes = 1 << 30}};
  Machine m = local_machine(host_of({{0, 1}}), {});
  add_gpus(m, second);
  BOOST_TEST(!bool(m.find_device("gpu0")));
  BOOST_TEST(m.device(m.find_device("gpu1")).gpu == 1);
  BOOST_TEST(bool(m.find_memory("vram1")));
  BOOST_TEST(bool(m.find_link("pcie1")));
  BOOST_TEST(contains(describe_yaml(host_of({{0, 1}}), {.gpus = second, .problem = {}}),
                      "gpu1: {kind: gpu, gpu: 1,"));
  Machine in_order = local_machine(host_of({{0, 1}}), {});
  add_gpus(in_order, std::vector<UsableGpu>{{.number = 0, .available_memory_bytes = 1 << 30}});
  BOOST_TEST(in_order.device(in_order.find_device("gpu0")).gpu == -1);
}

//   mem0 ──copy0-1── mem1,  mem0 ──pcie0── vram0 (gpu0),  mem0 ──pcie1── vram1 (gpu1)
BOOST_AUTO_TEST_CASE(gpus_have_a_memory_each_and_a_link_to_the_first_one_of_the_host) {
  constexpr std::uint64_t gib = std::uint64_t{1} << 30;
  const std::vector<UsableGpu> gpus{
      {.model = "First", .memory_bytes = 16 * gib, .available_memory_bytes = 8 * gib},
      {.model = "Second", .memory_bytes = 32 * gib, .available_memory_bytes = 32 * gib}};
  Machine m = local_machine(host_of({{0, 1}}), {.cpu_devices = 2});
  add_gpus(m, gpus);
  check_machine(m);
  const Device& second = m.device(m.find_device("gpu1"));
  BOOST_TEST((second.kind == DeviceKind::gpu));
  BOOST_TEST((second.memory == m.find_memory("vram1")));
  BOOST_TEST(owning_gpu(m, second.memory) == &second);
  BOOST_TEST(m.memory(m.find_memory("vram0")).size_bytes == 7 * gib);  // an eighth is for others
  BOOST_TEST(m.memory(m.find_memory("vram1")).size_bytes == 28 * gib);
  const Link& pcie = m.link(m.find_link("pcie1"));
  BOOST_TEST((pcie.a == m.find_memory("mem0") && pcie.b == m.find_memory("vram1")));

  const std::string text = describe_yaml(host_of({{0, 1}}), {.gpus = gpus, .problem = {}});
  BOOST_TEST_INFO(text);
  BOOST_TEST(contains(text, "# GPU 1: Second, 32 GiB of memory, 32 GiB available now\n"));
  BOOST_TEST(!contains(text, "no GPU"));
  BOOST_TEST(contains(text, "# Those of GPUs are from what their driver and the kernel say"));
  BOOST_TEST(contains(text, "  gpu0: {kind: gpu, memory: vram0, matmul: "));
  BOOST_TEST(contains(text, "  vram0: {size: 7 GiB}\n"));
  BOOST_TEST(contains(text, "  pcie1: {between: [mem0, vram1], bandwidth: "));
}

BOOST_AUTO_TEST_CASE(the_rates_of_a_gpu_are_parts_of_what_it_can_do_at_best) {
  const std::vector<UsableGpu> gpus{
      {.available_memory_bytes = 1 << 30,
       .peaks = {.flops = 100e12, .bandwidth = 2e12, .link_bandwidth = 50e9}},
      {.available_memory_bytes = 1 << 30, .peaks = {.flops = 200e12}, .peers = {0}}};
  Machine m = local_machine(host_of({{0, 1}}), {});
  add_gpus(m, gpus);
  const auto near = boost::test_tools::tolerance(1e-9);
  const Device& first = m.device(m.find_device("gpu0"));
  const Device& second = m.device(m.find_device("gpu1"));
  BOOST_TEST(first.op_flops.at("matmul") == 73e12, near);
  BOOST_TEST(*first.bandwidth == 1.74e12, near);
  BOOST_TEST(m.link(m.find_link("pcie0")).bandwidth[0] == 50e9, near);
  BOOST_TEST(second.op_flops.at("matmul") == 146e12, near);
  // Nothing is known of these.
  BOOST_TEST(*second.bandwidth == 1e12, boost::test_tools::tolerance(0.01));
  BOOST_TEST(m.link(m.find_link("pcie1")).bandwidth[0] == 24e9, near);
  BOOST_TEST(m.link(m.find_link("peer0-1")).bandwidth[0] == 24e9, near);  // the lesser one
}

//   mem0 ──pcie0── vram0 ──peer0-2── vram2 ──pcie2── mem0,  mem0 ──pcie1── vram1
BOOST_AUTO_TEST_CASE(gpus_that_can_access_each_others_memory_have_a_link) {
  const std::vector<UsableGpu> gpus{{.available_memory_bytes = 1 << 30},
                                    {.available_memory_bytes = 1 << 30},
                                    {.available_memory_bytes = 1 << 30, .peers = {0}}};
  Machine m = local_machine(host_of({{0, 1}}), {.cpu_devices = 2});
  const std::size_t links = m.links.size();
  add_gpus(m, gpus);
  check_machine(m);
  BOOST_TEST(m.links.size() == links + 4);
  const Link& peer = m.link(m.find_link("peer0-2"));
  BOOST_TEST((peer.a == m.find_memory("vram0") && peer.b == m.find_memory("vram2")));
  BOOST_TEST(contains(describe_yaml(host_of({{0, 1}}), {.gpus = gpus, .problem = {}}),
                      "  peer0-2: {between: [vram0, vram2], bandwidth: "));
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
