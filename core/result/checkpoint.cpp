// The format of checkpoints
// =========================
//
// Files checkpoint-1.safetensors, checkpoint-2.safetensors, … (see core/files/safetensors.cpp). The
// tensor "17" is what op 17 of the graph makes. Last comes "digests" (int64 [n + 1, 2]): the digest
// of each tensor before it, and of "SCENARIO SAVED WIDEST_TEAM", the numbers below; the second half
// of a digest is the higher one. "__metadata__" has
//
//   "troupe": "checkpoint 3"   the version of this format
//   "run": "3f…"               the digest of the run (run_digest.hpp)
//   "scenario": "1"            all scenarios before this one are done, counted from 0
//   "saved": "0"               so many files of this scenario have been saved
//   "widest_team": "16"        for how many threads kernels cut their work (decision 4)
#include "core/result/checkpoint.hpp"

#include "core/base/absolute_path.hpp"
#include "core/base/error.hpp"
#include "core/files/data_file.hpp"
#include "core/files/input_file.hpp"
#include "core/files/output_file.hpp"
#include "core/memory/digest.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace troupe {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view prefix = "checkpoint-";
constexpr std::string_view suffix = ".safetensors";
constexpr const char* format = "checkpoint 3";
constexpr const char* digests_name = "digests";
constexpr std::uint64_t widest_team_max = 1 << 16;

std::optional<std::uint64_t> read_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Of "checkpoint-3.safetensors": 3.
std::optional<std::uint64_t> number_of(const fs::path& file) {
  const std::string name = file.filename().string();
  if (!name.starts_with(prefix) || !name.ends_with(suffix)) return std::nullopt;
  const std::size_t digits = name.size() - std::min(name.size(), prefix.size() + suffix.size());
  return read_number(std::string_view(name).substr(prefix.size(), digits));
}

TensorType digests_type(std::size_t tensors) {
  return {.dtype = DType::i64, .shape = {static_cast<std::int64_t>(tensors) + 1, 2}};
}

Digest digest_of_numbers(const RunPosition& position, std::int64_t widest_team) {
  const std::string numbers =
      fmt::format("{} {} {}", position.scenario, position.saved, widest_team);
  return digest_of(std::as_bytes(std::span(numbers)));
}

std::vector<std::byte> read_all(const ValueSource& source, const TensorType& type) {
  std::vector<std::byte> values(type.bytes());
  source.read(0, values);
  return values;
}

Error damaged(const fs::path& path, const std::string& how) {
  return usage_error({path.string()}, "the checkpoint is damaged: " + how, "remove it");
}

// Throws another Error if it isn't damaged, but can't be read.
std::shared_ptr<const DataFile> open_checkpoint(const fs::path& path) {
  static_cast<void>(InputFile(path));
  try {
    auto file = std::make_shared<const DataFile>(path);
    file->check_size();
    return file;
  } catch (const Error& error) {
    throw damaged(path, error.problem());
  }
}

}  // namespace

std::vector<OpId> Checkpoint::ops() const {
  std::vector<OpId> ops;
  for (const Tensor& tensor : tensors) ops.push_back(tensor.op);
  return ops;
}

Graph Checkpoint::left_of(const Graph& graph) const {
  const OpKindId load = graph.kinds().find("load");
  std::vector<Graph::Source> sources;
  for (const auto& [op, values] : tensors) {
    sources.push_back(
        {op, {.kind = load, .attrs = {{"values", values}}, .declared = graph.type(op)}});
  }
  return graph.with_sources(sources);
}

CheckpointFolder::CheckpointFolder(const fs::path& folder, std::string run)
    : folder_(absolute_path(folder)), run_(std::move(run)) {
  std::error_code error;
  if (!fs::is_directory(folder_, error)) {
    throw usage_error(fmt::format("'{}', the folder for checkpoints, {}", folder.string(),
                                  fs::exists(folder_, error) ? "is no folder" : "doesn't exist"),
                      "make it, or name another one");
  }
  lock_.emplace(folder_);
  if (!lock_->is_refused()) return;
  throw usage_error(fmt::format("another run uses the checkpoints in '{}'", folder.string()),
                    "wait until it has ended, or name another folder");
}

fs::path CheckpointFolder::file(std::uint64_t number) const {
  return folder_ / fmt::format("{}{}{}", prefix, number, suffix);
}

std::vector<std::uint64_t> CheckpointFolder::numbers() const {
  std::vector<std::uint64_t> numbers;
  std::error_code error;
  for (fs::directory_iterator at(folder_, error), end; !error && at != end; at.increment(error)) {
    if (const auto number = number_of(at->path())) numbers.push_back(*number);
  }
  if (error) {
    throw usage_error(
        fmt::format("can't read the folder '{}': {}", folder_.string(), error.message()),
        "name a folder that you may read");
  }
  std::sort(numbers.rbegin(), numbers.rend());
  return numbers;
}

void CheckpointFolder::check_empty() const {
  if (!numbers().empty()) {
    throw usage_error(
        fmt::format("'{}' has checkpoints of a run that has not finished", folder_.string()),
        fmt::format("go on with it (--resume {}), or remove them", folder_.string()));
  }
}

void CheckpointFolder::check_writable() const {
  static_cast<void>(OutputFile(file(last_ + 1).string()));
}

