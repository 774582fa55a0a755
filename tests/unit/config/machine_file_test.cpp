#include "core/config/machine_file.hpp"

#include "core/patterns/pattern_ops.hpp"
#include "tests/unit/config/temporary_files.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(machine_files)
namespace {

Machine load(std::string_view text) {
  const TemporaryFiles files;
  return load_machine_file(files.write("one.yaml", text));
}

// A machine file whose devices, memories and links are sound but for what is given.
struct Parts {
  std::string devices = "cpu: {kind: cpu, memory: host}";
  std::string memories = "host: {size: 1 GiB}";
  std::string links = "pcie: {between: [host, vram], bandwidth: 1 GB/s}";
};

// Memories are in line 3 from column 3 on, devices in line 6, links in line 8.
std::string error(const Parts& parts) {
  return machine_error("machine: m\nmemories:\n  " + parts.memories +
                       "\n  vram: {size: 1 GiB}\ndevices:\n  " + parts.devices + "\nlinks:\n  " +
                       parts.links + "\n");
}
std::string memory_error(std::string text) {
  return error({.memories = std::move(text)});
}
std::string device_error(std::string text) {
  return error({.devices = std::move(text)});
}
std::string link_error(std::string text) {
  return error({.links = std::move(text)});
}

}  // namespace

BOOST_AUTO_TEST_CASE(everything_written_is_read) {
  const Machine m = load(R"(
machine: my machine
about: text
devices:
  cpu: {kind: cpu, memory: host, cores: [0, 2],
        matmul: 510 GFLOP/s, flops: 20 GFLOP/s, bandwidth: 30 GB/s}
  gpu0: {kind: gpu, matmul: 14.4 TFLOP/s, launch: 10 us, memory: vram0, streams: 4, issue_depth: 8,
         gpu: 3, tf32: true, cuda_graphs: false}
memories:
  host: {size: 64 GiB}
  vram0: {size: 16 GiB, kind: ram}
  disk: {kind: storage, directory: /tmp/x}
links:
  pcie0: {between: [host, vram0], bandwidth: 1.44 GB/s, latency: 10 us, sharing: fair, chunk: 1 MiB}
  ssd: {between: [host, disk], bandwidth: 1 GB/s, backward_bandwidth: 2 GB/s}
)");
  BOOST_TEST(m.name == "my machine");
  BOOST_REQUIRE(m.devices.size() == 2U);
  const Device& cpu = m.devices[0];
  BOOST_TEST(cpu.name == "cpu");
  BOOST_TEST((cpu.kind == DeviceKind::cpu));
  BOOST_TEST(m.memory(cpu.memory).name == "host");
  BOOST_TEST(cpu.op_flops.at("matmul") == 510e9);
  BOOST_TEST(cpu.op_flops.size() == 1U);
  BOOST_TEST(cpu.flops.value() == 20e9);
  BOOST_TEST(cpu.bandwidth.value() == 30e9);
  BOOST_TEST(cpu.cores == (std::vector<int>{0, 2}));
  BOOST_TEST(cpu.streams == 1);
  BOOST_TEST(cpu.issue_depth == 0);
  BOOST_TEST(cpu.gpu == -1);
  BOOST_TEST(!cpu.tf32);
  BOOST_TEST(cpu.cuda_graphs);
  BOOST_TEST((cpu.launch == 0us));
  BOOST_TEST(cpu.place.line == 5);
  BOOST_TEST(cpu.place.column == 3);
  const Device& gpu = m.devices[1];
  BOOST_TEST((gpu.kind == DeviceKind::gpu));
  BOOST_TEST(gpu.streams == 4);
  BOOST_TEST(gpu.issue_depth == 8);
  BOOST_TEST(gpu.gpu == 3);
  BOOST_TEST(gpu.tf32);
  BOOST_TEST(!gpu.cuda_graphs);
  BOOST_TEST((gpu.launch == 10us));
  BOOST_TEST(!gpu.flops.has_value());
  BOOST_REQUIRE(m.memories.size() == 3U);
  BOOST_TEST(m.memories[0].size_bytes == std::uint64_t{64} << 30);
  BOOST_TEST((m.memories[1].kind == MemoryKind::ram));
  BOOST_TEST((m.memories[2].kind == MemoryKind::storage));
  BOOST_TEST(m.memories[2].size_bytes == 0U);
  BOOST_TEST(m.memories[2].directory == "/tmp/x");
  BOOST_REQUIRE(m.links.size() == 2U);
  const Link& pcie = m.links[0];
  BOOST_TEST(m.memory(pcie.a).name == "host");
  BOOST_TEST(m.memory(pcie.b).name == "vram0");
  BOOST_TEST(pcie.bandwidth[0] == 1.44e9);
  BOOST_TEST(pcie.bandwidth[1] == 1.44e9);
  BOOST_TEST((pcie.latency == 10us));
  BOOST_TEST((pcie.sharing == Sharing::fair));
  BOOST_TEST(pcie.chunk_bytes == std::uint64_t{1} << 20);
  BOOST_TEST(m.links[1].bandwidth[1] == 2e9);
  BOOST_TEST((m.links[1].sharing == Sharing::fifo));
  BOOST_TEST(m.links[1].chunk_bytes == std::uint64_t{4} << 20);
}

