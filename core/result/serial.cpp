#include "core/result/serial.hpp"

#include "core/base/assert.hpp"
#include "core/base/units.hpp"

#include <cstdint>
#include <cstdlib>
#include <exception>
#include <memory>
#include <vector>

#include <fmt/format.h>

namespace troupe {
namespace {

struct Free {
  void operator()(std::byte* p) const { std::free(p); }
};
using Buffer = std::unique_ptr<std::byte, Free>;

Buffer allocate(std::uint64_t bytes) {
  constexpr std::uint64_t page = 4096;
  const std::uint64_t capacity = (bytes + page - 1) / page * page;
  Buffer buffer(static_cast<std::byte*>(std::aligned_alloc(page, capacity)));
  if (!buffer) {
    throw run_error(fmt::format("this machine has no {} of memory left for the serial execution",
                                format_bytes(bytes)),
                    "make the tensors smaller, or don't verify the run");
  }
  return buffer;
}

class SerialTeam final : public Team {
 public:
  explicit SerialTeam(std::int64_t widest) : widest_(widest) {}
  std::size_t size() const override { return 1; }
  void run(std::size_t n, const std::function<void(std::size_t)>& f) override {
    for (std::size_t i = 0; i < n; ++i) f(i);
  }
  std::int64_t widest_team() const override { return widest_; }

 private:
  const std::int64_t widest_;
};

class SerialRun {
 public:
  SerialRun(const Graph& graph, const OpRanges& ops, std::int64_t widest_team)
      : graph_(graph), readers_(graph.size()), values_(graph.size()), team_(widest_team) {
    for (const OpId op : ops) {
      for (const OpId input : graph.inputs(op)) ++readers_[input.index()];
    }
  }

  // Executes `op`. The result is valid until `release` frees it.
  std::span<const std::byte> execute(OpId op) {
    const OpKind& kind = graph_.kind(op);
    const TensorType& type = graph_.type(op);
    // A further output was made with its op.
    if (graph_.output_number(op) > 0) return {values_[op.index()].get(), type.bytes()};
    if (kind.cpu == nullptr) throw run_error("CPUs have no kernel for it");
    inputs_.clear();
    for (const OpId input : graph_.inputs(op)) {
      TROUPE_ASSERT(values_[input.index()]);
      inputs_.push_back({.type = graph_.type(input), .data = values_[input.index()].get()});
    }
    outputs_.clear();
    for (std::size_t k = 0; k <= kind.further_outputs.size(); ++k) {
      const TensorType& made = graph_.type(OpId::at(op.index() + k));
      Buffer& values = values_[op.index() + k];
      values = allocate(made.bytes());
      outputs_.push_back({.type = made, .data = values.get()});
    }
    kind.cpu({.inputs = inputs_,
              .output = outputs_.front(),
              .further_outputs = std::span(outputs_).subspan(1),
              .attrs = graph_.attrs(op),
              .team = team_,
              .index = graph_.index_in_group(op)});
    return {outputs_.front().data, type.bytes()};
  }

  // Frees the results whose last reader was `op`.
  void release(OpId op) {
    for (const OpId input : graph_.inputs(op)) {
      if (--readers_[input.index()] == 0) values_[input.index()].reset();
    }
    if (readers_[op.index()] == 0) values_[op.index()].reset();
  }

 private:
  const Graph& graph_;
  std::vector<std::uint32_t> readers_;  // by op: readers of its result that are not executed yet
  std::vector<Buffer> values_;
  std::vector<ConstTensorView> inputs_;
  std::vector<TensorView> outputs_;
  SerialTeam team_;
};

}  // namespace

void run_serial(const Graph& graph, const OpRanges& ops, std::int64_t widest_team,
                const std::function<bool(OpId, std::span<const std::byte>)>& visit) {
  SerialRun run(graph, ops, widest_team);
  for (const OpId op : ops) {
    std::span<const std::byte> result;
    const auto failed = [&](const std::string& problem, const std::string& remedy) {
      return run_error(fmt::format("{} ({}), executed serially: {}", graph.name(op),
                                   graph.kind(op).name, problem),
                       remedy);
    };
    try {
      result = run.execute(op);
    } catch (const Error& e) {
      throw failed(e.problem(), e.remedy());
    } catch (const std::exception& e) {
      throw failed(e.what(), {});
    } catch (...) {
      throw failed("its kernel threw something that is no std::exception", {});
    }
    if (!visit(op, result)) return;
    run.release(op);
  }
}

}  // namespace troupe
