#include "core/machine/machine.hpp"

#include "tests/support/expect_error.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(machine)
namespace {

Machine host_and_gpu() {
  Machine m;
  m.memories = {{.name = "host"}, {.name = "vram0"}};
  m.devices = {{.name = "cpu", .memory = MemoryId{0}},
               {.name = "gpu0", .kind = DeviceKind::gpu, .memory = MemoryId{1}}};
  m.links = {{.name = "pcie0", .a = MemoryId{0}, .b = MemoryId{1}}};
  return m;
}

BOOST_AUTO_TEST_CASE(devices_memories_and_links_are_found_by_name) {
  const Machine m = host_and_gpu();
  BOOST_TEST((m.find_device("gpu0") == DeviceId{1}));
  BOOST_TEST((m.find_memory("host") == MemoryId{0}));
  BOOST_TEST((m.find_link("pcie0") == LinkId{0}));
  BOOST_TEST(!m.find_device("host"));
  BOOST_TEST(!m.find_memory("gpu0"));
  BOOST_TEST(!m.find_link(""));
}

BOOST_AUTO_TEST_CASE(a_direction_is_named_by_its_link_and_ends) {
  const Machine m = host_and_gpu();
  BOOST_TEST(direction_name(m, LinkId{0}, Direction::forward) == "pcie0 host→vram0");
  BOOST_TEST(direction_name(m, LinkId{0}, Direction::backward) == "pcie0 vram0→host");
}

BOOST_AUTO_TEST_CASE(device_kinds_are_written_as_in_machine_files) {
  BOOST_TEST(to_string(DeviceKind::cpu) == "cpu");
  BOOST_TEST(to_string(DeviceKind::gpu) == "gpu");
}

BOOST_AUTO_TEST_CASE(a_memory_without_a_size_is_refused) {
  Machine m = host_and_gpu();
  m.memories[0].size_bytes = 1;
  testing::expect_error(ErrorKind::usage, "memory 'vram0' has no size", [&] { check_machine(m); });
}

BOOST_AUTO_TEST_CASE(what_a_machine_file_refuses_of_a_gpu_is_refused_of_a_value) {
  const auto refused = [](const char* words, const auto& change) {
    Machine m = host_and_gpu();
    m.links.clear();
    for (Memory& memory : m.memories) memory.size_bytes = 1;
    check_machine(m);
    change(m.devices.back());
    testing::expect_error(ErrorKind::usage, words, [&] { check_machine(m); });
  };
  refused("has 1025 streams", [](Device& gpu) { gpu.streams = 1025; });
  refused("has an issue depth of 1025", [](Device& gpu) { gpu.issue_depth = 1025; });
  refused("has an issue depth of -1", [](Device& gpu) { gpu.issue_depth = -1; });
  refused("is GPU -2", [](Device& gpu) { gpu.gpu = -2; });
  refused("is GPU 64", [](Device& gpu) { gpu.gpu = 64; });
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