BOOST_AUTO_TEST_CASE(a_machine_without_a_name_is_called_like_its_file) {
  BOOST_TEST(load("devices: {c: {kind: cpu, memory: m}}\nmemories: {m: {size: 1 GB}}\n").name ==
             "one");
}

BOOST_AUTO_TEST_CASE(a_directory_is_relative_to_the_file) {
  const TemporaryFiles files;
  const auto path =
      files.write("sub/a.yaml",
                  "devices: {c: {kind: cpu, memory: m}}\n"
                  "memories: {m: {size: 1 GB}, d: {kind: storage, directory: out}}\n");
  BOOST_TEST(load_machine_file(path).memories[1].directory ==
             (files.folder() / "sub/out").string());
}

BOOST_AUTO_TEST_CASE(this_machine_is_discovered) {
  const Machine one = load("discover: true\n");
  BOOST_TEST(!one.devices.empty());
  BOOST_TEST(!one.name.empty());
  BOOST_TEST(one.devices[0].place.line == 1);
  BOOST_TEST(one.devices[0].place.column == 11);

  const Machine two =
      load("machine: two\ndiscover: {cpu_devices: 2, storage: true, directory: /tmp}\n");
  BOOST_TEST(two.name == "two");
  BOOST_TEST(two.devices.size() == 2U);
  const auto storage = std::find_if(two.memories.begin(), two.memories.end(),
                                    [](const Memory& m) { return m.kind == MemoryKind::storage; });
  BOOST_REQUIRE((storage != two.memories.end()));
  BOOST_TEST(storage->directory == "/tmp");

  const Machine cores = load("discover: {cpu_devices: 1, streams: cores}\n");
  BOOST_TEST(cores.devices[0].streams == static_cast<int>(cores.devices[0].cores.size()));
  BOOST_TEST(load("discover: {streams: 3}\n").devices[0].streams == 3);
}

BOOST_AUTO_TEST_CASE(gpus_are_looked_for_only_where_a_file_asks_for_them) {
  const TemporaryFiles files;
  int searches = 0;
  const FindGpus find = [&] {
    ++searches;
    return UsableGpus{.gpus = {{.model = "A", .available_memory_bytes = 8 << 20}, {}}};
  };
  for (const std::string text : {"discover: true\n", "discover: {gpus: false}\n"}) {
    const Machine machine = load_machine_file(files.write("one.yaml", text), pattern_ops(), find);
    BOOST_TEST(!machine.find_device("gpu0"));
    BOOST_TEST(searches == 0);
  }
  const Machine machine = load_machine_file(
      files.write("one.yaml", "discover: {gpus: true, cpu_devices: 1}\n"), pattern_ops(), find);
  BOOST_TEST(searches == 1);
  BOOST_REQUIRE(machine.devices.size() == 3U);
  BOOST_TEST(machine.devices[2].name == "gpu1");
  BOOST_TEST(machine.devices[2].place.line == 1);
  BOOST_TEST(machine.memory(machine.find_memory("vram0")).size_bytes == 7U << 20);
}

