// Checkpoints: what a run has made so far, in files from which another run goes on. The format is
// documented at the top of checkpoint.cpp.
#pragma once

#include "core/base/folder_lock.hpp"
#include "core/base/id.hpp"
#include "core/graph/graph.hpp"
#include "core/ops/value_source.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace troupe {

// How far a run is: all scenarios before this one are done, and of its files so many are saved.
struct RunPosition {
  std::size_t scenario = 0;
  std::size_t saved = 0;
};

struct Checkpoint {
  struct Tensor {
    OpId op;
    std::shared_ptr<const ValueSource> values;
  };
  std::filesystem::path file = {};
  RunPosition position;
  std::vector<Tensor> tensors;                // in op order
  std::int64_t widest_team = 1;               // of the run that made them, as in RunSetting
  std::vector<std::string> passed_over = {};  // notes: newer files, and why they weren't taken

  std::vector<OpId> ops() const;
  // The graph of the run, in which these tensors are loaded.
  Graph left_of(const Graph& graph) const;
};

// The folder of the checkpoints of one run. Files are numbered; only the newest one is kept, and
// the one that the run goes on from.
class CheckpointFolder {
 public:
  // `run`: the digest of the run (run_digest.hpp). Locks the folder. Throws a usage Error if there
  // is no such folder, or if another run uses it.
  CheckpointFolder(const std::filesystem::path& folder, std::string run);

  // Throws a usage Error if the folder has checkpoints.
  void check_empty() const;
  // Throws a usage Error if no file can be made in the folder.
  void check_writable() const;
  // The newest one. Reads all of it, and falls back to an older one if it is damaged. Blocks.
  // Throws a usage Error if there is none, or if it is of another run.
  Checkpoint load(const Graph& graph);

  // Writes a file, which appears only when it is complete and on the disk, and then removes those
  // before it, but the one loaded. `values(i)` returns those of ops[i], valid until the next call.
  // Blocks. Returns the bytes of the values. Throws a run Error if the file can't be written, and
  // what `values` throws; then the one before is still there.
  std::uint64_t write(const Graph& graph, const RunPosition& position, std::span<const OpId> ops,
                      const std::function<std::span<const std::byte>(std::size_t)>& values);
  // Removes all checkpoints: nothing is left to go on with.
  void clear();

  // That of the run whose checkpoints are written.
  void set_widest_team(std::int64_t threads) { widest_team_ = threads; }

  // Whether there is one that was written or loaded.
  bool has_any() const { return has_any_; }
  const std::filesystem::path& path() const { return folder_; }

 private:
  std::filesystem::path file(std::uint64_t number) const;
  // Newest first.
  std::vector<std::uint64_t> numbers() const;
  void remove_all_but(std::initializer_list<std::uint64_t> kept) const;
  Checkpoint read(const std::filesystem::path& path, const Graph& graph) const;

  const std::filesystem::path folder_;
  const std::string run_;
  std::optional<FolderLock> lock_;
  std::uint64_t last_ = 0;    // number of the newest file; files are counted from 1
  std::uint64_t loaded_ = 0;  // 0: none
  bool has_any_ = false;
  std::int64_t widest_team_ = 1;
};

}  // namespace troupe
