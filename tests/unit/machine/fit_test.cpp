#include "core/machine/fit.hpp"

#include "tests/support/expect_error.hpp"
#include "tests/support/small_machine.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(fit)
namespace {

using testing::SmallMachine;

// cpu0 and cpu1 with two cores each, and a memory of 1 GiB.
Machine two_cpus() {
  SmallMachine m;
  const MemoryId memory = m.memory("mem0");
  m.device("cpu0", memory);
  m.device("cpu1", memory);
  for (Device& device : m.machine.devices) device.cores = {0, 1};
  return m.machine;
}

BOOST_AUTO_TEST_CASE(a_machine_with_as_much_or_more_takes_the_place_of_another) {
  Machine has = two_cpus();
  BOOST_TEST(lack_of(has, two_cpus()) == "");
  has.devices[0].cores = {4, 5, 6};
  has.memories[0].size_bytes *= 2;
  has.memories.push_back({.name = "mem1"});
  BOOST_TEST(lack_of(has, two_cpus()) == "");
}

BOOST_AUTO_TEST_CASE(a_device_that_is_missing_or_has_fewer_cores_is_named) {
  Machine has = two_cpus();
  has.devices[1].cores = {0};
  BOOST_TEST(lack_of(has, two_cpus()) == "cpu1 has 1 core instead of 2");
  has.devices.pop_back();
  BOOST_TEST(lack_of(has, two_cpus()) == "it has no device cpu1");
  has = two_cpus();
  has.devices[0].kind = DeviceKind::gpu;
  BOOST_TEST(lack_of(has, two_cpus()) == "it has no device cpu0");
}

BOOST_AUTO_TEST_CASE(a_memory_that_is_missing_or_has_less_than_half_the_size_is_named) {
  Machine has = two_cpus();
  has.memories[0].size_bytes /= 2;
  BOOST_TEST(lack_of(has, two_cpus()) == "");
  has.memories[0].size_bytes /= 2;
  BOOST_TEST(lack_of(has, two_cpus()) == "mem0 has 256 MiB instead of 1 GiB");
  has.memories[0].name = "vram0";
  BOOST_TEST(lack_of(has, two_cpus()) == "it has no memory mem0");
}

// Two nodes with a CPU device, the first with 2 cores, the second with 4.
Machine two_nodes() {
  Machine m = two_cpus();
  m.nodes = {"n0", "n1"};
  m.devices[1].cores = {0, 1, 2, 3};
  m.memories.push_back({.name = "mem1", .size_bytes = 2'000'000'000});
  for (std::size_t n = 0; n < 2; ++n) {
    m.devices[n].node = m.memories[n].node = NodeId::at(n);
    m.devices[n].memory = MemoryId::at(n);
  }
  return m;
}

BOOST_AUTO_TEST_CASE(devices_of_nodes_get_the_cores_of_their_nodes_and_memories_what_is_there) {
  Machine wanted = two_nodes();
  for (Device& device : wanted.devices) device.cores.clear();
  wanted.memories[1].size_bytes *= 10;
  fit_to_nodes(wanted, two_nodes());
  BOOST_TEST(wanted.devices[0].cores.size() == 2U);
  BOOST_TEST(wanted.devices[1].cores.size() == 4U);
  BOOST_TEST(wanted.memories[1].size_bytes == 2'000'000'000U);
}

BOOST_AUTO_TEST_CASE(a_core_that_a_node_has_not_is_refused) {
  Machine wanted = two_nodes();
  wanted.devices[0].cores = {3};
  testing::expect_error(ErrorKind::usage, "cpu0 is to own core 3, which its node can't use",
                        [&] { fit_to_nodes(wanted, two_nodes()); });
}

BOOST_AUTO_TEST_CASE(a_machine_for_nodes_has_as_many_of_them) {
  Machine wanted = two_nodes();
  wanted.nodes.push_back("n2");
  testing::expect_error(ErrorKind::usage, "has 3 nodes, and gets 2",
                        [&] { fit_to_nodes(wanted, two_nodes()); });
  wanted.nodes.clear();
  testing::expect_error(ErrorKind::usage, "has no nodes",
                        [&] { fit_to_nodes(wanted, two_nodes()); });
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
