#include "core/machine/prepare_machine.hpp"

#include "tests/support/expect_error.hpp"
#include "tests/support/small_machine.hpp"

#include <cstdint>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(prepare_machine)
namespace {

using testing::expect_error;
using testing::SmallMachine;
using Cores = std::vector<int>;

// cpu0 and cpu1 with a memory each, gpu0 with its own.
Machine two_cpus_and_a_gpu() {
  SmallMachine m;
  m.device("cpu0", m.memory("mem0"));
  m.device("cpu1", m.memory("mem1"));
  m.device("gpu0", m.memory("vram0"));
  m.machine.devices[2].kind = DeviceKind::gpu;
  return m.machine;
}

HostInfo host_with(Cores cores) {
  HostInfo host;
  host.cores = std::move(cores);
  return host;
}

HostInfo host_with_numa_nodes(std::size_t nodes) {
  HostInfo host;
  for (std::size_t i = 0; i < nodes; ++i) {
    host.cores.push_back(static_cast<int>(i));
    host.numa.push_back({.cores = {host.cores.back()}});
  }
  return host;
}

const HostInfo eight_cpus = host_with_numa_nodes(8);

// Nothing is free in /proc.
BOOST_AUTO_TEST_CASE(a_full_disk_is_not_taken_for_one_of_unknown_size) {
  SmallMachine m;
  m.memory("disk");
  Memory& disk = m.machine.memories[0];
  disk.kind = MemoryKind::storage;
  disk.size_bytes = 0;
  disk.directory = "/proc";
  measure_storage(m.machine);
  BOOST_TEST(disk.size_bytes == 1U);
}

BOOST_AUTO_TEST_CASE(a_cpu_stands_in_for_a_gpu_which_keeps_its_name_and_memory) {
  Machine m = two_cpus_and_a_gpu();
  m.devices[0].flops = 3e9;
  m.devices[0].launch = Duration{7};
  m.devices[2].flops = 1e12;
  map_device(m, "gpu0=cpu0", &eight_cpus);
  const Device& device = m.device(m.find_device("gpu0"));
  BOOST_TEST((device.kind == DeviceKind::cpu));
  BOOST_TEST((device.memory == m.find_memory("vram0")));
  BOOST_TEST((device.flops == 3e9));
  BOOST_TEST((device.launch == Duration{7}));
  BOOST_TEST(m.devices.size() == 3U);
}

BOOST_AUTO_TEST_CASE(a_cpu_stands_in_with_the_rates_of_all_of_its_streams) {
  Machine m = two_cpus_and_a_gpu();
  m.devices[0].streams = 4;
  m.devices[0].flops = 3e9;
  m.devices[0].op_flops["matmul"] = 5e9;
  m.devices[0].bandwidth = 7e9;
  m.devices[2].streams = 2;
  map_device(m, "gpu0=cpu0", &eight_cpus);
  const Device& device = m.device(m.find_device("gpu0"));
  BOOST_TEST(device.streams == 2);
  BOOST_TEST(*device.flops == 6e9);
  BOOST_TEST(device.op_flops.at("matmul") == 10e9);
  BOOST_TEST(*device.bandwidth == 14e9);
}

BOOST_AUTO_TEST_CASE(the_gpus_that_no_cpu_stands_in_for_stay_what_they_are) {
  Machine m = two_cpus_and_a_gpu();
  m.devices.push_back(m.devices[2]);
  m.devices.back().name = "gpu1";
  map_device(m, "gpu0=cpu0", &eight_cpus);
  BOOST_TEST(m.device(m.find_device("gpu1")).gpu == 1);
}

BOOST_AUTO_TEST_CASE(a_cpu_of_this_host_may_stand_in_though_the_machine_does_not_name_it) {
  Machine m = two_cpus_and_a_gpu();
  map_device(m, "gpu0=cpu7", &eight_cpus);
  BOOST_TEST((m.devices[2].kind == DeviceKind::cpu));
}

BOOST_AUTO_TEST_CASE(a_cpu_that_this_host_does_not_have_is_no_stand_in) {
  Machine m = two_cpus_and_a_gpu();
  expect_error(ErrorKind::usage, "that is no CPU device",
               [&] { map_device(m, "gpu0=cpu8", &eight_cpus); });
  m.devices[0].name = "main";
  expect_error(ErrorKind::usage, "one of: main, cpu1, cpu0, cpu2,",
               [&] { map_device(m, "gpu0=bogus", &eight_cpus); });
}

BOOST_AUTO_TEST_CASE(in_a_simulation_no_cpu_of_this_host_stands_in) {
  Machine m = two_cpus_and_a_gpu();
  expect_error(ErrorKind::usage, "that is no CPU device",
               [&] { map_device(m, "gpu0=cpu7", nullptr); });
  m.devices.erase(m.devices.begin(), m.devices.begin() + 2);
  for (const char* text : {"gpu0=cpu0", "gpu0=cpu1"}) {
    expect_error(ErrorKind::usage, "add it to the machine", [&] { map_device(m, text, nullptr); });
  }
}

BOOST_AUTO_TEST_CASE(a_mapping_that_makes_no_sense_is_refused) {
  Machine m = two_cpus_and_a_gpu();
  for (const char* text : {"", "=", "gpu0", "gpu0=", "=cpu0"}) {
    expect_error(ErrorKind::usage, "--map takes DEVICE=CPU",
                 [&] { map_device(m, text, &eight_cpus); });
  }
  expect_error(ErrorKind::usage, "'gpu1', which the machine doesn't have",
               [&] { map_device(m, "gpu1=cpu0", &eight_cpus); });
  for (const char* text : {"gpu0=gpu0", "gpu0=cpu", "gpu0=cpux", "gpu0=mem0"}) {
    expect_error(ErrorKind::usage, "that is no CPU device",
                 [&] { map_device(m, text, &eight_cpus); });
  }
  BOOST_TEST((m.devices[2].kind == DeviceKind::gpu));
}

BOOST_AUTO_TEST_CASE(cores_are_split_evenly_among_cpu_devices) {
  Machine m = two_cpus_and_a_gpu();
  assign_cores(m, host_with({0, 2, 4, 6, 8}));
  BOOST_TEST((m.devices[0].cores == Cores{0, 2}));
  BOOST_TEST((m.devices[1].cores == Cores{4, 6, 8}));
  BOOST_TEST(m.devices[2].cores.empty());
}

BOOST_AUTO_TEST_CASE(named_cores_are_kept_and_the_others_are_split) {
  Machine m = two_cpus_and_a_gpu();
  map_device(m, "gpu0=cpu0", &eight_cpus);
  m.devices[1].cores = {3, 1};
  assign_cores(m, host_with({0, 1, 2, 3}));
  BOOST_TEST((m.devices[0].cores == Cores{0}));
  BOOST_TEST((m.devices[1].cores == Cores{3, 1}));
  BOOST_TEST((m.devices[2].cores == Cores{2}));
}

BOOST_AUTO_TEST_CASE(devices_share_cores_where_there_are_too_few) {
  Machine m = two_cpus_and_a_gpu();
  map_device(m, "gpu0=cpu0", &eight_cpus);
  assign_cores(m, host_with({5, 6}));
  BOOST_TEST((m.devices[0].cores == Cores{5}));
  BOOST_TEST((m.devices[1].cores == Cores{6}));
  BOOST_TEST((m.devices[2].cores == Cores{5}));
}

BOOST_AUTO_TEST_CASE(where_every_core_is_named_the_others_share_them_all) {
  Machine m = two_cpus_and_a_gpu();
  m.devices[0].cores = {0, 1};
  assign_cores(m, host_with({0, 1}));
  BOOST_TEST((m.devices[1].cores == Cores{0, 1}));
}

BOOST_AUTO_TEST_CASE(a_core_that_this_process_may_not_use_is_refused) {
  Machine m = two_cpus_and_a_gpu();
  m.devices[0].cores = {0, 9};
  m.devices[0].place = {"machine.yaml", 4, 2};
  expect_error(ErrorKind::usage, "machine.yaml:4:2: cpu0 is to own core 9", [&] {
    assign_cores(m, host_with({0, 1}));
  });
  expect_error(ErrorKind::usage, "choose from 0, 1", [&] { assign_cores(m, host_with({0, 1})); });
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_widest_team_is_the_most_cores_that_an_op_gets_on_a_device) {
  Machine m;
  BOOST_TEST(widest_team(m) == 1);
  m.devices = {{.name = "small", .cores = {0, 1, 2}},
               {.name = "streams", .streams = 4, .cores = {3, 4, 5, 6, 7, 8, 9, 10, 11, 12}},
               {.name = "gpu", .kind = DeviceKind::gpu}};
  BOOST_TEST(widest_team(m) == 3);
  m.devices[0].cores = {0};
  BOOST_TEST(widest_team(m) == 3);  // 10 cores for 4 streams
  m.devices.push_back({.name = "open"});
  BOOST_TEST(widest_team(m) >= static_cast<std::int64_t>(std::thread::hardware_concurrency()));
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
