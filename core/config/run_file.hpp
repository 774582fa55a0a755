// Run files in YAML: a machine, tasks (what to compute), and scenarios (in which order).
// The format is documented in docs/run_files.md.
#pragma once

#include "core/config/document.hpp"
#include "core/config/input_data.hpp"
#include "core/graph/graph.hpp"
#include "core/graph/saved_file.hpp"
#include "core/graph/scenario.hpp"
#include "core/machine/discover.hpp"
#include "core/machine/machine.hpp"
#include "core/ops/registry.hpp"
#include "core/patterns/pattern_ops.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace troupe {

struct RunFile {
  explicit RunFile(const OpRegistry& ops) : graph(ops) {}

  std::string name;                    // the file's stem
  std::string title;                   // `about:`, may be empty
  std::filesystem::path machine_file;  // empty where the machine stands in the run file
  Machine machine;
  Graph graph;
  std::vector<Scenario> scenarios;
  std::vector<InputData> inputs;   // files that tensors are read from
  std::vector<SavedFile> saves;    // files that results are written to
  std::vector<std::string> notes;  // for the report of a run
};

// Read and check everything that can be checked without planning. Throw a usage Error with
// file:line:column, what is wrong and what to do. `discover:` machines are looked up on this one.
// `ops` must outlive the result: pattern_ops(), or a copy of it to which kinds were added. If
// `nodes` is given, it is the machine of the run, unless the file itself has one of several nodes:
// that must have as many. `find_gpus`: see load_machine_file(); not called if `nodes` is given.
RunFile load_run_file(const std::filesystem::path& path, const OpRegistry& ops = pattern_ops(),
                      const Machine* nodes = nullptr, const FindGpus& find_gpus = {});
RunFile read_run_file(const Document& document, const OpRegistry& ops = pattern_ops(),
                      const Machine* nodes = nullptr, const FindGpus& find_gpus = {});

// Whether the file asks for GPUs that are to be discovered: on this host, or on the nodes that are
// the machine of the run. Throws a usage Error if a machine file that it names can't be read.
bool asks_for_gpus(const Document& document);

// What a run needs, and a simulation doesn't: throws a usage Error if a file of `inputs` isn't
// there or not complete, or if one of `saves` can't be written.
void check_data(const RunFile& run);

}  // namespace troupe
