#include "core/machine/fit.hpp"

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

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
