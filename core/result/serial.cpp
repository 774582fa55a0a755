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
  std::size_t size() const override { return 1; }
  void run(std::size_t n, const std::function<void(std::size_t)>& f) override {
    for (std::size_t i = 0; i < n; ++i) f(i);
  }
};

class SerialRun {
 public:
  SerialRun(const Graph& graph, const OpRanges& ops)
      : graph_(graph), readers_(graph.size()), values_(graph.size()) {
    for (const OpId op : ops) {
      for (const OpId input : graph.inputs(op)) ++readers_[input.index()];
    }
  }

  // Executes `op`. The result is valid until `release` frees it.
  std::span<const std::byte> execute(OpId op) {
    const OpKind& kind = graph_.kind(op);
    if (kind.cpu == nullptr) throw run_error("CPUs have no kernel for it");
    inputs_.clear();
    for (const OpId input : graph_.inputs(op)) {
      TROUPE_ASSERT(values_[input.index()]);
      inputs_.push_back({.type = graph_.type(input), .data = values_[input.index()].get()});
    }
    const TensorType& type = graph_.type(op);
    Buffer& output = values_[op.index()];
    output = allocate(type.bytes());
    kind.cpu({.inputs = inputs_,
              .output = {.type = type, .data = output.get()},
              .attrs = graph_.attrs(op),
              .team = team_,
              .index = op.value - graph_.group(graph_.group_of(op)).first.value});
    return {output.get(), type.bytes()};
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
  SerialTeam team_;
};

}  // namespace

void run_serial(const Graph& graph, const OpRanges& ops,
                const std::function<bool(OpId, std::span<const std::byte>)>& visit) {
  SerialRun run(graph, ops);
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
    }
    if (!visit(op, result)) return;
    run.release(op);
  }
}

}  // namespace troupe
