#include "core/backend/cuda/gpu_of_device.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(gpu_of_device)
namespace {

constexpr std::uint64_t mib = 1 << 20;
using Strings = std::vector<std::string>;

// Nodes n0, n1, … with a GPU and a memory of so many MiB each. A device keeps 192 MiB from tensors:
// 96 MiB, and as much for its stream.
Machine nodes_with(const std::vector<std::uint64_t>& sizes_mib) {
  Machine machine;
  for (std::size_t n = 0; n < sizes_mib.size(); ++n) {
    const std::string name = "n" + std::to_string(n);
    machine.nodes.push_back(name);
    machine.devices.push_back({.name = name + ".gpu0",
                               .kind = DeviceKind::gpu,
                               .memory = MemoryId::at(n),
                               .node = NodeId::at(n)});
    machine.memories.push_back(
        {.name = name + ".vram0", .size_bytes = sizes_mib[n] * mib, .node = NodeId::at(n)});
  }
  return machine;
}

GpuOfDevice gpu(std::size_t device, std::string id, std::uint64_t free_mib, int number = 0) {
  return {.device = DeviceId::at(device),
          .number = number,
          .name = "a model",
          .id = std::move(id),
          .free_bytes = free_mib * mib};
}

std::vector<std::uint64_t> sizes_mib(const Machine& machine) {
  std::vector<std::uint64_t> sizes;
  for (const Memory& memory : machine.memories) sizes.push_back(memory.size_bytes / mib);
  return sizes;
}

}  // namespace

// 584 MiB less 192 MiB for each of the two: 200 MiB. The GPU of n2 has the same number, and is
// another one.
BOOST_AUTO_TEST_CASE(memories_of_several_nodes_on_one_gpu_share_what_is_free) {
  Machine machine = nodes_with({600, 200, 100});
  const std::vector<GpuOfDevice> gpus{gpu(0, "A", 600), gpu(1, "A", 584), gpu(2, "B", 300)};
  limit_gpu_memories(machine, gpus);
  BOOST_TEST(sizes_mib(machine) == (std::vector<std::uint64_t>{150, 50, 100}));
  BOOST_TEST(machine.memories[1].size_reason ==
             "n0.vram0 and n1.vram0 share 200 MiB that are free on GPU 0 of n0");
  BOOST_TEST(machine.memories[2].size_reason == "");
}

BOOST_AUTO_TEST_CASE(memories_that_fit_one_gpu_together_keep_their_sizes) {
  Machine machine = nodes_with({120, 80});
  const std::vector<GpuOfDevice> gpus{gpu(0, "A", 600), gpu(1, "A", 584)};
  limit_gpu_memories(machine, gpus);
  BOOST_TEST(sizes_mib(machine) == (std::vector<std::uint64_t>{120, 80}));
}

BOOST_AUTO_TEST_CASE(the_memory_of_a_gpu_is_no_larger_than_what_is_free_on_its_node) {
  Machine machine = nodes_with({64, 600});
  const std::vector<GpuOfDevice> gpus{gpu(0, "A", 1000), gpu(1, "B", 392, 3)};
  limit_gpu_memories(machine, gpus);
  BOOST_TEST(sizes_mib(machine) == (std::vector<std::uint64_t>{64, 200}));
  BOOST_TEST(machine.memories[1].size_reason == "what is free on GPU 3 of n1");
}

BOOST_AUTO_TEST_CASE(devices_are_said_to_be_one_gpu_by_its_identity_and_not_by_its_number) {
  Machine machine = nodes_with({64, 64, 64, 64});
  machine.devices[2].tf32 = machine.devices[3].tf32 = true;
  const std::vector<GpuOfDevice> gpus{gpu(0, "B", 200), gpu(1, "A", 200), gpu(2, "B", 200, 1),
                                      gpu(3, "C", 200)};
  BOOST_TEST(
      gpu_notes(machine, gpus) ==
          (Strings{"n0.gpu0 and n2.gpu0 are the same GPU (number 0 of n0, a model).",
                   "Products of float32 on n2.gpu0 and n3.gpu0 may take their factors in TF32, "
                   "with 10 bits of mantissa."}),
      boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