BOOST_AUTO_TEST_CASE(a_file_that_asks_for_gpus_where_there_are_none_is_refused) {
  const TemporaryFiles files;
  const auto path = files.write("one.yaml", "discover: {gpus: true}\n");
  const FindGpus find = [] { return UsableGpus{.problem = "no driver is here; install it"}; };
  BOOST_TEST(files.error_of([&] { load_machine_file(path, pattern_ops(), find); }) ==
             "one.yaml:1:18: no GPU of this host can be used: no driver is here; install it");
  BOOST_TEST(
      files.error_of([&] { load_machine_file(path); })
          .starts_with("one.yaml:1:18: GPUs can't be discovered here, only for the whole machine"));
  files.write("part.yaml", "nodes: {n: {machine: one.yaml}}\n");
  BOOST_TEST(
      files.error_of([&] { load_machine_file(files.folder() / "part.yaml", pattern_ops(), find); })
          .starts_with("one.yaml:1:18: GPUs can't be discovered here, only for the whole machine"));
}

BOOST_AUTO_TEST_CASE(discover_is_checked) {
  BOOST_TEST(machine_error("discover: false\n") ==
             "machine.yaml:1:11: discover is false; remove it, or write true");
  BOOST_TEST(machine_error("discover: 2\n") ==
             "machine.yaml:1:11: discover is '2'; write true or false");
  BOOST_TEST(
      machine_error("discover: [a]\n").starts_with("machine.yaml:1:11: discover is a list; "));
  BOOST_TEST(machine_error("discover: {cpu_device: 2}\n") ==
             "machine.yaml:1:12: discover has no key 'cpu_device'; did you mean 'cpu_devices'?");
  BOOST_TEST(machine_error("discover: {cpu_devices: 0}\n") ==
             "machine.yaml:1:25: cpu_devices is '0'; write a whole number from 1 to 1024");
  for (const std::string bad : {"0", "1025", "core"}) {
    BOOST_TEST(machine_error("discover: {streams: " + bad + "}\n") ==
               "machine.yaml:1:21: streams is '" + bad +
                   "'; write a whole number from 1 to 1024, or cores");
  }
  BOOST_TEST(machine_error("discover: {gpus: 2}\n") ==
             "machine.yaml:1:18: gpus is '2'; write true or false");
  BOOST_TEST(machine_error("discover: {directory: x}\n")
                 .starts_with("machine.yaml:1:23: a directory is given, but no storage"));
  BOOST_TEST(machine_error("discover: true\nlinks: {}\n")
                 .starts_with("machine.yaml:2:1: 'links' can't stand beside 'discover'; "));
}

BOOST_AUTO_TEST_CASE(a_file_that_is_no_machine_is_refused) {
  BOOST_TEST(machine_error("[a]\n") ==
             "machine.yaml:1:1: a machine is a list; write a map, {key: value, …}");
  BOOST_TEST(machine_error("device: {}\n") ==
             "machine.yaml:1:1: a machine has no key 'device'; did you mean 'devices'?");
  BOOST_TEST(machine_error("machine: m\n") ==
             "machine.yaml:1:1: the machine has no 'devices'; add `devices: …`");
  BOOST_TEST(machine_error("devices: {}\n")
                 .starts_with("machine.yaml:1:10: the machine has no devices; "));
  BOOST_TEST(machine_error("devices: []\n").starts_with("machine.yaml:1:10: devices is a list; "));
  BOOST_TEST(machine_error("devices: {a: {}}\n")
                 .starts_with("machine.yaml:1:1: the machine has no 'memories'"));
  BOOST_TEST(machine_error("machine: [m]\ndiscover: true\n")
                 .starts_with("machine.yaml:1:10: the machine's name is a list; "));
}

BOOST_AUTO_TEST_CASE(memories_are_checked) {
  BOOST_TEST(memory_error("host: {}") ==
             "machine.yaml:3:9: memory 'host' has no 'size'; add `size: …`");
  BOOST_TEST(memory_error("host: {size: 16 GHz}")
                 .starts_with("machine.yaml:3:16: size of memory 'host': '16 GHz' is not a size: "
                              "unknown unit 'GHz'"));
  BOOST_TEST(memory_error("host: {size: 16}")
                 .starts_with("machine.yaml:3:16: size of memory 'host': '16' is not a size: it "
                              "has no unit; units are B, "));
  BOOST_TEST(memory_error("host: {size: 0 B}") ==
             "machine.yaml:3:16: the size of memory 'host' is zero; give it a size such as 16 GiB");
  BOOST_TEST(
      memory_error("host: {kind: storage, size: 0 B}")
          .starts_with("machine.yaml:3:31: the size of memory 'host' is zero; leave `size` out"));
  BOOST_TEST(memory_error("host: {size: 1 GB, kind: disk}") ==
             "machine.yaml:3:28: kind of memory 'host' is 'disk'; one of: ram, storage, switch");
  BOOST_TEST(
      memory_error("host: {kind: switch, size: 1 GB}")
          .starts_with("machine.yaml:3:30: memory 'host' is a switch, but has a size; remove it"));
  BOOST_TEST(memory_error("host: {kind: switch, directory: /tmp}")
                 .starts_with("machine.yaml:3:35: memory 'host' is not storage, but has a"));
  BOOST_TEST(memory_error("host: {size: 1 GB, sise: 2 GB}") ==
             "machine.yaml:3:22: memory 'host' has no key 'sise'; did you mean 'size'?");
  BOOST_TEST(
      memory_error("host: {size: 1 GB, directory: x}")
          .starts_with("machine.yaml:3:33: memory 'host' is not storage, but has a directory"));
  BOOST_TEST(memory_error("host: 16 GiB") ==
             "machine.yaml:3:9: 'host' is '16 GiB'; write a map, {key: value, …}");
}

