// The GPUs of nodes: those that a machine file describes, those that are one, and those of nodes
// that take the places of others.
#include "tests/support/data_bytes.hpp"
#include "tests/support/gpu_files.hpp"

#include <csignal>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

using namespace troupe::testing;
using nlohmann::json;

BOOST_AUTO_TEST_SUITE(gpu_nodes)
namespace {

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

// The device has four seconds of work when first-is-done.npy is there.
std::string naps_on(const std::string& device) {
  return "tensors: {x: {op: uniform, shape: [64, 64], on: " + device +
         "}}\n"
         "tasks:\n"
         "  first: {op: scale, in: [x], alpha: 2, on: n0.gpu0}\n"
         "  nap: {op: sleep, duration: 20 ms, in: [x], repeat: 200, on: " +
         device +
         "}\n"
         "save: {first: first-is-done.npy}\n"
         "scenarios: {first: [first], second: [nap]}\n";
}

// A run of such a file on two nodes, of which the second one has just been killed. It waits for
// another one there.
class RunThatLoses {
 public:
  RunThatLoses(const GpuFiles& files, const GpuNode& n0, GpuNode& n1)
      : run_(troupe_command({"run", "run.yaml", "--json", "report.json", "--nodes",
                             n0.address() + "," + n1.address(), "--on-loss", "wait"}),
             options_in(files)) {
    const std::filesystem::path saved = files.path() / "first-is-done.npy";
    BOOST_REQUIRE(run_.wait_until([&] { return std::filesystem::exists(saved); }));
    n1.program().send(SIGKILL);
    n1.end();
  }
  Finished wait() { return run_.wait(); }

