// What the program says of the GPUs of the host, and to profilers. Runs on the stand-in for the
// CUDA libraries, whose settings are in the environment.
#include "tests/support/contains.hpp"
#include "tests/support/data_bytes.hpp"
#include "tests/support/workspace.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

namespace troupe::testing {
BOOST_AUTO_TEST_SUITE(gpu_machine)
namespace {

using Environment = std::map<std::string, std::string>;

Finished run_on(Environment stand_in, const Workspace& workspace,
                const std::vector<std::string>& arguments) {
  ProgramOptions options = workspace.options();
  options.environment.merge(stand_in);
  return run_troupe(arguments, options);
}

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != text.npos; at += part.size()) ++found;
  return found;
}

BOOST_AUTO_TEST_CASE(the_machine_it_prints_has_the_gpus_and_runs_on_them) {
  const Workspace workspace;
  const Environment two_gpus{{"TROUPE_STAND_IN_DEVICES", "2"},
                             {"TROUPE_STAND_IN_MEMORY_MIB", "256"}};
  const Finished machine = run_on(two_gpus, workspace, {"machine"});
  BOOST_TEST_INFO(machine.out);
  BOOST_TEST(machine.exit_code == 0);
  BOOST_TEST(machine.err == "");
  BOOST_TEST(contains(machine.out, "# GPU 1: "));
  BOOST_TEST(contains(machine.out, "  gpu1: {kind: gpu, memory: vram1, "));
  BOOST_TEST(contains(machine.out, "  vram0: {size: "));
  BOOST_TEST(contains(machine.out, "  pcie0: {between: [mem0, vram0], "));
  BOOST_TEST(!contains(machine.out, "no GPU"));

  workspace.write("here.yaml", machine.out);
  workspace.write("run.yaml",
                  "machine: here.yaml\n"
                  "tensors:\n"
                  "  x: {op: uniform, shape: [64, 64], on: gpu1}\n"
                  "tasks:\n"
                  "  run:  {op: matmul, in: [x, x], repeat: 4, on: gpu1}\n"
                  "  copy: {op: copy, in: [run], to: mem0}\n");
  const Finished run = run_on(two_gpus, workspace, {"run", "run.yaml"});
  BOOST_TEST_INFO(run.out << run.err);
  BOOST_TEST(run.exit_code == 0);
  BOOST_TEST(contains(run.out, "gpu1"));
}

BOOST_AUTO_TEST_CASE(the_machine_it_prints_says_why_runs_have_no_gpu) {
  const Workspace workspace;
  const std::vector<std::pair<Environment, std::string_view>> cases{
      {{{"TROUPE_STAND_IN_DRIVER_VERSION", "0"}},
       "# runs have no GPU: there is no driver for NVIDIA's GPUs here; install it"},
      {{{"TROUPE_STAND_IN_DRIVER_VERSION", "12040"}},
       "# runs have no GPU: the driver is for CUDA 12.4, and this Troupe needs CUDA 13.0; install"},
      {{{"TROUPE_STAND_IN_DEVICES", "0"}},
       "# runs have no GPU: the driver has no GPU for this process; see what nvidia-smi says"},
  };
  for (const auto& [environment, why] : cases) {
    const Finished machine = run_on(environment, workspace, {"machine"});
    BOOST_TEST_INFO(machine.out << machine.err);
    BOOST_TEST(machine.exit_code == 0);
    BOOST_TEST(contains(machine.out, why));
    BOOST_TEST(!contains(machine.out, "gpu0"));
    workspace.write("here.yaml", machine.out);
    BOOST_TEST(run_on(environment, workspace, {"validate", "here.yaml"}).exit_code == 0);
  }
}