BOOST_AUTO_TEST_CASE(names_are_checked) {
  BOOST_TEST(
      memory_error("1host: {size: 1 GB}") ==
      "machine.yaml:3:3: a memory can't be named '1host'; begin with a letter or _, then use "
      "letters, digits, '_', '.' and '-'");
  BOOST_TEST(
      memory_error("\"a b\": {size: 1 GB}").starts_with("machine.yaml:3:3: a memory can't be"));
  BOOST_TEST(memory_error("é: {size: 1 GB}").starts_with("machine.yaml:3:3: a memory can't be"));
  BOOST_TEST(device_error("vram: {kind: cpu, memory: host}") ==
             "machine.yaml:6:3: the name 'vram' is taken; it is in line 4 too; give each device, "
             "memory and link a name of its own");
  BOOST_TEST(link_error("cpu: {between: [host, vram], bandwidth: 1 GB/s}")
                 .starts_with("machine.yaml:8:3: the name 'cpu' is taken; it is in line 6 too"));
}

BOOST_AUTO_TEST_CASE(devices_are_checked) {
  BOOST_TEST(device_error("cpu: {memory: host}") ==
             "machine.yaml:6:8: device 'cpu' has no 'kind'; add `kind: …`");
  BOOST_TEST(device_error("cpu: {kind: cpu}") ==
             "machine.yaml:6:8: device 'cpu' has no 'memory'; add `memory: …`");
  BOOST_TEST(device_error("cpu: {kind: gpus, memory: host}") ==
             "machine.yaml:6:15: kind of device 'cpu' is 'gpus'; did you mean 'gpu'?");
  BOOST_TEST(
      device_error("cpu: {kind: cpu, memory: hots}") ==
      "machine.yaml:6:28: memory of device 'cpu' is 'hots', which is no memory; did you mean "
      "'host'?");
  BOOST_TEST(device_error("cpu: {kind: cpu, memory: cpu}") ==
             "machine.yaml:6:28: memory of device 'cpu' is 'cpu', which is a device; name the "
             "device's memory");
  BOOST_TEST(device_error("cpu: {kind: cpu, memory: host, matmull: 1 GFLOP/s}") ==
             "machine.yaml:6:34: device 'cpu' has no key 'matmull'; did you mean 'matmul'?");
  BOOST_TEST(device_error("cpu: {kind: cpu, memory: host, copy: 1 GFLOP/s}")
                 .starts_with("machine.yaml:6:34: device 'cpu' has no key 'copy'; "));
  BOOST_TEST(
      device_error("cpu: {kind: cpu, memory: host, matmul: 1 GB/s}")
          .starts_with("machine.yaml:6:42: rate of device 'cpu' for matmul: '1 GB/s' is not a "
                       "rate: unknown unit 'GB/s'"));
  BOOST_TEST(
      device_error("cpu: {kind: cpu, memory: host, flops: 0 GFLOP/s}")
          .starts_with("machine.yaml:6:41: flops of device 'cpu': '0 GFLOP/s' is not a rate: "
                       "it must be above 0; units are "));
  BOOST_TEST(device_error("cpu: {kind: cpu, memory: host, bandwidth: -1 GB/s}")
                 .starts_with("machine.yaml:6:45: bandwidth of device 'cpu': '-1 GB/s' is not a "
                              "bandwidth: it must be above 0"));
  BOOST_TEST(
      device_error("cpu: {kind: cpu, memory: host, launch: -1 us}")
          .starts_with("machine.yaml:6:42: launch of device 'cpu': '-1 us' is not a duration: "
                       "it must not be negative"));
  for (const char* streams : {"0", "1025", "-1", "two", "1.5", "99999999999999999999"}) {
    BOOST_TEST(
        device_error("cpu: {kind: cpu, memory: host, streams: " + std::string(streams) + "}") ==
        "machine.yaml:6:43: streams of device 'cpu' is '" + std::string(streams) +
            "'; write a whole number from 1 to 1024");
  }
  BOOST_TEST(device_error("cpu: {kind: cpu, memory: host, streams: 1024}") == "");
  for (const char* depth : {"0", "1025", "-1", "two"}) {
    BOOST_TEST(
        device_error("gpu: {kind: gpu, memory: host, issue_depth: " + std::string(depth) + "}") ==
        "machine.yaml:6:47: issue_depth of device 'gpu' is '" + std::string(depth) +
            "'; write a whole number from 1 to 1024");
  }
  BOOST_TEST(device_error("gpu: {kind: gpu, memory: host, issue_depth: 1024}") == "");
  BOOST_TEST(device_error("cpu: {kind: cpu, memory: host, issue_depth: 2}") ==
             "machine.yaml:6:47: 'cpu' is a CPU, and its ops aren't issued ahead; remove "
             "`issue_depth`, or write kind: gpu");
  for (const char* number : {"64", "-1", "first"}) {
    BOOST_TEST(device_error("gpu: {kind: gpu, memory: host, gpu: " + std::string(number) + "}") ==
               "machine.yaml:6:39: gpu of device 'gpu' is '" + std::string(number) +
                   "'; write a whole number from 0 to 63");
  }
  BOOST_TEST(device_error("gpu: {kind: gpu, memory: host, gpu: 63}") == "");
  BOOST_TEST(device_error("cpu: {kind: cpu, memory: host, gpu: 0}") ==
             "machine.yaml:6:39: 'cpu' is a CPU, and `gpu` numbers GPUs; remove `gpu`, or write "
             "kind: gpu");
  BOOST_TEST(device_error("gpu: {kind: gpu, memory: host, tf32: true}") == "");
  BOOST_TEST(device_error("gpu: {kind: gpu, memory: host, tf32: 1}")
                 .starts_with("machine.yaml:6:40: tf32 of device 'gpu' is '1'"));
  BOOST_TEST(device_error("gpu: {kind: gpu, memory: host, cuda_graphs: 1}")
                 .starts_with("machine.yaml:6:47: cuda_graphs of device 'gpu' is '1'"));
  BOOST_TEST(device_error("cpu: {kind: cpu, memory: host, cuda_graphs: true}") ==
             "machine.yaml:6:47: 'cpu' is a CPU, and CUDA graphs are for GPUs; remove "
             "`cuda_graphs`, or write kind: gpu");
  BOOST_TEST(device_error("cpu: {kind: cpu, memory: host, tf32: false}") ==
             "machine.yaml:6:40: 'cpu' is a CPU, and TF32 is a format of GPUs; remove `tf32`, or "
             "write kind: gpu");
  BOOST_TEST(device_error("cpu: {kind: gpu, memory: host, cores: [0]}") ==
             "machine.yaml:6:41: 'cpu' has cores, but is no CPU; remove `cores`");
  BOOST_TEST(device_error("cpu: {kind: cpu, memory: host, cores: [0, 1, 0]}") ==
             "machine.yaml:6:48: cores of device 'cpu' name 0 twice; remove one");
  BOOST_TEST(device_error("cpu: {kind: cpu, memory: host, cores: [-1]}")
                 .starts_with("machine.yaml:6:42: cores of device 'cpu' is '-1'; "));
  BOOST_TEST(device_error("cpu: {kind: cpu, memory: host, cores: []}")
                 .starts_with("machine.yaml:6:41: cores of device 'cpu' is an empty list; "));
  BOOST_TEST(device_error("cpu: {kind: cpu, memory: host, cores: 2}")
                 .starts_with("machine.yaml:6:41: cores of device 'cpu' is '2'; write a list"));
}

