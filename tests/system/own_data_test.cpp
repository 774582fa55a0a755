// Tensors from files, and results saved to files, through the program.
#include "tests/support/data_bytes.hpp"
#include "tests/support/refusal.hpp"

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

using namespace troupe::testing;
namespace fs = std::filesystem;

BOOST_AUTO_TEST_SUITE(own_data)
namespace {

template <class T>
std::string bytes_of_numbers(const std::vector<T>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(T)};
}

// The numbers at the end of a file.
template <class T>
std::vector<T> last_numbers(const std::string& file, std::size_t count) {
  std::vector<T> numbers(count);
  BOOST_REQUIRE(file.size() >= count * sizeof(T));
  std::memcpy(numbers.data(), file.data() + file.size() - count * sizeof(T), count * sizeof(T));
  return numbers;
}

const std::string floats = bytes_of_numbers<float>({1, 2, 3, 4});
const std::string machine = with_tasks("");

// A run file with these tensors, tasks and saves.
std::string run_file(const std::string& tensors, const std::string& tasks,
                     const std::string& save = "") {
  return machine.substr(0, machine.find("tasks:")) + "tensors: {" + tensors + "}\ntasks: {" +
         tasks + "}\n" + (save.empty() ? "" : "save: {" + save + "}\n");
}