BOOST_AUTO_TEST_CASE(a_gpu_that_has_no_kernels_is_left_out) {
  const Workspace workspace;
  const auto print = [&](const std::string& gpus_without) {
    return run_on(
        {{"TROUPE_STAND_IN_DEVICES", "3"}, {"TROUPE_STAND_IN_NO_KERNEL_IMAGE", gpus_without}},
        workspace, {"machine"});
  };
  const Finished first = print("1");
  BOOST_TEST_INFO(first.out);
  BOOST_TEST(first.exit_code == 0);
  BOOST_TEST(contains(first.out, "# GPU 1: "));
  BOOST_TEST(contains(first.out, "# runs don't use GPU 0, "));
  BOOST_TEST(contains(first.out, "this Troupe no kernels for that"));
  BOOST_TEST(contains(first.out, "  gpu1: {kind: gpu, gpu: 1, memory: vram1, "));
  BOOST_TEST(contains(first.out, "  peer1-2: {between: [vram1, vram2], "));
  BOOST_TEST(!contains(first.out, "vram0"));

  const Finished all = print("7");
  BOOST_TEST_INFO(all.out);
  BOOST_TEST(all.exit_code == 0);
  for (const char* const gpu : {"# runs don't use GPU 0, ", "# runs don't use GPU 1, "}) {
    BOOST_TEST(contains(all.out, gpu));
  }
  BOOST_TEST(!contains(all.out, "no GPU found"));
  BOOST_TEST(!contains(all.out, "gpu0"));
}

BOOST_AUTO_TEST_CASE(a_run_file_that_names_a_gpu_that_was_left_out_is_told_why) {
  const Workspace workspace;
  workspace.write("run.yaml",
                  "machine: {discover: {gpus: true}}\n"
                  "tasks:\n"
                  "  x: {op: uniform, shape: [8, 8], on: gpu0}\n"
                  "  y: {op: copy, in: x, to: gpu1}\n");
  for (const auto& [without, missing] :
       {std::pair("1", "device 'gpu0'; it is without GPU 0, "),
        std::pair("2", "memory or device 'gpu1'; it is without GPU 1, ")}) {
    const Finished run =
        run_on({{"TROUPE_STAND_IN_DEVICES", "3"}, {"TROUPE_STAND_IN_NO_KERNEL_IMAGE", without}},
               workspace, {"run", "run.yaml"});
    BOOST_TEST_INFO(run.err);
    BOOST_TEST(run.exit_code == 2);
    BOOST_TEST(contains(run.err, missing));
    BOOST_TEST(contains(run.err, "no kernels for that"));
  }
}

BOOST_AUTO_TEST_CASE(a_machine_file_may_name_the_gpu_that_a_device_is) {
  const Workspace workspace;
  const auto run_gpu = [&](std::string_view number) {
    workspace.write("run.yaml", fmt::format("machine:\n"
                                            "  devices:\n"
                                            "    a: {{kind: gpu, memory: vram_a, gpu: {0}}}\n"
                                            "    b: {{kind: gpu, memory: vram_b, gpu: {0}}}\n"
                                            "  memories:\n"
                                            "    vram_a: {{size: 64 MiB}}\n"
                                            "    vram_b: {{size: 64 MiB}}\n"
                                            "tasks:\n"
                                            "  x: {{op: uniform, shape: [8, 8], on: a}}\n"
                                            "  y: {{op: uniform, shape: [8, 8], on: b}}\n",
                                            number));
    return run_on({{"TROUPE_STAND_IN_DEVICES", "2"}}, workspace, {"run", "run.yaml"});
  };
  const Finished shared = run_gpu("1");
  BOOST_TEST_INFO(shared.out << shared.err);
  BOOST_TEST(shared.exit_code == 0);
  const Finished missing = run_gpu("2");
  BOOST_TEST(missing.exit_code == 2);
  BOOST_TEST(contains(missing.err,
                      "run.yaml:3:5: a is a GPU, and this machine has no GPU 2: they "
                      "are 0 to 1; simulate it"));
}