BOOST_AUTO_TEST_CASE(a_device_in_storage_or_in_a_switch_is_refused) {
  BOOST_TEST(
      error({.devices = "cpu: {kind: cpu, memory: host}", .memories = "host: {kind: switch}"})
          .starts_with("machine.yaml:6:28: device 'cpu' can't compute in 'host', which is "
                       "a switch; "));
  BOOST_TEST(
      error({.devices = "cpu: {kind: cpu, memory: host}", .memories = "host: {kind: storage}"})
          .starts_with("machine.yaml:6:28: device 'cpu' can't compute in 'host', which is "
                       "storage; "));
}

BOOST_AUTO_TEST_CASE(links_are_checked) {
  BOOST_TEST(link_error("l: {bandwidth: 1 GB/s}") ==
             "machine.yaml:8:6: link 'l' has no 'between'; add `between: …`");
  BOOST_TEST(link_error("l: {between: [host, vram]}") ==
             "machine.yaml:8:6: link 'l' has no 'bandwidth'; add `bandwidth: …`");
  BOOST_TEST(
      link_error("l: {between: [host], bandwidth: 1 GB/s}") ==
      "machine.yaml:8:16: between of link 'l' lists 1; it takes two memories, as in [host, vram0]");
  BOOST_TEST(link_error("l: {between: [host, host], bandwidth: 1 GB/s}") ==
             "machine.yaml:8:23: link 'l' joins 'host' to itself; name two different memories");
  BOOST_TEST(link_error("l: {between: [host, vran], bandwidth: 1 GB/s}") ==
             "machine.yaml:8:23: between of link 'l' is 'vran', which is no memory; did you mean "
             "'vram'?");
  BOOST_TEST(
      link_error("l: {between: [cpu, vram], bandwidth: 1 GB/s}")
          .starts_with("machine.yaml:8:17: between of link 'l' is 'cpu', which is a device; "));
  BOOST_TEST(link_error("l: {between: [host, vram], bandwith: 1 GB/s}") ==
             "machine.yaml:8:30: link 'l' has no key 'bandwith'; did you mean 'bandwidth'?");
  BOOST_TEST(
      link_error("l: {between: [host, vram], bandwidth: 0 GB/s}")
          .starts_with("machine.yaml:8:41: bandwidth of link 'l': '0 GB/s' is not a bandwidth: "
                       "it must be above 0"));
  BOOST_TEST(link_error("l: {between: [host, vram], bandwidth: -1 GB/s}")
                 .starts_with("machine.yaml:8:41: bandwidth of link 'l': '-1 GB/s' is not a "
                              "bandwidth: it must be above 0"));
  BOOST_TEST(
      link_error("l: {between: [host, vram], bandwidth: 1 GB/s, latency: -1 us}")
          .starts_with("machine.yaml:8:58: latency of link 'l': '-1 us' is not a duration: it "
                       "must not be negative"));
  BOOST_TEST(link_error("l: {between: [host, vram], bandwidth: 1 GB/s, sharing: fiar}") ==
             "machine.yaml:8:58: sharing of link 'l' is 'fiar'; did you mean 'fair'?");
  BOOST_TEST(link_error("l: {between: [host, vram], bandwidth: 1 GB/s, chunk: 1 B}") ==
             "machine.yaml:8:56: chunk of link 'l' is '1 B'; write at least 4 KiB");
}

