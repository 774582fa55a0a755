#include "core/backend/registry.hpp"

#include "core/base/error.hpp"

#include <string>
#include <string_view>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(registry)
namespace {

//   vram0 ──pcie0── host ──ssd0── disk0 ──ssd1── disk1
//                    │
//                  copy0
//                    │
//                  host1
Machine some_of_everything() {
  Machine m;
  m.memories = {{.name = "host", .size_bytes = 1 << 20},
                {.name = "vram0", .size_bytes = 1 << 20},
                {.name = "disk0", .kind = MemoryKind::storage},
                {.name = "disk1", .kind = MemoryKind::storage},
                {.name = "host1", .size_bytes = 1 << 20}};
  m.devices = {{.name = "cpu", .memory = MemoryId{0}},
               {.name = "gpu0",
                .kind = DeviceKind::gpu,
                .memory = MemoryId{1},
                .place = {.file = "m.yaml", .line = 4, .column = 9}}};
  const auto link = [](std::string name, std::uint32_t a, std::uint32_t b) {
    Link l;
    l.name = std::move(name);
    l.a = MemoryId{a};
    l.b = MemoryId{b};
    return l;
  };
  m.links = {link("pcie0", 0, 1), link("ssd0", 0, 2), link("ssd1", 2, 3), link("copy0", 0, 4)};
  return m;
}

template <class IdType>
std::string error_of(const Machine& machine, IdType id) {
  try {
    choose_backend(Mode::run, machine, id);
    return {};
  } catch (const Error& e) {
    return e.kind() == ErrorKind::usage ? e.what() : "not a usage Error";
  }
}

BOOST_AUTO_TEST_CASE(a_simulation_takes_the_simulated_backend_for_everything) {
  const Machine m = some_of_everything();
  for (std::size_t d = 0; d < m.devices.size(); ++d) {
    BOOST_TEST(choose_backend(Mode::simulate, m, DeviceId::at(d)).name == "simulated");
  }
  for (std::size_t l = 0; l < m.links.size(); ++l) {
    BOOST_TEST(choose_backend(Mode::simulate, m, LinkId::at(l)).name == "simulated");
  }
}

BOOST_AUTO_TEST_CASE(a_run_takes_the_real_backend_that_fits) {
  const Machine m = some_of_everything();
  BOOST_TEST(choose_backend(Mode::run, m, m.find_device("cpu")).name == "openblas");
  BOOST_TEST(choose_backend(Mode::run, m, m.find_link("copy0")).name == "memcpy");
  BOOST_TEST(choose_backend(Mode::run, m, m.find_link("ssd0")).name == "file");
}

BOOST_AUTO_TEST_CASE(a_gpu_where_there_is_none_says_how_to_simulate_it_or_map_it) {
  const Machine m = some_of_everything();
  BOOST_TEST(
      error_of(m, m.find_device("gpu0")) ==
      "m.yaml:4:9: gpu0 is a GPU, and no GPU of this host can be used: this Troupe was built "
      "without CUDA; build it where the CUDA Toolkit is, with -D TROUPE_CUDA=ON; or simulate it: "
      "'troupe simulate', or Mode::simulate in a program; or let a CPU stand in: 'troupe run --map "
      "gpu0=cpu'");
}

BOOST_AUTO_TEST_CASE(a_gpu_of_another_node_has_its_backend_where_there_is_none) {
  const Machine m = some_of_everything();
  const DeviceBackendEntry& entry =
      choose_backend(Mode::run, m, m.find_device("gpu0"), Locality::elsewhere);
  BOOST_TEST(entry.name == "cuda");
  BOOST_TEST(!entry.is_exact);
  BOOST_TEST(entry.has_kernel(m, m.find_device("gpu0"), {.name = "matmul"}));
  BOOST_TEST(!entry.has_kernel(m, m.find_device("gpu0"), {.name = "load"}));
  const LinkBackendEntry& link =
      choose_backend(Mode::run, m, m.find_link("pcie0"), Locality::elsewhere);
  BOOST_TEST(link.name == "cuda");
}

BOOST_AUTO_TEST_CASE(a_link_to_a_gpus_memory_says_which_gpu_is_missing) {
  const Machine m = some_of_everything();
  const std::string text = error_of(m, m.find_link("pcie0"));
  BOOST_TEST(
      text.find("link pcie0 joins host and vram0, and vram0 is the memory of the GPU gpu0") == 0U);
  BOOST_TEST(text.find("--map gpu0=cpu") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_link_between_two_storages_names_both) {
  const Machine m = some_of_everything();
  const std::string text = error_of(m, m.find_link("ssd1"));
  BOOST_TEST(text.find("link ssd1 joins disk0 and disk1, which are both storage") == 0U);
}

BOOST_AUTO_TEST_CASE(a_link_between_memories_of_two_nodes_is_for_simulations) {
  for (const char* name : {"copy0", "ssd0", "pcie0"}) {
    Machine m = some_of_everything();
    m.nodes = {"left", "right"};
    m.memories[0].node = NodeId{1};
    const LinkId link = m.find_link(name);
    BOOST_TEST(error_of(m, link).find("which belong to different nodes") != std::string::npos);
    BOOST_TEST(choose_backend(Mode::simulate, m, link).name == "simulated");
  }
}

BOOST_AUTO_TEST_CASE(a_memory_that_a_cpu_shares_with_a_gpu_is_the_hosts) {
  Machine m = some_of_everything();
  BOOST_TEST(!is_host_ram(m, MemoryId{1}));
  BOOST_TEST(!is_host_ram(m, MemoryId{2}));
  m.devices[0].memory = MemoryId{1};
  BOOST_TEST(is_host_ram(m, MemoryId{1}));
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
