// The format of run files
// =======================
//
// about: compute, then copy        # free text, shown with the results
//
// machine: ../machines/one.yaml    # a machine file, relative to this file; or `local`: this host
//                                  #   without its GPUs; or the machine itself, a map as
//                                  #   machine_file.cpp describes
//
// tensors:                         # made before a scenario's clock starts; optional
//   x: {op: uniform, shape: [6000, 6000], on: gpu0}
//   w: {file: w.npy, on: gpu0}
//
// tasks:                           # what the scenarios do
//   run:  {op: matmul, in: [x, x], repeat: 10, on: gpu0}
//   copy: {op: copy, in: [run], to: host}
//
// scenarios:                       # default: one called "all", with every task and a wait
//   run, then copy: [run, wait, copy, wait]
//   run and copy:   [run, copy, wait]
//
// save:                            # results that a real run writes to files; optional
//   run: run-{i}.npy
//
// Tensors and tasks
// -----------------
// Both are written the same way; only tasks may be steps of scenarios. Names are unique over both
// and written like those of devices; "wait" is taken. The order does not matter.
//
//   op: matmul           # core/ops/builtin.hpp lists them
//   in: [a, b]           # tensors or tasks whose results it reads, as many as the op takes
//   on: gpu0             # the device it runs on; default: the planner chooses
//   on: [cpu0, cpu1]     # its ops are split into contiguous blocks, one for each of these devices
//   to: host             # op copy only, and needed there: the memory it ends in; a device's name
//                        #   means that device's memory. The copy is a tensor of its own: ops there
//                        #   that read the source move it once more
//   repeat: 10           # makes it a list of so many equal ops, run[0] … run[9]; 1..1,000,000
//   shape: [1000, 1000]  # ops without inputs (uniform, zeros, constant): 1 to 8 extents
//   dtype: float32       # the same ops: float32 (default) or float64; zeros and constant also
//                        #   int32 and int64; and cast, which needs it and makes all four
//
// and what the op itself takes, e.g. `alpha: 0.5` (a number), `transpose_a: true`, `seed: 7` (a
// whole number), `axes: [1, 0]` (a list), `side: right` (a word), `duration: 10 ms` (with a
// unit). core/ops has a file for each op, or for a few alike, which says what it takes.
//
// A task that reads a list is itself a list: element i reads element i of each list and all of each
// single tensor. Lists that meet in one task, and its repeat, must be equally long. "run[3]", in
// quotes where it stands within [ ], reads one element. A `seed` counts up: element i gets
// seed + i.
//
// An op may make several tensors. The task's name means the first one; "x.y", or "x.y[3]", is the
// one that the op kind calls y.
//
// Values may also come from a file, instead of an op:
//
//   file: x.npy          # relative to this file: a .npy file in C order, or a .safetensors file;
//                        #   little-endian, of float32, float64, int32 or int64. A simulation reads
//                        #   only the header, and needs no file if `shape` and `dtype` are given.
//                        #   It may be used where the system keeps it, without a copy: to change it
//                        #   during a run, write another file and rename it
//   tensor: name         # .safetensors only, and needed there: the tensor's name in the file
//   shape, dtype         # optional: must be those of the file
//   on: cpu0             # as above
//
// Integers are read by copy, cast, reshape, transpose, slice, concat, max, maximum and minimum; by
// add, sub, mul, scale and sum, which wrap around; and by sleep, spin and fail.
//
// A pattern stands for a grid of ops, `steps` rows of `width` columns. Op (t, i) reads columns of
// row t-1, except those that don't exist. The patterns are those of Task Bench (Slaughter et al.,
// SC 2020). The task is a list in row order.
//
//   pattern: stencil_1d  # i-1 to i+1
//            stencil_1d_periodic, the same on a ring; trivial, none; no_comm, i; dom, i-1 and i;
//            tree, i/2: row t has min(width, 2^t) columns; fft, i and i ± 2^d, where d counts over
//            the bits of the width; all_to_all, every column;
//            nearest, i - radix/2 to i + (radix-1)/2;
//            spread, `radix` columns, width/radix apart and shifted by t mod period;
//            random_nearest, i and those columns of nearest that a hash selects
//   width: 32
//   steps: 20000         # width times steps at most 20,000,000, times columns read 1,000,000,000
//   radix: 5             # nearest, spread (at most the width) and random_nearest; default: 3, at
//                        #   most the width
//   period: 3            # spread; default 3
//   fraction: 0.25       # random_nearest: how likely another column is selected; default 0.25
//   seed: 0              # random_nearest and imbalance; default 0
//   kernel: spin         # what each op does:
//                        #   empty, spin (`iterations` of 128 FLOPs), memory (moves `bytes` in a
//                        #   buffer of the thread): each op's tensor carries (t, i), and ops check
//                        #   what they read;
//                        #   or an op that takes any number of inputs (sleep, fail)
//   iterations: 100      # what the kernel takes
//   imbalance: 0.5       # spin and memory: an op does from (1 - imbalance) of its work to all of
//                        #   it, uniformly by a hash of seed, t and i; default 0
//   output_bytes: 1 KiB  # empty, spin and memory: of each op's tensor, rounded up to a multiple of
//                        #   16; a bare number too; at least 16, default 16
//   on: [cpu0, cpu1]     # the columns are split into contiguous blocks, one for each of these
//
// A stencil_1d of spin with neither `output_bytes` nor `imbalance` is made of op `spin`, which
// reads and makes 64 numbers.
//
// A file has at most 20,000,000 ops.
//
// Scenarios
// ---------
// A scenario is a list of steps: tasks to start, in this order, and `wait`. No step after a `wait`
// starts until every step before it has completed. The scenario's clock starts with the first step
// and stops when every step has completed. Tensors and tasks that the steps need but that aren't
// listed are prepared before the clock starts. A task is listed at most once. It can't be
// listed before a `wait` if it needs a task that is listed after that `wait`.
//
// Saved results
// -------------
// `save` maps tensors and tasks to files, relative to this file: y: y.npy. In the path of a list,
// {i} stands for the number of the element; "run[3]" saves one element. A .safetensors file may be
// named several times and takes lists without {i}: each tensor has the name of its op, run[3]. A
// result is kept in its memory until its scenario ends. A file is written after the first scenario
// that makes all that it takes, once the results have been compared with a serial execution, and
// appears only when it is complete. Nothing is saved if results differ, and in a simulation. At
// most 10,000 files.
#include "core/config/run_file.hpp"