BOOST_AUTO_TEST_CASE(a_chunk_may_be_as_small_as_a_page) {
  const Machine m = load(R"(
devices: {c: {kind: cpu, memory: m}}
memories: {m: {size: 1 GB}, n: {size: 1 GB}}
links: {l: {between: [m, n], bandwidth: 1 GB/s, chunk: 4 KiB}}
)");
  BOOST_TEST(m.links.at(0).chunk_bytes == 4096U);
}

BOOST_AUTO_TEST_CASE(an_op_kind_with_the_name_of_a_key_changes_no_machine_file) {
  OpRegistry ops = pattern_ops();
  for (const std::string_view name : {"memory", "launch", "flops"}) {
    OpKind kind = ops[ops.find("relu")];
    kind.name = name;
    ops.add(kind);
  }
  const TemporaryFiles files;
  const Machine m = load_machine_file(
      files.write("m.yaml",
                  "devices: {d: {kind: cpu, memory: host, launch: 1 us, flops: 1 GFLOP/s}}\n"
                  "memories: {host: {size: 1 GiB}}\n"),
      ops);
  BOOST_TEST(m.devices.at(0).op_flops.empty());
  BOOST_TEST((m.devices.at(0).launch == std::chrono::microseconds(1)));
}

BOOST_AUTO_TEST_SUITE_END()