//   n0.host ── network ── n1.host     each node is a process, and its gpu0 is the first GPU there
//      │                     │
//   n0.vram0              n1.vram0
BOOST_AUTO_TEST_CASE(each_node_of_a_run_has_the_gpus_of_its_host) {
  const Workspace workspace;
  workspace.write("run.yaml",
                  "machine:\n"
                  "  nodes:\n"
                  "    n:\n"
                  "      count: 2\n"
                  "      devices: {gpu0: {kind: gpu, memory: vram0}}\n"
                  "      memories: {host: {size: 64 MiB}, vram0: {size: 64 MiB}}\n"
                  "      links: {pcie0: {between: [host, vram0], bandwidth: 10 GB/s}}\n"
                  "  network: {bandwidth: 1 GB/s}\n"
                  "tensors:\n"
                  "  x: {op: uniform, shape: [40, 40], on: n0.gpu0}\n"
                  "tasks:\n"
                  "  run:  {op: matmul, in: [x, x], repeat: 4, on: n0.gpu0}\n"
                  "  back: {op: add, in: [run, x], on: n1.gpu0}\n");
  const Finished run = run_on({{"TROUPE_STAND_IN_DEVICES", "1"}}, workspace,
                              {"run", "run.yaml", "--local-nodes", "2"});
  BOOST_TEST_INFO(run.out << run.err);
  BOOST_TEST(run.exit_code == 0);
  BOOST_TEST(contains(run.out, "n1.gpu0"));
}

BOOST_AUTO_TEST_CASE(a_link_between_a_gpu_and_storage_says_what_to_link_instead) {
  const Workspace workspace;
  workspace.write("run.yaml",
                  "machine:\n"
                  "  devices: {gpu0: {kind: gpu, memory: vram0}}\n"
                  "  memories: {vram0: {size: 64 MiB}, disk: {kind: storage}}\n"
                  "  links: {direct: {between: [vram0, disk], bandwidth: 1 GB/s}}\n"
                  "tasks: {x: {op: uniform, shape: [8, 8], on: gpu0}}\n");
  const Finished run = run_on({}, workspace, {"run", "run.yaml"});
  BOOST_TEST(run.exit_code == 2);
  BOOST_TEST(contains(run.err,
                      "run.yaml:4:11: link direct joins vram0 and disk: a GPU copies between its "
                      "memory and one of the host or of another GPU only; link each of them"));
}

//   vram0 ──peer── vram1
BOOST_AUTO_TEST_CASE(gpus_copy_to_each_other_with_peer_access_and_without) {
  const Workspace workspace;
  workspace.write("run.yaml",
                  "machine:\n"
                  "  devices:\n"
                  "    gpu0: {kind: gpu, memory: vram0}\n"
                  "    gpu1: {kind: gpu, memory: vram1}\n"
                  "  memories: {vram0: {size: 64 MiB}, vram1: {size: 64 MiB}}\n"
                  "  links: {peer: {between: [vram0, vram1], bandwidth: 10 GB/s}}\n"
                  "tensors:\n"
                  "  x: {op: uniform, shape: [40, 40], on: gpu0}\n"
                  "tasks:\n"
                  "  y: {op: scale, in: [x], alpha: 2, repeat: 4, on: gpu1}\n"
                  "  z: {op: add, in: [y, x], on: gpu0}\n"
                  "scenarios: {first: [y, z], again: [y, z]}\n");
  for (const char* const refused : {"0", "1"}) {
    const Finished run =
        run_on({{"TROUPE_STAND_IN_DEVICES", "2"}, {"TROUPE_STAND_IN_NO_PEER_ACCESS", refused}},
               workspace, {"run", "run.yaml"});
    BOOST_TEST_INFO(run.out << run.err);
    BOOST_TEST(run.exit_code == 0);
    BOOST_TEST(run.err == "");
    const bool is_direct = *refused == '0';
    BOOST_TEST(
        contains(run.out, "Note: peer copied directly between the memories of the GPUs.\n") ==
        is_direct);
    BOOST_TEST(contains(run.out,
                        "Note: peer copied by way of the host's memory: the GPUs have no access to "
                        "each other's.\n") == !is_direct);
  }
}

