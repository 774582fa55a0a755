// GPUs that are discovered: those of this host, and those of the nodes of a run. Each process has a
// stand-in for the CUDA libraries of its own, with settings of its own.
#include "tests/support/data_bytes.hpp"
#include "tests/support/node_process.hpp"
#include "tests/support/run_workspace.hpp"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

using namespace troupe::testing;
using nlohmann::json;

BOOST_AUTO_TEST_SUITE(gpu_nodes)
namespace {

using Environment = std::map<std::string, std::string>;
using Words = std::vector<std::string>;

const Environment no_gpu{{"TROUPE_STAND_IN_DEVICES", "0"}};
const std::string no_gpu_reason = "the driver has no GPU for this process";
const std::string with_gpus = "machine: {discover: {gpus: true}}\n";
const std::string anything = "tasks: {x: {op: uniform, shape: [4, 4]}}\n";

Words joined(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// A folder with a run file, and what runs there.
class Files : public RunWorkspace {
 public:
  explicit Files(const std::string& text) { write("run.yaml", text); }

  Finished on(Environment environment, const Words& arguments) const {
    ProgramOptions options = options_in(*this);
    options.environment.merge(environment);
    return run_troupe(arguments, options);
  }
  // The leader has no GPU.
  Finished run_on(const std::string& nodes, const Words& more = {}) const {
    return on(no_gpu, joined({"run", "run.yaml", "--json", "report.json", "--nodes", nodes}, more));
  }
  void check_verified(const Finished& finished) const {
    BOOST_TEST_INFO(finished.out << finished.err);
    BOOST_REQUIRE(finished.exit_code == 0);
    const json made = report();
    for (const json& scenario : made["scenarios"]) BOOST_TEST(scenario["verified"] == true);
  }
  // Status 2, one line with these words, and nothing has run.
  void check_refused(const Finished& finished, const Words& words) const {
    BOOST_TEST_INFO(finished.out << finished.err);
    BOOST_TEST(finished.exit_code == 2);
    BOOST_TEST(std::count(finished.err.begin(), finished.err.end(), '\n') == 1);
    for (const std::string& word : words) {
      BOOST_TEST(contains(finished.err, word), "no \"" << word << "\" in " << finished.err);
    }
    BOOST_TEST(!std::filesystem::exists(path() / "report.json"));
  }
};

// A node with settings of the stand-in: "DEVICES=2".
class GpuNode : public NodeProcess {
 public:
  GpuNode(const Workspace& workspace, const Words& settings, const Words& options = {},
          const std::string& listen = "127.0.0.1:0")
      : NodeProcess(workspace, environment(settings), listen, options) {}

 private:
  static Words environment(const Words& settings) {
    Words words = {"env"};
    for (const std::string& setting : settings) words.push_back("TROUPE_STAND_IN_" + setting);
    return words;
  }
};

// Has the loader write down which libraries a process loads.
Environment recording(const Workspace& workspace) {
  return {{"LD_DEBUG", "files"}, {"LD_DEBUG_OUTPUT", (workspace.path() / "loaded").string()}};
}
bool has_loaded_cuda(const Workspace& workspace) {
  bool has_recorded = false;
  bool has_cuda = false;
  for (const auto& entry : std::filesystem::directory_iterator(workspace.path())) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("loaded.")) continue;
    has_recorded = true;
    has_cuda = has_cuda || contains(workspace.read(name), "libtroupe_cuda.so");
    std::filesystem::remove(entry.path());
  }
  BOOST_TEST(has_recorded);
  return has_cuda;
}

bool has_worked(const json& report, const std::string& name) {
  const json& rows = report["scenarios"].at(0)["resources"];
  return std::any_of(rows.begin(), rows.end(), [&](const json& row) {
    return row["name"] == name && row["busy_s"].get<double>() > 0;
  });
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_run_file_may_ask_for_the_gpus_of_the_host) {
  const Files files(with_gpus +
                    "tensors: {x: {op: uniform, shape: [64, 64], on: gpu1}}\n"
                    "tasks:\n"
                    "  run:  {op: matmul, in: [x, x], repeat: 4, on: gpu1}\n"
                    "  copy: {op: copy, in: [run], to: mem0}\n");
  files.check_verified(
      files.on({{"TROUPE_STAND_IN_DEVICES", "2"}}, {"run", "run.yaml", "--json", "report.json"}));
}

