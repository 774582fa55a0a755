// GPUs that are discovered: those of this host, and those of the nodes of a run.
#include "tests/support/gpu_files.hpp"

#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

using namespace troupe::testing;
using nlohmann::json;

BOOST_AUTO_TEST_SUITE(gpu_discovery)

BOOST_AUTO_TEST_CASE(a_run_file_may_ask_for_the_gpus_of_the_host) {
  const GpuFiles files(with_gpus +
                       "tensors: {x: {op: uniform, shape: [64, 64], on: gpu1}}\n"
                       "tasks:\n"
                       "  run:  {op: matmul, in: [x, x], repeat: 4, on: gpu1}\n"
                       "  copy: {op: copy, in: [run], to: mem0}\n");
  files.check_verified(
      files.on({{"TROUPE_STAND_IN_DEVICES", "2"}}, {"run", "run.yaml", "--json", "report.json"}));
}

// x (gpu0) ── y (gpu1)
BOOST_AUTO_TEST_CASE(discovered_gpus_copy_to_each_other_directly_where_they_can) {
  const GpuFiles files(with_gpus +
                       "tensors: {x: {op: uniform, shape: [64, 64], on: gpu0}}\n"
                       "tasks: {y: {op: relu, in: x, on: gpu1}}\n");
  const Words run{"run", "run.yaml", "--json", "report.json"};
  files.check_verified(files.on({{"TROUPE_STAND_IN_DEVICES", "2"}}, run));
  const std::string notes = files.report()["notes"].dump();
  BOOST_TEST(contains(notes, "peer0-1 copied directly between the memories of the GPUs."), notes);
  BOOST_TEST(has_worked(files.report(), "peer0-1 vram0→vram1"));
  files.check_verified(
      files.on({{"TROUPE_STAND_IN_DEVICES", "2"}, {"TROUPE_STAND_IN_NO_PEER_ACCESS", "1"}}, run));
  BOOST_TEST(has_worked(files.report(), "pcie0 vram0→mem0"));
  BOOST_TEST(!has_worked(files.report(), "peer0-1 vram0→vram1"));
}

BOOST_AUTO_TEST_CASE(a_machine_file_may_ask_for_the_gpus_of_the_host) {
  const GpuFiles files("machine: here.yaml\ntasks: {x: {op: uniform, shape: [8, 8], on: gpu0}}\n");
  files.write("here.yaml", "discover: {gpus: true, cpu_devices: 1}\n");
  files.check_verified(files.on({}, {"run", "run.yaml", "--json", "report.json"}));
  const Finished valid = files.on({{"TROUPE_STAND_IN_DEVICES", "2"}}, {"validate", "here.yaml"});
  BOOST_TEST_INFO(valid.err);
  BOOST_TEST(contains(valid.out, "a valid machine file: 3 devices"));
}

BOOST_AUTO_TEST_CASE(a_file_that_asks_for_gpus_where_none_can_be_used_is_told_why) {
  const std::vector<std::pair<Environment, Words>> cases{
      {{{"TROUPE_STAND_IN_DRIVER_VERSION", "0"}},
       {"there is no driver for NVIDIA's GPUs here; install it"}},
      {{{"TROUPE_STAND_IN_DRIVER_VERSION", "12040"}}, {"the driver is for CUDA 12.4"}},
      {no_gpu, {no_gpu_reason}},
  };
  const GpuFiles files(with_gpus + anything);
  for (const auto& [environment, words] : cases) {
    for (const std::string command : {"run", "simulate", "validate"}) {
      files.check_refused(files.on(environment, {command, "run.yaml"}),
                          joined(words, {"run.yaml:1:28: no GPU of this host can be used: "}));
    }
  }
}

BOOST_AUTO_TEST_CASE(cuda_is_loaded_only_for_what_uses_gpus) {
  for (const std::string machine : {"{discover: {}}", "{discover: {gpus: false}}"}) {
    const GpuFiles files("machine: " + machine + "\n" + anything);
    for (const std::string command : {"run", "simulate", "validate"}) {
      const Finished finished = files.on(recording(files), {command, "run.yaml"});
      BOOST_TEST(finished.exit_code == 0, finished.err);
      BOOST_TEST(!has_loaded_cuda(files));
    }
  }
  const GpuFiles files(with_gpus + anything);
  BOOST_TEST(files.on(recording(files), {"run", "run.yaml"}).exit_code == 0);
  BOOST_TEST(has_loaded_cuda(files));
}

//   leader: no GPU       n0: one GPU       n1: two GPUs
BOOST_AUTO_TEST_CASE(a_leader_without_gpus_uses_those_of_its_nodes) {
  const GpuFiles files(with_gpus +
                       "tensors: {x: {op: uniform, shape: [64, 64], on: n0.gpu0}}\n"
                       "tasks:\n"
                       "  a: {op: matmul, in: [x, x], repeat: 4, on: n0.gpu0}\n"
                       "  b: {op: add, in: [a, x], on: n1.gpu1}\n"
                       "  c: {op: scale, in: [b], alpha: 2, on: n1.gpu0}\n"
                       "  d: {op: copy, in: [c], to: n0.mem0}\n");
  const GpuNode n0(files, {"DEVICES=1"});
  const GpuNode n1(files, {"DEVICES=2"}, {"--devices", "2", "--storage"});
  const std::string nodes = n0.address() + "," + n1.address();
  files.check_verified(files.run_on(nodes));
  BOOST_TEST(has_worked(files.report(), "n1.gpu1"));
  const Finished valid = files.on(no_gpu, {"validate", "run.yaml", "--nodes", nodes});
  BOOST_TEST_INFO(valid.err);
  BOOST_TEST(contains(valid.out, "can run on 2 nodes with 6 devices"));
}