//   y[0..39] (gpu0, 40 kB each) → s[0..39]     1.6 MB are more than a quarter of 4 MiB
BOOST_AUTO_TEST_CASE(a_report_says_how_many_results_were_not_compared) {
  const Workspace workspace;
  const auto run_with = [&](std::string_view size) {
    workspace.write("run.yaml", fmt::format("machine:\n"
                                            "  devices: {{gpu0: {{kind: gpu, memory: vram0}}}}\n"
                                            "  memories: {{vram0: {{size: {}}}}}\n"
                                            "tensors:\n"
                                            "  x: {{op: uniform, shape: [100, 100]}}\n"
                                            "tasks:\n"
                                            "  y: {{op: scale, in: [x], alpha: 2, repeat: 40}}\n"
                                            "  s: {{op: sum, in: [y], axis: 0}}\n",
                                            size));
    return run_on({}, workspace, {"run", "run.yaml"});
  };
  const Finished small = run_with("4 MiB");
  BOOST_TEST_INFO(small.out << small.err);
  BOOST_TEST(small.exit_code == 0);
  BOOST_TEST(contains(small.out, "40 of 80 results were not compared"));
  const Finished large = run_with("64 MiB");
  BOOST_TEST_INFO(large.out << large.err);
  BOOST_TEST(large.exit_code == 0);
  BOOST_TEST(contains(large.out, "GPUs round in another order"));
  BOOST_TEST(!contains(large.out, "not compared"));
}

// The listener stands for a profiler: it prints a line for each range.
BOOST_AUTO_TEST_CASE(a_profiler_is_told_the_name_of_each_op_and_copy) {
  const Workspace workspace;
  workspace.write("run.yaml",
                  "machine:\n"
                  "  devices: {gpu0: {kind: gpu, memory: vram0}}\n"
                  "  memories: {host: {size: 64 MiB}, vram0: {size: 64 MiB}}\n"
                  "  links: {pcie0: {between: [host, vram0], bandwidth: 10 GB/s}}\n"
                  "tensors:\n"
                  "  x: {op: uniform, shape: [32, 64], on: gpu0}\n"
                  "  y: {op: uniform, shape: [64, 16], on: gpu0}\n"
                  "tasks:\n"
                  "  run:  {op: matmul, in: [x, y], repeat: 3, on: gpu0}\n"
                  "  copy: {op: copy, in: [run], to: host}\n");
  const Finished run =
      run_on({{"NVTX_INJECTION64_PATH", RANGE_LISTENER}}, workspace, {"run", "run.yaml"});
  BOOST_TEST_INFO(run.out << run.err);
  BOOST_TEST(run.exit_code == 0);
  for (const std::string_view range :
       {"begins: uniform[0] float32 [32, 64]\n", "begins: matmul[0] float32 [32, 16]\n",
        "begins: matmul[2] float32 [32, 16]\n", "begins: copy[2] float32 [32, 16] from GPU 0\n"}) {
    BOOST_TEST_CONTEXT(range) BOOST_TEST(contains(run.err, range));
  }
  BOOST_TEST(count(run.err, "begins: ") == 8U);
  BOOST_TEST(count(run.err, "ends\n") == 8U);
  BOOST_TEST(!contains(run.out, "pageable memory"));
}

//   x.npy (host, mapped) → pcie0 → y (gpu0)
BOOST_AUTO_TEST_CASE(copies_of_pageable_memory_are_in_the_report_and_in_profiles) {
  const Workspace workspace;
  // With a header of 128 bytes: values that aren't aligned are copied to memory of the host.
  const std::string shape = "(2048, 1024)" + std::string(54, ' ');
  workspace.write("x.npy", npy_of("<f4", shape, std::string(8 << 20, '\0')));
  workspace.write("run.yaml",
                  "machine:\n"
                  "  devices: {cpu0: {kind: cpu, memory: host}, gpu0: {kind: gpu, memory: vram0}}\n"
                  "  memories: {host: {size: 64 MiB}, vram0: {size: 64 MiB}}\n"
                  "  links: {pcie0: {between: [host, vram0], bandwidth: 10 GB/s}}\n"
                  "tensors:\n"
                  "  x: {file: x.npy, on: cpu0}\n"
                  "tasks:\n"
                  "  y: {op: relu, in: x, on: gpu0}\n"
                  "scenarios: {first: [y], again: [y]}\n");
  const Finished run =
      run_on({{"NVTX_INJECTION64_PATH", RANGE_LISTENER}}, workspace, {"run", "run.yaml"});
  BOOST_TEST_INFO(run.out << run.err);
  BOOST_TEST(run.exit_code == 0);
  BOOST_TEST(contains(
      run.out, "Note: 16 MiB of pageable memory were copied to gpu0 by way of pinned memory.\n"));
  BOOST_TEST(count(run.err, "begins: copy[0] float32 [2048, 1024] to GPU 0\n") == 2U);
  BOOST_TEST(count(run.err, "ends\n") == count(run.err, "begins: "));
}