Checkpoint CheckpointFolder::load(const Graph& graph) {
  std::optional<Error> failure;
  std::vector<std::string> passed_over;
  for (const std::uint64_t number : numbers()) {
    last_ = std::max(last_, number);
    try {
      Checkpoint checkpoint = read(file(number), graph);
      loaded_ = number;
      has_any_ = true;
      checkpoint.passed_over = std::move(passed_over);
      return checkpoint;
    } catch (const Error& error) {
      passed_over.push_back(fmt::format("Resumed from an older checkpoint: {}.", error.what()));
      if (!failure) failure = usage_error(error.place(), error.problem(), error.remedy());
    }
  }
  if (failure) throw *failure;
  throw usage_error(fmt::format("there is no checkpoint in '{}'", folder_.string()),
                    "run the file with --checkpoint and --checkpoint-dir first, or without "
                    "--resume");
}

Checkpoint CheckpointFolder::read(const fs::path& path, const Graph& graph) const {
  const std::shared_ptr<const DataFile> file = open_checkpoint(path);
  const Metadata& about = file->header()->about();
  const auto said = [&](const char* key) {
    const auto found = about.find(key);
    return found == about.end() ? std::string() : found->second;
  };
  if (said("troupe") != format) {
    throw usage_error({path.string()}, "this is no checkpoint that this version can read",
                      "resume with the version that wrote it, or remove it");
  }
  if (said("run") != run_) {
    throw usage_error({path.string()},
                      "the checkpoint belongs to another run file, to other scenarios, or to "
                      "another version of them",
                      "name the file and the scenarios that it was made with, unchanged");
  }
  const auto scenario = read_number(said("scenario"));
  const auto saved = read_number(said("saved"));
  const auto widest_team = read_number(said("widest_team"));
  if (!scenario || !saved) throw damaged(path, "it doesn't say how far the run was");
  if (!widest_team || *widest_team < 1 || *widest_team > widest_team_max) {
    throw damaged(path, "it doesn't say how its tensors were made");
  }
  Checkpoint checkpoint{.file = path,
                        .position = {.scenario = *scenario, .saved = *saved},
                        .tensors = {},
                        .widest_team = static_cast<std::int64_t>(*widest_team)};
  std::vector<std::string> names = file->header()->names();
  if (names.empty() || names.back() != digests_name) throw damaged(path, "it has no digests");
  names.pop_back();
  const StoredTensor digests = file->find(digests_name);
  if (digests.type != digests_type(names.size())) throw damaged(path, "digests are missing");
  const std::vector<std::byte> expected = read_all(FileValues(file, digests), digests.type);
  const auto is_as_written = [&](std::size_t i, const Digest& digest) {
    return std::memcmp(&digest, expected.data() + i * sizeof digest, sizeof digest) == 0;
  };
  if (!is_as_written(names.size(),
                     digest_of_numbers(checkpoint.position, checkpoint.widest_team))) {
    throw damaged(path, "its numbers have changed");
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto number = read_number(names[i]);
    const StoredTensor tensor = file->find(names[i]);
    if (!number || *number >= graph.size() || tensor.type != graph.type(OpId::at(*number))) {
      throw damaged(path, fmt::format("the graph has no tensor '{}'", names[i]));
    }
    auto values = std::make_shared<const FileValues>(file, tensor, names[i]);
    if (!is_as_written(i, digest_of(read_all(*values, tensor.type)))) {
      throw damaged(path, fmt::format("the values of tensor '{}' have changed", names[i]));
    }
    checkpoint.tensors.push_back({OpId::at(*number), std::move(values)});
  }
  return checkpoint;
}

std::uint64_t CheckpointFolder::write(
    const Graph& graph, const RunPosition& position, std::span<const OpId> ops,
    const std::function<std::span<const std::byte>(std::size_t)>& values) {
  std::uint64_t bytes = 0;
  std::vector<NamedType> tensors;
  for (const OpId op : ops) tensors.push_back({std::to_string(op.value), graph.type(op)});
  tensors.push_back({digests_name, digests_type(ops.size())});
  std::vector<Digest> digests;
  save_tensors(file(last_ + 1), tensors,
               [&](std::size_t i) {
                 if (i == ops.size()) {
                   digests.push_back(digest_of_numbers(position, widest_team_));
                   return std::as_bytes(std::span(digests));
                 }
                 const std::span<const std::byte> tensor = values(i);
                 digests.push_back(digest_of(tensor));
                 bytes += tensor.size();
                 return tensor;
               },
               {.about = {{"troupe", format},
                          {"run", run_},
                          {"scenario", std::to_string(position.scenario)},
                          {"saved", std::to_string(position.saved)},
                          {"widest_team", std::to_string(widest_team_)}},
                .is_durable = true});
  ++last_;
  has_any_ = true;
  remove_all_but({last_, loaded_});
  return bytes;
}

void CheckpointFolder::clear() {
  remove_all_but({});
}

void CheckpointFolder::remove_all_but(std::initializer_list<std::uint64_t> kept) const {
  try {
    for (const std::uint64_t number : numbers()) {
      const bool is_kept = std::find(kept.begin(), kept.end(), number) != kept.end();
      std::error_code ignored;
      if (!is_kept) fs::remove(file(number), ignored);
    }
  } catch (const Error&) {
    // Files that stay are only older ones.
  }
}

}  // namespace troupe