#include "core/base/units.hpp"
#include "core/config/file_kind.hpp"
#include "core/config/machine_file.hpp"
#include "core/config/machine_parts.hpp"
#include "core/config/saves.hpp"
#include "core/config/scenarios.hpp"
#include "core/config/task.hpp"
#include "core/config/values.hpp"
#include "core/machine/fit.hpp"

#include <cstdint>
#include <utility>

#include <fmt/format.h>

namespace troupe {
namespace {

// Where the machine file is that a run file names.
std::filesystem::path machine_path(const Node& node, const std::filesystem::path& run_path) {
  return (run_path.parent_path() /
          read_string(node, "the machine", "`local` or the path of a machine file"))
      .lexically_normal();
}

void read_machine_of_run(const Node& node, const std::filesystem::path& run_path,
                         const FindGpus& find_gpus, RunFile& run) {
  if (node.type == Node::Type::map) {
    run.machine = read_machine(node, run_path.stem().string(), run.graph.kinds(), find_gpus);
    return;
  }
  if (is_this_host(node)) {
    run.machine = read_this_host(node);
    return;
  }
  const std::filesystem::path path = machine_path(node, run_path);
  run.machine = read_machine_file(Document::load(path, node.place()), run.graph.kinds(), find_gpus);
  run.machine_file = path;
}

void use_nodes(const Machine& nodes, const SourcePlace& place, Machine& machine) {
  if (machine.nodes.empty()) {
    machine = nodes;
    return;
  }
  try {
    limit_to_nodes(machine, nodes);
  } catch (const Error& error) {
    throw error.at(place);
  }
}

void check_run_keys(const Node& root, const std::filesystem::path& path) {
  if (kind_of_file(root) == FileKind::machine) {
    throw usage_error(root.place(), "this is a machine file, not a run file",
                      fmt::format("name a run file: one with `machine: {}` and `tasks`",
                                  path.filename().string()));
  }
  for (std::size_t i = 0; i < root.entry_count(); ++i) {
    if (owner_of_key(root.key(i).text) != FileKind::machine) continue;
    throw usage_error(root.key(i).place(),
                      fmt::format("'{}' belongs to a machine, not to a run file", root.key(i).text),
                      "move it under `machine`, or into a machine file");
  }
  check_keys(root, "a run file", run_keys);
}

}  // namespace

RunFile load_run_file(const std::filesystem::path& path, const OpRegistry& ops,
                      const Machine* nodes, const FindGpus& find_gpus) {
  return read_run_file(Document::load(path), ops, nodes, find_gpus);
}

bool asks_for_gpus(const Document& document) {
  const Node& root = document.root();
  const Node* machine = root.type == Node::Type::map ? find(root, "machine") : nullptr;
  if (machine == nullptr || kind_of_file(root) == FileKind::machine) return false;
  if (machine->type == Node::Type::map) return discovers_gpus(*machine);
  if (is_this_host(*machine)) return false;
  return discovers_gpus(
      Document::load(machine_path(*machine, document.path()), machine->place()).root());
}

RunFile read_run_file(const Document& document, const OpRegistry& ops, const Machine* nodes,
                      const FindGpus& find_gpus) {
  const std::filesystem::path path = document.path();
  const Node& root = expect_map(document.root(), "a run file");
  check_run_keys(root, path);

  RunFile run(ops);
  run.name = path.stem().string();
  if (const Node* n = find(root, "about"))
    run.title = read_string(*n, "about", "text, in quotes if it begins with a bracket");
  const Node& machine = require(root, "machine", "the run file");
  const FindGpus of_nodes = [] { return UsableGpus{}; };  // they have said what they have
  read_machine_of_run(machine, path, nodes != nullptr ? of_nodes : find_gpus, run);
  if (nodes != nullptr) use_nodes(*nodes, machine.place(), run.machine);
  const Node& tasks = expect_map(require(root, "tasks", "the run file"), "tasks");
  if (tasks.entry_count() == 0) {
    throw usage_error(tasks.place(), "there are no tasks", "add one, such as `run: {op: …}`");
  }
  InputDataTable inputs(path.parent_path());
  const TaskTable table = read_tasks(root, run.machine, run.graph, inputs);
  run.scenarios = read_scenarios(root, table);
  run.inputs = inputs.take();
  run.saves = read_saves(document, table, run);
  return run;
}

void check_data(const RunFile& run) {
  for (const InputData& data : run.inputs) {
    try {
      if (data.file == nullptr) throw usage_error("there is no such file", "check the path");
      data.file->check_size();
    } catch (const Error& error) {
      throw error_of_file(error, data.path, data.place);
    }
  }
  for (const SavedFile& file : run.saves) check_target(file);
}

}  // namespace troupe