BOOST_AUTO_TEST_CASE(ops_without_a_place_run_on_the_gpus_of_nodes) {
  const GpuFiles files(with_gpus +
                       "tensors: {x: {op: uniform, shape: [256, 256]}}\n"
                       "tasks: {y: {op: matmul, in: [x, x], repeat: 8}}\n");
  const GpuNode n0(files, {"DEVICES=0"});
  const GpuNode n1(files, {"DEVICES=1"});
  files.check_verified(files.run_on(n0.address() + "," + n1.address()));
  BOOST_TEST(has_worked(files.report(), "n1.gpu0"));
}

BOOST_AUTO_TEST_CASE(local_nodes_share_the_gpus_of_the_host) {
  const GpuFiles files(with_gpus +
                       "tensors: {x: {op: uniform, shape: [64, 64], on: n0.gpu0}}\n"
                       "tasks:\n"
                       "  a: {op: matmul, in: [x, x], repeat: 4, on: n0.gpu0}\n"
                       "  b: {op: add, in: [a, x], on: n1.gpu0}\n");
  files.check_verified(
      files.on({{"TROUPE_STAND_IN_DEVICES", "1"}},
               {"run", "run.yaml", "--json", "report.json", "--local-nodes", "2"}));
}

BOOST_AUTO_TEST_CASE(a_file_that_asks_for_gpus_is_refused_if_none_of_them_can_be_opened) {
  const GpuFiles files(with_gpus + anything);
  files.check_refused(
      files.on({{"TROUPE_STAND_IN_DEVICES", "1"}, {"TROUPE_STAND_IN_DEVICE_LOST_AT", "1"}},
               {"run", "run.yaml", "--json", "report.json"}),
      {"run.yaml:1", "no GPU of this host can be used", "it can't be opened", "nvidia-smi"});
}

BOOST_AUTO_TEST_CASE(neither_leader_nor_nodes_load_cuda_for_a_run_that_asks_for_no_gpus) {
  const GpuFiles files("machine: {discover: {}}\n" + anything);
  const Words run{"run", "run.yaml", "--local-nodes", "2"};
  BOOST_TEST(files.on(recording(files), run).exit_code == 0);
  BOOST_TEST(!has_loaded_cuda(files));
}

BOOST_AUTO_TEST_CASE(a_leader_does_not_load_cuda_for_the_gpus_of_nodes) {
  const GpuFiles files(with_gpus + "tasks: {x: {op: uniform, shape: [8, 8], on: n0.gpu0}}\n");
  const GpuNode n0(files, {"DEVICES=1"});
  BOOST_TEST(files.on(recording(files), {"run", "run.yaml", "--nodes", n0.address()}).exit_code ==
             0);
  BOOST_TEST(!has_loaded_cuda(files));
}

BOOST_AUTO_TEST_CASE(a_node_that_is_asked_for_gpus_and_has_none_is_used_without_and_says_why) {
  const GpuFiles files(with_gpus +
                       "tasks:\n"
                       "  a: {op: uniform, shape: [64, 64], on: n0.gpu0}\n"
                       "  b: {op: relu, in: a, on: n1.cpu0}\n");
  const GpuNode n0(files, {"DEVICES=1"});
  const GpuNode n1(files, {"DRIVER_VERSION=0"}, {"--devices", "1"});
  const GpuNode n2(files, {"DEVICES=1"}, {"--no-gpus"});
  const Finished run = files.run_on(n0.address() + "," + n1.address() + "," + n2.address());
  files.check_verified(run);
  const std::string notes = files.report()["notes"].dump();
  for (const std::string& why : {"node n1 (" + n1.address() +
                                     "): no GPU of this host can be used: there is no driver for "
                                     "NVIDIA's GPUs here",
                                 "node n2 (" + n2.address() + "): it lends no GPUs (--no-gpus)"}) {
    BOOST_TEST(contains(run.err, why + "\n"), run.err);
    BOOST_TEST(contains(notes, "\"" + why + ".\""), notes);
  }
  BOOST_TEST(!contains(notes, "node n0"), notes);
}

BOOST_AUTO_TEST_CASE(a_run_that_asks_for_gpus_is_refused_if_no_node_has_any) {
  const GpuFiles files(with_gpus + anything);
  const GpuNode n0(files, {"DEVICES=1"}, {"--no-gpus"});
  const GpuNode n1(files, {"DRIVER_VERSION=0"});
  files.check_refused(files.run_on(n0.address() + "," + n1.address()),
                      {"GPUs are asked for, and none of the nodes has any",
                       "node n0 (" + n0.address() + "): it lends no GPUs (--no-gpus)",
                       "node n1 (" + n1.address() +
                           "): no GPU of this host can be used: there is "
                           "no driver for NVIDIA's GPUs here"});
}

BOOST_AUTO_TEST_SUITE_END()