// x (gpu0) ── y (gpu1)
BOOST_AUTO_TEST_CASE(discovered_gpus_copy_to_each_other_directly_where_they_can) {
  const Files files(with_gpus +
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
  const Files files("machine: here.yaml\ntasks: {x: {op: uniform, shape: [8, 8], on: gpu0}}\n");
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
  const Files files(with_gpus + anything);
  for (const auto& [environment, words] : cases) {
    for (const std::string command : {"run", "simulate", "validate"}) {
      files.check_refused(files.on(environment, {command, "run.yaml"}),
                          joined(words, {"run.yaml:1:28: no GPU of this host can be used: "}));
    }
  }
}

BOOST_AUTO_TEST_CASE(cuda_is_loaded_only_for_what_uses_gpus) {
  for (const std::string machine : {"{discover: {}}", "{discover: {gpus: false}}"}) {
    const Files files("machine: " + machine + "\n" + anything);
    for (const std::string command : {"run", "simulate", "validate"}) {
      const Finished finished = files.on(recording(files), {command, "run.yaml"});
      BOOST_TEST(finished.exit_code == 0, finished.err);
      BOOST_TEST(!has_loaded_cuda(files));
    }
  }
  const Files files(with_gpus + anything);
  BOOST_TEST(files.on(recording(files), {"run", "run.yaml"}).exit_code == 0);
  BOOST_TEST(has_loaded_cuda(files));
}

//   leader: no GPU       n0: one GPU       n1: two GPUs
BOOST_AUTO_TEST_CASE(a_leader_without_gpus_uses_those_of_its_nodes) {
  const Files files(with_gpus +
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
  const Files files(with_gpus +
                    "tensors: {x: {op: uniform, shape: [256, 256]}}\n"
                    "tasks: {y: {op: matmul, in: [x, x], repeat: 8}}\n");
  const GpuNode n0(files, {"DEVICES=0"});
  const GpuNode n1(files, {"DEVICES=1"});
  files.check_verified(files.run_on(n0.address() + "," + n1.address()));
  BOOST_TEST(has_worked(files.report(), "n1.gpu0"));
}

BOOST_AUTO_TEST_CASE(local_nodes_share_the_gpus_of_the_host) {
  const Files files(with_gpus +
                    "tensors: {x: {op: uniform, shape: [64, 64], on: n0.gpu0}}\n"
                    "tasks:\n"
                    "  a: {op: matmul, in: [x, x], repeat: 4, on: n0.gpu0}\n"
                    "  b: {op: add, in: [a, x], on: n1.gpu0}\n");
  files.check_verified(
      files.on({{"TROUPE_STAND_IN_DEVICES", "1"}},
               {"run", "run.yaml", "--json", "report.json", "--local-nodes", "2"}));
}

BOOST_AUTO_TEST_CASE(a_file_that_asks_for_gpus_is_refused_if_none_of_them_can_be_opened) {
  const Files files(with_gpus + anything);
  files.check_refused(
      files.on({{"TROUPE_STAND_IN_DEVICES", "1"}, {"TROUPE_STAND_IN_DEVICE_LOST_AT", "1"}},
               {"run", "run.yaml", "--json", "report.json"}),
      {"run.yaml:1", "none of them can be opened", "nvidia-smi"});
}

BOOST_AUTO_TEST_CASE(neither_leader_nor_nodes_load_cuda_for_a_run_that_asks_for_no_gpus) {
  const Files files("machine: {discover: {}}\n" + anything);
  const Words run{"run", "run.yaml", "--local-nodes", "2"};
  BOOST_TEST(files.on(recording(files), run).exit_code == 0);
  BOOST_TEST(!has_loaded_cuda(files));
}

BOOST_AUTO_TEST_CASE(a_leader_does_not_load_cuda_for_the_gpus_of_nodes) {
  const Files files(with_gpus + "tasks: {x: {op: uniform, shape: [8, 8], on: n0.gpu0}}\n");
  const GpuNode n0(files, {"DEVICES=1"});
  BOOST_TEST(files.on(recording(files), {"run", "run.yaml", "--nodes", n0.address()}).exit_code ==
             0);
  BOOST_TEST(!has_loaded_cuda(files));
}

BOOST_AUTO_TEST_CASE(a_node_that_is_asked_for_gpus_and_has_none_is_used_without_and_says_why) {
  const Files files(with_gpus +
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
  const Files files(with_gpus + anything);
  const GpuNode n0(files, {"DEVICES=1"}, {"--no-gpus"});
  const GpuNode n1(files, {"DRIVER_VERSION=0"});
  files.check_refused(files.run_on(n0.address() + "," + n1.address()),
                      {"the run asks for GPUs, and none of its nodes has any",
                       "node n0 (" + n0.address() + "): it lends no GPUs (--no-gpus)",
                       "node n1 (" + n1.address() +
                           "): no GPU of this host can be used: there is "
                           "no driver for NVIDIA's GPUs here"});
}

// A machine file in which n0 has one GPU and n1 two.
std::string described(const std::string& vram, const std::string& tasks) {
  return "machine:\n"
         "  nodes:\n"
         "    n0:\n"
         "      devices: {gpu0: {kind: gpu, memory: vram0}}\n"
         "      memories: {host: {size: 64 MiB}, vram0: {size: " +
         vram +
         "}}\n"
         "      links: {pcie0: {between: [host, vram0], bandwidth: 10 GB/s}}\n"
         "    n1:\n"
         "      devices: {gpu0: {kind: gpu, memory: vram0}, gpu1: {kind: gpu, memory: vram1}}\n"
         "      memories: {host: {size: 64 MiB}, vram0: {size: " +
         vram + "}, vram1: {size: " + vram +
         "}}\n"
         "      links:\n"
         "        pcie0: {between: [host, vram0], bandwidth: 10 GB/s}\n"
         "        pcie1: {between: [host, vram1], bandwidth: 10 GB/s}\n"
         "  network: {bandwidth: 1 GB/s}\n" +
         tasks;
}
const std::string on_both =
    "tensors: {x: {op: uniform, shape: [40, 40], on: n0.gpu0}}\n"
    "tasks:\n"
    "  run:  {op: matmul, in: [x, x], repeat: 4, on: n0.gpu0}\n"
    "  back: {op: add, in: [run, x], on: n1.gpu1}\n";

BOOST_AUTO_TEST_CASE(a_node_that_lends_no_gpus_refuses_a_machine_file_that_has_them_on_it) {
  const Files files(described("64 MiB", on_both));
  const GpuNode n0(files, {"DEVICES=1"}, {"--no-gpus"});
  const GpuNode n1(files, {"DEVICES=2"});
  files.check_refused(files.run_on(n0.address() + "," + n1.address()),
                      {"n0", "is a GPU, and this node lends none", "--no-gpus"});
}

BOOST_AUTO_TEST_CASE(nodes_of_a_machine_file_open_their_own_gpus_only) {
  const Files files(described("64 MiB", on_both));
  const GpuNode n0(files, {"DEVICES=1"});
  const GpuNode n1(files, {"DEVICES=2"});
  files.check_verified(files.run_on(n0.address() + "," + n1.address()));
}

// Each node has one GPU of the host: n0 and n1 the same, n2 another one, which is number 0 there,
// too.
BOOST_AUTO_TEST_CASE(devices_of_several_nodes_that_are_one_gpu_are_in_the_report) {
  const Files files(with_gpus +
                    "tasks:\n"
                    "  a: {op: uniform, shape: [8, 8], on: n0.gpu0}\n"
                    "  b: {op: relu, in: a, on: n2.gpu0}\n");
  const GpuNode n0(files, {"DEVICES=1"});
  const GpuNode n1(files, {"DEVICES=1"});
  const GpuNode n2(files, {"DEVICES=1", "FIRST_DEVICE=1"});
  files.check_verified(files.run_on(n0.address() + "," + n1.address() + "," + n2.address()));
  const std::string notes = files.report()["notes"].dump();
  BOOST_TEST(contains(notes, "\"n0.gpu0 and n1.gpu0 are the same GPU (number 0 of n0, "), notes);
  BOOST_TEST(!contains(notes, "n2.gpu0"), notes);
}

//   n0: x.npy (mapped) → pcie0 → y (gpu0) → network → n1: z (gpu0) → peer → w (gpu1)
BOOST_AUTO_TEST_CASE(how_the_gpus_of_nodes_have_copied_is_in_the_report) {
  const std::string has_pcie1 = "        pcie1: {between: [host, vram1], bandwidth: 10 GB/s}\n";
  std::string text = described("64 MiB",
                               "tensors:\n"
                               "  x: {file: x.npy, on: n0.cpu0}\n"
                               "tasks:\n"
                               "  y: {op: relu, in: x, on: n0.gpu0}\n"
                               "  z: {op: relu, in: y, on: n1.gpu0}\n"
                               "  w: {op: relu, in: z, on: n1.gpu1}\n"
                               "scenarios: {first: [w], again: [w]}\n");
  text.replace(text.find("{gpu0:"), 1, "{cpu0: {kind: cpu, memory: host}, ");
  text.replace(text.find("vram1}}"), 7, "vram1, tf32: true}}");
  text.insert(text.find(has_pcie1),
              "        peer: {between: [vram0, vram1], bandwidth: 10 GB/s}\n");
  for (const auto& [setting, way] : std::vector<std::pair<std::string, std::string>>{
           {"NO_PEER_ACCESS=0", "n1.peer copied directly between the memories of the GPUs."},
           {"NO_PEER_ACCESS=1", "n1.peer copied by way of the host's memory"}}) {
    const Files files(text);
    files.write("x.npy",
                npy_of("<f4", "(1024, 1024)" + std::string(54, ' '), std::string(4 << 20, '\0')));
    const GpuNode n0(files, {"DEVICES=1", "FIRST_DEVICE=4"});
    const GpuNode n1(files, {"DEVICES=2", setting});
    files.check_verified(files.run_on(n0.address() + "," + n1.address()));
    const std::string notes = files.report()["notes"].dump();
    BOOST_TEST(contains(notes, "Products of float32 on n1.gpu1 may take their factors in TF32"),
               notes);
    BOOST_TEST(contains(notes, way), notes);
    BOOST_TEST(
        contains(notes, "8 MiB of pageable memory were copied to n0.gpu0 by way of pinned memory."),
        notes);
  }
}

BOOST_AUTO_TEST_CASE(a_node_that_lacks_a_gpu_of_a_machine_file_is_named_with_the_reason) {
  const Files files(described("64 MiB", on_both));
  const GpuNode full(files, {"DEVICES=2"});
  const GpuNode one(files, {"DEVICES=1"});
  const GpuNode none(files, {"DEVICES=0"});
  files.check_refused(files.run_on(full.address() + "," + one.address()),
                      {"node n1 (" + one.address() +
                           "): n1.gpu1 is a GPU, and this machine has "
                           "only one",
                       "simulate the file"});
  files.check_refused(files.run_on(none.address() + "," + full.address()),
                      {"node n0 (" + none.address() + "): n0.gpu0 is a GPU", no_gpu_reason});
}

// 116 MB are more than 104 MiB, which are 200 MiB less 64 MiB, and 32 MiB for its stream.
BOOST_AUTO_TEST_CASE(a_plan_that_the_gpu_of_a_node_can_not_hold_is_refused_first) {
  const std::string tasks =
      "tasks: {x: {op: uniform, shape: [2400, 2400], on: n1.gpu0, repeat: 5}}\n"
      "scenarios: {all: [x]}\n";
  for (const std::string& text : {described("1 TiB", tasks), with_gpus + tasks}) {
    const Files files(text);
    const GpuNode n0(files, {"DEVICES=1", "FIRST_DEVICE=4", "MEMORY_MIB=512"});
    const GpuNode small(files, {"DEVICES=2", "MEMORY_MIB=200"});
    const GpuNode large(files, {"DEVICES=2", "MEMORY_MIB=512"});
    files.check_refused(files.run_on(n0.address() + "," + small.address(), {"--no-verify"}),
                        {"n1.vram0", "104 MiB"});
    const Finished fits = files.run_on(n0.address() + "," + large.address(), {"--no-verify"});
    BOOST_TEST(fits.exit_code == 0, fits.err);
  }
}

// Two nodes with one GPU of 512 MiB, of which each leaves 96 MiB to libraries: 160 MiB are left for
// the tensors of each. Five have 115 MB, eight 184 MB.
BOOST_AUTO_TEST_CASE(nodes_whose_machine_file_names_the_same_gpu_share_its_memory) {
  const auto tasks = [](int count) {
    return "tasks: {x: {op: uniform, shape: [2400, 2400], on: n1.gpu0, repeat: " +
           std::to_string(count) + "}}\nscenarios: {all: [x]}\n";
  };
  for (const auto& [count, fits] : {std::pair(5, true), std::pair(8, false)}) {
    const Files files(described("1 TiB", tasks(count)));
    const GpuNode n0(files, {"DEVICES=1", "MEMORY_MIB=512"});
    const GpuNode n1(files, {"DEVICES=2", "MEMORY_MIB=512"});
    const Finished run = files.run_on(n0.address() + "," + n1.address(), {"--no-verify"});
    if (fits) {
      BOOST_TEST(run.exit_code == 0, run.err);
    } else {
      files.check_refused(run,
                          {"n0.vram0 and n1.vram0 share 320 MiB that are free on GPU 0 of n0"});
    }
  }
}

// n1 has 416 MiB for tensors, and then 104 MiB.
BOOST_AUTO_TEST_CASE(
    a_node_with_less_free_memory_on_its_gpu_does_not_take_the_place_of_a_lost_one) {
  const Files files(
      described("1 TiB",
                "tensors: {x: {op: uniform, shape: [64, 64], on: n1.gpu0}}\n"
                "tasks:\n"
                "  first: {op: scale, in: [x], alpha: 2, on: n0.gpu0}\n"
                "  nap: {op: sleep, duration: 20 ms, in: [x], repeat: 100, on: n1.gpu0}\n"
                "save: {first: first-is-done.npy}\n"
                "scenarios: {first: [first], second: [nap]}\n"));
  const GpuNode n0(files, {"DEVICES=1", "FIRST_DEVICE=4"});
  GpuNode n1(files, {"DEVICES=2", "MEMORY_MIB=512"});
  Program run(troupe_command({"run", "run.yaml", "--json", "report.json", "--nodes",
                              n0.address() + "," + n1.address(), "--on-loss", "wait"}),
              options_in(files));
  BOOST_REQUIRE(
      run.wait_until([&] { return std::filesystem::exists(files.path() / "first-is-done.npy"); }));
  n1.program().send(SIGKILL);
  n1.end();
  const GpuNode smaller(files, {"DEVICES=2", "MEMORY_MIB=200"}, {}, n1.address());
  const Finished finished = run.wait();
  BOOST_TEST(finished.exit_code == 1);
  BOOST_TEST(contains(finished.err, "n1.vram0 has 104 MiB instead of 416 MiB"), finished.err);
}

BOOST_AUTO_TEST_CASE(a_node_in_the_place_of_a_lost_one_has_its_gpus) {
  const Files files(with_gpus +
                    "tensors: {x: {op: uniform, shape: [64, 64], on: n1.gpu0}}\n"
                    "tasks:\n"
                    "  first: {op: scale, in: [x], alpha: 2, on: n0.gpu0}\n"
                    "  nap: {op: sleep, duration: 20 ms, in: [x], repeat: 100, on: n1.gpu0}\n"
                    "save: {first: first-is-done.npy}\n"
                    "scenarios: {first: [first], second: [nap]}\n");
  Program run(troupe_command({"run", "run.yaml", "--json", "report.json", "--local-nodes", "2",
                              "--on-loss", "wait"}),
              options_in(files));
  BOOST_REQUIRE(
      run.wait_until([&] { return std::filesystem::exists(files.path() / "first-is-done.npy"); }));
  std::vector<pid_t> nodes = processes_in(files.path());
  std::erase(nodes, run.pid());
  BOOST_REQUIRE(nodes.size() == 2U);
  kill(std::max(nodes[0], nodes[1]), SIGKILL);
  const Finished finished = run.wait();
  files.check_verified(finished);
  BOOST_TEST(contains(finished.err, "has joined"));
  BOOST_TEST(has_worked(files.report(), "n0.gpu0"));
}

BOOST_AUTO_TEST_SUITE_END()