 private:
  Program run_;
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_node_that_lends_no_gpus_refuses_a_machine_file_that_has_them_on_it) {
  const GpuFiles files(described("64 MiB", on_both));
  const GpuNode n0(files, {"DEVICES=1"}, {"--no-gpus"});
  const GpuNode n1(files, {"DEVICES=2"});
  files.check_refused(files.run_on(n0.address() + "," + n1.address()),
                      {"n0", "is a GPU, and this node lends none", "--no-gpus"});
}

BOOST_AUTO_TEST_CASE(nodes_of_a_machine_file_open_their_own_gpus_only) {
  const GpuFiles files(described("64 MiB", on_both));
  const GpuNode n0(files, {"DEVICES=1"});
  const GpuNode n1(files, {"DEVICES=2"});
  files.check_verified(files.run_on(n0.address() + "," + n1.address()));
}

// The first kernel of n1 fails: one that warms up, and no op of the run.
BOOST_AUTO_TEST_CASE(the_gpus_of_a_node_have_computed_each_kind_of_op_before_a_run_begins) {
  const GpuFiles files(described("64 MiB", on_both));
  const GpuNode n0(files, {"DEVICES=1"});
  const GpuNode n1(files, {"DEVICES=2", "KERNEL_FAULT_AT=1"});
  const Finished finished = files.run_on(n0.address() + "," + n1.address());
  BOOST_TEST(finished.exit_code == 2);
  BOOST_TEST(contains(finished.err, "node n1"), finished.err);
  BOOST_TEST(contains(finished.err, "can't compute 'add'"), finished.err);
}

// Each node has one GPU of the host: n0 and n1 the same, n2 another one, which is number 0 there,
// too.
BOOST_AUTO_TEST_CASE(devices_of_several_nodes_that_are_one_gpu_are_in_the_report) {
  const GpuFiles files(with_gpus +
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
    const GpuFiles files(text);
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
  const GpuFiles files(described("64 MiB", on_both));
  const GpuNode full(files, {"DEVICES=2"});
  const GpuNode one(files, {"DEVICES=1"});
  const GpuNode none(files, {"DEVICES=0"});
  files.check_refused(files.run_on(full.address() + "," + one.address()),
                      {"node n1 (" + one.address() +
                           "): n1.gpu1 is a GPU, and this machine has "
                           "only one",
                       "simulate it"});
  files.check_refused(files.run_on(none.address() + "," + full.address()),
                      {"node n0 (" + none.address() + "): n0.gpu0 is a GPU", no_gpu_reason});
}

// 116 MB are more than 104 MiB, which are 296 MiB less 96 MiB, and as much for its stream.
BOOST_AUTO_TEST_CASE(a_plan_that_the_gpu_of_a_node_can_not_hold_is_refused_first) {
  const std::string tasks =
      "tasks: {x: {op: uniform, shape: [2400, 2400], on: n1.gpu0, repeat: 5}}\n"
      "scenarios: {all: [x]}\n";
  for (const std::string& text : {described("1 TiB", tasks), with_gpus + tasks}) {
    const GpuFiles files(text);
    const GpuNode n0(files, {"DEVICES=1", "FIRST_DEVICE=4", "MEMORY_MIB=704"});
    const GpuNode small(files, {"DEVICES=2", "MEMORY_MIB=296"});
    const GpuNode large(files, {"DEVICES=2", "MEMORY_MIB=704"});
    files.check_refused(files.run_on(n0.address() + "," + small.address(), {"--no-verify"}),
                        {"n1.vram0", "104 MiB"});
    const Finished fits = files.run_on(n0.address() + "," + large.address(), {"--no-verify"});
    BOOST_TEST(fits.exit_code == 0, fits.err);
  }
}

// Two nodes with one GPU of 704 MiB, of which each leaves 192 MiB to libraries: 160 MiB are left
// for the tensors of each. Five have 115 MB, eight 184 MB.
BOOST_AUTO_TEST_CASE(nodes_whose_machine_file_names_the_same_gpu_share_its_memory) {
  const auto tasks = [](int count) {
    return "tasks: {x: {op: uniform, shape: [2400, 2400], on: n1.gpu0, repeat: " +
           std::to_string(count) + "}}\nscenarios: {all: [x]}\n";
  };
  for (const auto& [count, fits] : {std::pair(5, true), std::pair(8, false)}) {
    const GpuFiles files(described("1 TiB", tasks(count)));
    const GpuNode n0(files, {"DEVICES=1", "MEMORY_MIB=704"});
    const GpuNode n1(files, {"DEVICES=2", "MEMORY_MIB=704"});
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
  const GpuFiles files(described("1 TiB", naps_on("n1.gpu0")));
  const GpuNode n0(files, {"DEVICES=1", "FIRST_DEVICE=4"});
  GpuNode n1(files, {"DEVICES=2", "MEMORY_MIB=608"});
  RunThatLoses run(files, n0, n1);
  const GpuNode smaller(files, {"DEVICES=2", "MEMORY_MIB=296"}, {}, n1.address());
  const Finished finished = run.wait();
  BOOST_TEST(finished.exit_code == 1);
  BOOST_TEST(contains(finished.err, "n1.vram0 has 104 MiB instead of 416 MiB"), finished.err);
}

// n1 has GPUs of its own first, and then that of n0.
BOOST_AUTO_TEST_CASE(the_report_names_the_gpus_of_a_node_that_has_taken_the_place_of_a_lost_one) {
  const GpuFiles files(described("64 MiB", naps_on("n1.gpu0")));
  const GpuNode n0(files, {"DEVICES=1"});
  GpuNode n1(files, {"DEVICES=2", "FIRST_DEVICE=4"});
  RunThatLoses run(files, n0, n1);
  const GpuNode other(files, {"DEVICES=2"}, {}, n1.address());
  files.check_verified(run.wait());
  const std::string notes = files.report()["notes"].dump();
  BOOST_TEST(contains(notes, "\"n0.gpu0 and n1.gpu0 are the same GPU (number 0 of n0, "), notes);
}

// n0 and n1 have the same two GPUs, as has the node that takes the place of n0.
BOOST_AUTO_TEST_CASE(a_node_in_the_place_of_a_lost_one_has_its_gpus) {
  const GpuFiles files(with_gpus + naps_on("n0.gpu0"));
  Program run(troupe_command({"run", "run.yaml", "--json", "report.json", "--local-nodes", "2",
                              "--on-loss", "wait"}),
              options_in(files));
  BOOST_REQUIRE(
      run.wait_until([&] { return std::filesystem::exists(files.path() / "first-is-done.npy"); }));
  std::vector<pid_t> nodes = processes_in(files.path());
  std::erase(nodes, run.pid());
  BOOST_REQUIRE(nodes.size() == 2U);
  kill(std::min(nodes[0], nodes[1]), SIGKILL);
  const Finished finished = run.wait();
  files.check_verified(finished);
  BOOST_TEST(contains(finished.err, "has joined"));
  BOOST_TEST(has_worked(files.report(), "n0.gpu0"));
  const json notes = files.report()["notes"];
  BOOST_TEST(std::count_if(notes.begin(), notes.end(), [](const json& note) {
               return contains(note.get<std::string>(), "are the same GPU");
             }) == 2);
}

BOOST_AUTO_TEST_SUITE_END()