// Files of tensors: x.npy is [[1, 2], [3, 4]].
class Ready : public Workspace {
 public:
  Ready() {
    write("x.npy", npy_of("<f4", "(2, 2)", floats));
    write("i.npy", npy_of("<i8", "(3,)", bytes_of_numbers<std::int64_t>({5, -6, 1LL << 40})));
    write("m.safetensors",
          safetensors_bytes(R"({"w":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},)"
                            R"("half":{"dtype":"F16","shape":[1],"data_offsets":[16,18]}})",
                            floats + "hh"));
  }
  // Checks that both modes, or one of them, refuse the file; `start` begins the message.
  void refuse(const std::string& text, const std::string& start,
              const std::vector<std::string>& words,
              const std::vector<std::string>& modes = both_modes) const {
    write("run.yaml", text);
    for (const std::string& mode : modes) check_refused(*this, {mode, "run.yaml"}, start, words);
  }
  void refuse_tensor(const std::string& tensor, const std::vector<std::string>& words,
                     const std::vector<std::string>& modes = both_modes) const {
    refuse(run_file("x: " + tensor, "y: {op: copy, in: x, to: far}"), "run.yaml:", words, modes);
  }
  void refuse_save(const std::string& save, const std::vector<std::string>& words,
                   const std::vector<std::string>& modes = both_modes) const {
    refuse(run_file("x: {file: x.npy, on: cpu0}",
                    "y: {op: matmul, in: [x, x], on: cpu0}, "
                    "ys: {op: relu, in: x, repeat: 3, on: cpu0}",
                    save),
           "run.yaml:", words, modes);
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(values_of_files_are_computed_with_and_results_are_saved) {
  const Ready ready;
  ready.write("run.yaml",
              run_file("x: {file: x.npy, shape: [2, 2], dtype: float32, on: cpu0}, "
                       "w: {file: m.safetensors, tensor: w, on: cpu0}, i: {file: i.npy, on: cpu1}",
                       "y: {op: matmul, in: [x, w], on: cpu0}, j: {op: add, in: [i, i], on: cpu1}, "
                       "ys: {op: relu, in: y, repeat: 3, on: cpu0}",
                       "y: out/y.npy, j: j.npy, ys: 'ys-{i}.npy', \"ys[1]\": all.safetensors, "
                       "x: all.safetensors"));
  fs::create_directory(ready.path() / "out");
  const Finished finished = ready.run({"run", "run.yaml"});
  BOOST_TEST(finished.exit_code == 0, finished.err);
  BOOST_TEST(finished.out.find("saved 6 files") != std::string::npos);
  const std::vector<float> product = {7, 10, 15, 22};
  BOOST_TEST((last_numbers<float>(ready.read("out/y.npy"), 4) == product));
  BOOST_TEST((last_numbers<std::int64_t>(ready.read("j.npy"), 3) ==
              std::vector<std::int64_t>{10, -12, 1LL << 41}));
  for (const char* name : {"ys-0.npy", "ys-1.npy", "ys-2.npy"}) {
    BOOST_TEST((last_numbers<float>(ready.read(name), 4) == product));
  }
  const std::string both = ready.read("all.safetensors");
  BOOST_TEST(both.find(R"("ys[1]":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]})") !=
             std::string::npos);
  BOOST_TEST((last_numbers<float>(both, 4) == std::vector<float>{1, 2, 3, 4}));
}

BOOST_AUTO_TEST_CASE(what_was_saved_can_be_read_by_the_next_run) {
  const Ready ready;
  ready.write("first.yaml", run_file("x: {file: x.npy, on: cpu0}",
                                     "y: {op: add, in: [x, x], on: cpu0}", "y: y.safetensors"));
  ready.write("second.yaml", run_file("x: {file: y.safetensors, tensor: y, on: cpu0}",
                                      "y: {op: add, in: [x, x], on: cpu0}", "y: y.npy"));
  BOOST_TEST(ready.run({"run", "first.yaml"}).exit_code == 0);
  BOOST_TEST(ready.run({"run", "second.yaml"}).exit_code == 0);
  BOOST_TEST((last_numbers<float>(ready.read("y.npy"), 4) == std::vector<float>{4, 8, 12, 16}));
}

BOOST_AUTO_TEST_CASE(paths_are_relative_to_the_run_file) {
  const Ready ready;
  ready.write("deep/run.yaml", run_file("x: {file: ../x.npy, on: cpu0}",
                                        "y: {op: relu, in: x, on: cpu0}", "y: y.npy"));
  BOOST_TEST(ready.run({"run", "deep/run.yaml"}).exit_code == 0);
  BOOST_TEST(fs::exists(ready.path() / "deep/y.npy"));
}

BOOST_AUTO_TEST_CASE(a_simulation_needs_only_the_header_and_saves_nothing) {
  const Ready ready;
  const std::string whole = ready.read("x.npy");
  ready.write("x.npy", whole.substr(0, whole.size() - 16));
  ready.write("run.yaml", run_file("x: {file: x.npy, on: cpu0}", "y: {op: relu, in: x, on: cpu0}",
                                   "y: nowhere/y.npy"));
  const auto before = ready.snapshot();
  BOOST_TEST(ready.run({"simulate", "run.yaml"}).exit_code == 0);
  BOOST_TEST((ready.snapshot() == before));
}

BOOST_AUTO_TEST_CASE(a_simulation_needs_no_file_if_shape_and_type_are_declared) {
  const Ready ready;
  ready.write("run.yaml", run_file("x: {file: absent.npy, shape: [2, 2], dtype: int32, on: cpu0}",
                                   "y: {op: add, in: [x, x], on: cpu0}"));
  BOOST_TEST(ready.run({"simulate", "run.yaml"}).exit_code == 0);
  check_refused(ready, {"run", "run.yaml"},
                "run.yaml:", {"'absent.npy': there is no such file", "check the path"});
  const Finished validated = ready.run({"validate", "run.yaml"});
  BOOST_TEST(validated.out.find("\n  can be simulated\n") != std::string::npos);
  BOOST_TEST(validated.out.find("there is no such file") != std::string::npos);
}

// A GPU can't read files, and a simulation doesn't pretend that it could.
BOOST_AUTO_TEST_CASE(a_simulated_gpu_gets_the_tensors_of_files_from_a_cpu) {
  const Ready ready;
  const std::string with_gpu =
      "machine:\n"
      "  devices:\n"
      "    cpu0: {kind: cpu, memory: host, flops: 1 GFLOP/s}\n"
      "    gpu0: {kind: gpu, memory: vram, flops: 1 TFLOP/s}\n"
      "  memories: {host: {size: 1 GiB}, vram: {size: 1 GiB}}\n"
      "  links: {pcie: {between: [host, vram], bandwidth: 1 GB/s}}\n";
  const auto simulated = [&](const std::string& on) {
    ready.write("run.yaml", with_gpu + "tensors: {x: {file: x.npy" + on +
                                "}}\ntasks: {y: {op: relu, in: x, on: gpu0}}\n");
    return ready.run({"simulate", "run.yaml"});
  };
  const Finished chosen = simulated("");
  BOOST_TEST(chosen.exit_code == 0, chosen.err);
  BOOST_TEST(chosen.out == simulated(", on: cpu0").out);
  const Finished refused = simulated(", on: gpu0");
  BOOST_TEST(refused.exit_code == 2);
  BOOST_TEST(
      refused.err.find("placed on gpu0, which has no kernel for 'load'") != std::string::npos,
      refused.err);
}

BOOST_AUTO_TEST_CASE(a_file_that_is_not_what_is_declared_or_not_there_is_refused) {
  const Ready ready;
  ready.refuse_tensor("{file: absent.npy}",
                      {"'absent.npy'", "no such file", "`shape` and `dtype`"});
  ready.refuse_tensor("{file: absent.npy, shape: [2]}", {"no such file"});
  ready.refuse_tensor("{file: x.npy, shape: [4]}",
                      {"shape of 'x' is [4]", "float32 [2, 2]", "remove `shape`"});
  ready.refuse_tensor("{file: x.npy, dtype: float64}",
                      {"dtype of 'x' is float64", "float32 [2, 2]", "remove `dtype`"});
  ready.refuse_tensor("{file: x.npy, dtype: float16}", {"float16"});
  ready.refuse_tensor("{file: x.npy, tensor: x}", {"names a tensor", "remove `tensor`"});
  ready.refuse_tensor("{file: m.safetensors}", {"which tensor", "add `tensor:`"});
  ready.refuse_tensor("{file: m.safetensors, tensor: v}", {"no tensor 'v'", "w"});
  ready.refuse_tensor("{file: m.safetensors, tensor: half}", {"of type 'F16'", "convert"});
  ready.refuse_tensor("{file: run.yaml}", {"'run.yaml'", ".npy or .safetensors"});
  ready.refuse_tensor("{file: x.npy, op: zeros, shape: [2]}", {"has both 'op' and 'file'", "keep"});
  ready.refuse_tensor("{file: x.npy, repeat: 3}", {"repeat"});
  ready.refuse_tensor("{file: [x.npy]}", {"file of 'x'"});
  ready.refuse_tensor("{op: load, shape: [2]}", {"op of 'x' is 'load', which is unknown"});
  fs::create_directory(ready.path() / "folder.npy");
  ready.refuse_tensor("{file: folder.npy}", {"'folder.npy': this is a directory"});
}

BOOST_AUTO_TEST_CASE(files_of_other_programs_that_can_be_no_tensor_are_refused) {
  const Ready ready;
  const auto refused = [&](const std::string& bytes, const std::vector<std::string>& words) {
    ready.write("x.npy", bytes);
    ready.refuse_tensor("{file: x.npy, on: cpu0}", words);
  };
  refused(npy_of(">f4", "(2, 2)", floats), {"'x.npy'", "big-endian", "astype"});
  refused(npy_of("|O", "(2, 2)", floats), {"Python objects", "convert"});
  refused(npy_of("<f2", "(8,)", floats), {"'<f2'", "convert"});
  refused(npy_bytes("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2)}", floats),
          {"Fortran order", "ascontiguousarray"});
  refused(npy_of("<f4", "__import__('os').system('touch evaluated')", floats), {"can't be read"});
  refused(npy_of("<f4", "(0,)"), {"extent of 0"});
  refused(floats, {"doesn't begin with"});
}

BOOST_AUTO_TEST_CASE(a_file_that_is_cut_short_is_refused_by_a_run) {
  const Ready ready;
  for (const char* name : {"x.npy", "m.safetensors"}) {
    const std::string whole = ready.read(name);
    const std::string tensor = name[0] == 'm' ? ", tensor: w" : "";
    ready.write(name, whole.substr(0, whole.size() - 1));
    ready.refuse_tensor("{file: " + std::string(name) + tensor + ", on: cpu0}",
                        {"by its header", "cut short"}, {"run"});
    ready.write(name, whole + "more");
    ready.refuse_tensor("{file: " + std::string(name) + tensor + ", on: cpu0}",
                        {"by its header only", "save it again"}, {"run"});
  }
}

// A file of holes: it takes no space.
BOOST_AUTO_TEST_CASE(a_file_that_is_larger_than_memory_is_refused_before_it_is_read) {
  const Ready ready;
  const std::string header = npy_of("<f8", "(137438953472,)");
  ready.write("x.npy", header);
  fs::resize_file(ready.path() / "x.npy", header.size() + (std::uintmax_t{1} << 40));
  ready.write("run.yaml", run_file("x: {file: x.npy, on: cpu0}", "y: {op: relu, in: x, on: cpu0}"));
  for (const char* mode : {"simulate", "run"}) {
    const Finished finished = ready.run({mode, "run.yaml"});
    BOOST_TEST(finished.exit_code == 2);
    BOOST_TEST(finished.err.find("1 TiB") != std::string::npos, finished.err);
  }
}

BOOST_AUTO_TEST_CASE(integers_are_refused_where_they_make_no_sense) {
  const Ready ready;
  ready.refuse(
      run_file("i: {file: i.npy, on: cpu0}", "y: {op: relu, in: i, on: cpu0}"),
      "run.yaml:", {"'relu' takes tensors of float32 and float64, and int64 [3] is given"});
  ready.refuse(run_file("i: {op: uniform, shape: [3], dtype: int32, on: cpu0}",
                        "y: {op: relu, in: i, on: cpu0}"),
               "run.yaml:", {"'uniform' can't make int32, only float32 and float64"});
}

BOOST_AUTO_TEST_CASE(saves_that_make_no_sense_are_refused_in_every_mode) {
  const Ready ready;
  ready.refuse_save("z: z.npy", {"'z' is no tensor or task"});
  ready.refuse_save("y: y.csv", {"'y.csv'", ".npy or .safetensors"});
  ready.refuse_save("y: 'y-{i}.npy'", {"'y' is a single tensor", "remove it"});
  ready.refuse_save("\"y[0]\": y.npy", {"'y' is a single tensor, not a list"});
  ready.refuse_save("\"ys[3]\": y.npy", {"'ys' has no element 3"});
  ready.refuse_save("ys: ys.npy", {"'ys[0]' and 'ys[1]' are both saved to 'ys.npy'", "{i}"});
  ready.refuse_save("y: a.npy, x: a.npy", {"'y' and 'x' are both saved to 'a.npy'"});
  ready.refuse_save("y: ys-1.npy, ys: './ys-{i}.npy'", {"are both saved to"});
  ready.refuse_save("ys: a.safetensors, \"ys[1]\": a.safetensors",
                    {"'ys[1]' is saved to 'a.safetensors' twice", "remove one"});
  ready.refuse_save("y: x.npy", {"'x.npy' is read by the run, and would be overwritten"});
  ready.refuse_save("y: [y.npy]", {"where 'y' is saved"});
  fs::create_symlink("x.npy", ready.path() / "link.npy");
  ready.refuse_save("y: link.npy", {"would be overwritten"});
}

// Saves z.
const std::string y_and_z =
    run_file("x: {file: x.npy, on: cpu0}",
             "y: {op: relu, in: x, on: cpu0}, z: {op: relu, in: x, on: cpu0}", "z: z.npy");

BOOST_AUTO_TEST_CASE(a_result_that_no_chosen_scenario_makes_is_left_out_and_named) {
  const Ready ready;
  ready.write("run.yaml", y_and_z + "scenarios: {a: [y], b: [z]}\n");
  const Finished without = ready.run({"run", "run.yaml", "--scenario", "a"});
  BOOST_TEST(without.exit_code == 0);
  BOOST_TEST(without.out.find("z.npy' was not saved") != std::string::npos, without.out);
  BOOST_TEST(!fs::exists(ready.path() / "z.npy"));
  BOOST_TEST(ready.run({"run", "run.yaml", "--scenario", "b"}).exit_code == 0);
  BOOST_TEST(fs::exists(ready.path() / "z.npy"));
}

BOOST_AUTO_TEST_CASE(a_result_that_no_scenario_of_a_file_makes_is_refused) {
  const Ready ready;
  ready.write("run.yaml", y_and_z + "scenarios: {a: [y]}\n");
  check_refused(ready, {"run", "run.yaml"},
                "run.yaml:", {"no scenario that is run makes z", "z.npy"});
}

BOOST_AUTO_TEST_CASE(targets_that_can_not_be_written_are_refused_before_the_run) {
  const Ready ready;
  fs::create_directory(ready.path() / "folder.npy");
  ready.refuse_save("y: folder.npy", {"can't write 'folder.npy'", "it is a directory"}, {"run"});
  ready.refuse_save("y: nowhere/y.npy", {"can't write 'nowhere/y.npy'", "No such file"}, {"run"});
}

BOOST_AUTO_TEST_CASE(a_target_without_permission_is_refused_before_the_run,
                     *boost::unit_test::precondition(obeys_permissions)) {
  const Ready ready;
  fs::create_directory(ready.path() / "closed");
  fs::permissions(ready.path() / "closed", fs::perms::owner_read | fs::perms::owner_exec);
  ready.refuse_save("y: closed/y.npy", {"can't write 'closed/y.npy'", "Permission denied"},
                    {"run"});
}

BOOST_AUTO_TEST_CASE(a_report_and_a_result_do_not_go_to_one_file) {
  const Ready ready;
  ready.write("run.yaml",
              run_file("x: {file: x.npy, on: cpu0}", "y: {op: relu, in: x, on: cpu0}", "y: y.npy"));
  for (const char* option : {"--json", "--trace"}) {
    check_refused(ready, {"run", "run.yaml", option, "y.npy"}, "",
                  {"'y.npy'", "a path of its own"});
  }
  for (const char* option : {"--json", "--trace"}) {
    check_refused(ready, {"run", "run.yaml", option, "x.npy"}, "",
                  {"'x.npy' is read by the run", "another path"});
  }
}

BOOST_AUTO_TEST_CASE(a_disk_that_fills_while_results_are_saved_leaves_the_old_file) {
  const Ready ready;
  ready.write("y.npy", "old");
  ready.write("run.yaml", run_file("", "y: {op: zeros, shape: [100000], on: cpu0}", "y: y.npy"));
  ProgramOptions options = ready.options();
  options.file_size_max = 100'000;
  const Finished finished = run_troupe({"run", "run.yaml"}, options);
  BOOST_TEST(finished.exit_code == 1);
  BOOST_TEST(finished.err.find("could not write all of 'y.npy'") != std::string::npos,
             finished.err);
  BOOST_TEST(ready.read("y.npy") == "old");
}

BOOST_AUTO_TEST_SUITE_END()