BOOST_AUTO_TEST_CASE(without_cuda_graphs_none_is_launched) {
  const Workspace workspace;
  workspace.write("run.yaml",
                  "machine:\n"
                  "  devices: {gpu0: {kind: gpu, memory: vram0, flops: 1 TFLOP/s}}\n"
                  "  memories: {vram0: {size: 64 MiB}}\n"
                  "tensors: {x: {op: uniform, shape: [8, 8], on: gpu0}}\n"
                  "tasks: {y: {op: relu, in: x, repeat: 32, on: gpu0}}\n");
  const auto work_of = [&](std::vector<std::string> command) {
    const Finished run = run_on({{"TROUPE_STAND_IN_TRACE", "1"}}, workspace, std::move(command));
    BOOST_TEST_INFO(run.out << run.err);
    BOOST_TEST(run.exit_code == 0);
    BOOST_TEST(contains(run.out, "results were compared within"));
    return run.err;
  };
  BOOST_TEST(contains(work_of({"run", "run.yaml"}), "cudaGraphLaunch"));
  BOOST_TEST(!contains(work_of({"run", "run.yaml", "--no-cuda-graphs"}), "cudaGraphLaunch"));
}

//   x ── square (gpu0) ── chained (gpu0)
BOOST_AUTO_TEST_CASE(products_in_tf32_are_compared_within_what_tf32_differs_by) {
  const Workspace workspace;
  const auto run_with = [&](std::string_view key, std::string_view dtype) {
    workspace.write("run.yaml",
                    fmt::format("machine:\n"
                                "  devices: {{gpu0: {{kind: gpu, memory: vram0{}}}}}\n"
                                "  memories: {{vram0: {{size: 64 MiB}}}}\n"
                                "tensors:\n"
                                "  x: {{op: uniform, shape: [64, 64], dtype: {}, on: gpu0}}\n"
                                "tasks:\n"
                                "  square:  {{op: matmul, in: [x, x], on: gpu0}}\n"
                                "  chained: {{op: matmul, in: [square, x], on: gpu0}}\n",
                                key, dtype));
    const Finished run = run_on({}, workspace, {"run", "run.yaml", "--json", "report.json"});
    BOOST_TEST_INFO(run.out << run.err);
    BOOST_TEST(run.exit_code == 0);
    return workspace.read("report.json");
  };
  for (const std::string_view dtype : {"float32", "float64"}) {
    const std::string report = run_with(", tf32: true", dtype);
    BOOST_TEST_INFO(report);
    BOOST_TEST(contains(report, "\"verified\": true"));
    BOOST_TEST(
        contains(report,
                 "\"Products of float32 on gpu0 may take their factors in TF32, with 10 bits of "
                 "mantissa.\""));
    BOOST_TEST(contains(report,
                        "and multiply float32 in TF32: results were compared within 0.0039 "
                        "(float32) and 1e-12 (float64) of the largest value."));
  }
  const std::string plain = run_with("", "float32");
  BOOST_TEST_INFO(plain);
  BOOST_TEST(contains(plain, "within 1e-05 (float32)"));
  BOOST_TEST(!contains(plain, "TF32"));
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe::testing
