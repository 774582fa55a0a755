#include "actors/session_engine.hpp"

#include "core/base/assert.hpp"
#include "core/base/error.hpp"
#include "core/base/units.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace troupe {
namespace {

// Planning a window and sending it costs some ten microseconds: little beside so many ops.
constexpr std::size_t window_ops_max = 1 << 13;
// An op of an epoch takes about 100 bytes until the epoch ends. At its end devices idle for about
// as long as a message takes: nothing beside so many ops.
constexpr std::size_t epoch_ops_max = 1 << 16;

// A window may make a quarter of what the smallest memory holds, so that others run beside it.
std::uint64_t room_bytes(const Machine& machine) {
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  for (const Memory& memory : machine.memories) {
    if (memory.size_bytes > 0) least = std::min(least, memory.size_bytes);
  }
  return least / 4;
}

// How many buffers of each type to reserve for a window. Large tensors mostly take the place of
// others, so the ops that make them allocate what is missing.
std::vector<std::uint64_t> buffers_at_once(const Graph& graph) {
  constexpr std::uint64_t bytes_of_a_type = 8 << 20;
  std::vector<std::uint64_t> counts;
  for (const TensorType& type : graph.types()) counts.push_back(bytes_of_a_type / type.bytes());
  return counts;
}

}  // namespace

SessionEngine::SessionEngine(const Machine& machine, const OpRegistry& ops, Mode mode,
                             std::uint64_t seed, std::function<void()> on_news,
                             TensorExchange& tensors)
    : machine_(machine),
      ops_(ops),
      setting_(make_run_setting(mode, machine, false)),
      tensors_(tensors),
      store_(machine, setting_.backing, MemoryStore::Counting::announced),
      runtime_(machine, ops, store_, setting_,
               {.seed = seed, .by_window = true, .on_news = std::move(on_news)}),
      room_bytes_(room_bytes(machine)) {
  renew();
  runtime_.begin();
}

SessionEngine::~SessionEngine() = default;

// Begins an epoch: a graph that has the tensors in use, and nothing else.
void SessionEngine::renew() {
  TROUPE_ASSERT(in_flight_.empty());
  struct Kept {
    ReplicaId replica;
    TensorState* tensor;
  };
  std::vector<Kept> kept;
  std::vector<TensorState*> tensors;
  std::vector<std::uint32_t> lines;
  const std::unique_ptr<Graph> before = std::exchange(graph_, std::make_unique<Graph>(ops_));
  graph_->begin_group("");
  templates_.clear();
  loaded_ = 0;
  const OpKindId given = ops_.find("given");
  for (std::size_t i = 0; i < tensor_of_.size(); ++i) {
    TensorState* const tensor = tensor_of_[i];
    if (tensor == nullptr) continue;
    const MemoryId home = store_.memory(tensor->copies.front().replica);
    tensor->op = graph_->append(
        {.kind = given, .placement = {.memory = home}, .declared = before->type(OpId::at(i))});
    tensors.push_back(tensor);
    lines.push_back(line_of_[i]);
    for (const TensorState::Copy& copy : tensor->copies) kept.push_back({copy.replica, tensor});
    tensor->copies.clear();
  }
  kept_ = tensors.size();
  tensor_of_ = std::move(tensors);
  line_of_ = std::move(lines);

  std::sort(kept.begin(), kept.end(),
            [](const Kept& a, const Kept& b) { return a.replica < b.replica; });
  summary_.reset();  // it refers to the plan
  planner_ = std::make_unique<WindowPlanner>(*graph_, machine_, plan_options(setting_, machine_),
                                             next_window_);
  std::vector<ReplicaId> replicas;
  for (const Kept& k : kept) {
    planner_->add_given(k.tensor->op, store_.memory(k.replica));
    k.tensor->copies.push_back({ReplicaId::at(replicas.size()), 0});
    replicas.push_back(k.replica);
  }
  store_.renumber(replicas);
}

std::size_t SessionEngine::hand_out(const CallLog& log, std::size_t begin,
                                    std::size_t& first_input) {
  // What is measured needs the units of one epoch.
  if (summary_ == nullptr && line_of_.size() >= epoch_ops_max + 2 * kept_) {
    while (!in_flight_.empty()) {
      if (!await_window()) return begin;
    }
    renew();
  }
  std::size_t end = begin;
  std::uint64_t bytes = 0;
  std::size_t computed = 0;
  const std::size_t inputs_begin = first_input;
  for (; end < log.size() && end - begin < window_ops_max && (bytes < room_bytes_); ++end) {
    const CallLog::Call& call = log.calls[end];
    const OpId op = append(call, {log.inputs.data() + first_input, call.inputs});
    first_input += call.inputs;
    if (!graph_->kind(op).is_given) ++computed;
    bytes += graph_->type(op).bytes();
  }
  // The calls don't count as uses any more, but as readers of replicas.
  TensorState* unused = nullptr;
  const auto drop_use = [&](TensorState* tensor) {
    if (tensor->uses.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
    tensor_of_[tensor->op.index()] = nullptr;
    tensor->next = std::exchange(unused, tensor);
  };
  for (std::size_t i = inputs_begin; i < first_input; ++i) drop_use(log.inputs[i]);
  for (std::size_t c = begin; c < end; ++c) drop_use(log.calls[c].output);
  if (computed > 0) {
    // What isn't measured takes no time in a simulation, like what a scenario prepares.
    const bool timed = summary_ != nullptr || !setting_.has_virtual_time;
    send(planner_->plan([this](OpId op) { return tensor_of_[op.index()] != nullptr; }, timed));
  }
  release(unused);
  handed_out_ += end - begin;
  return end;
}

OpId SessionEngine::append(const CallLog::Call& call, std::span<TensorState* const> inputs) {
  const Signature& signature = *call.signature;
  if (signature.number >= templates_.size()) templates_.resize(signature.number + 1);
  OpTemplateId& op_template = templates_[signature.number];
  if (!op_template) op_template = graph_->add_template(signature.op_template);
  constexpr std::size_t inline_inputs_max = 8;
  OpId few[inline_inputs_max];
  std::vector<OpId> many;
  OpId* ops = few;
  if (inputs.size() > inline_inputs_max) {
    many.resize(inputs.size());
    ops = many.data();
  }
  std::transform(inputs.begin(), inputs.end(), ops, [](const TensorState* t) { return t->op; });
  const OpId op = graph_->append(op_template, {ops, inputs.size()});
  call.output->op = op;
  tensor_of_.push_back(call.output);
  line_of_.push_back(call.line);
  if (call.output->given) add_given(op, *call.output);
  return op;
}

void SessionEngine::add_given(OpId op, TensorState& tensor) {
  const ReplicaSpec spec = planner_->add_given(op, graph_->placement(op).memory);
  const ReplicaId replica = store_.install({&spec, 1}, graph_->types());
  tensor.copies.push_back({replica, 0});
  store_.acquire(replica);
  if (std::byte* const values = store_.data(replica)) {
    std::memcpy(values, tensor.given.get(), graph_->type(op).bytes());
  }
  tensor.given.reset();
}

void SessionEngine::send(PlannedWindow planned) {
  // Readers are added first: then nothing that the window reads is freed while this waits for room.
  for (const ReplicaId r : planned.read_again) store_.add_readers(r, 1);
  while (!store_.has_room(planned.replicas, graph_->types())) {
    release(tensors_.take_dropped());
    if (in_flight_.empty() && !store_.has_room(planned.replicas, graph_->types())) {
      throw run_error("a memory has no room for the tensors that are to be made",
                      "drop handles of tensors that aren't needed, or make tensors smaller");
    }
    if (!in_flight_.empty() && !await_window()) return;
  }
  if (setting_.has_values()) {
    load_kernels(*graph_, std::exchange(loaded_, graph_->classes().size()));
    store_.reserve_buffers(planned.replicas, graph_->types(), buffers_at_once(*graph_));
  }
  store_.install(planned.replicas, graph_->types());
  const Window& window = planned.window;
  TROUPE_ASSERT(window.number == next_window_);
  ++next_window_;
  items_sent_ += window.items;
  InFlight& entry = in_flight_.emplace_back();
  entry.window = {.number = window.number,
                  .shares = {},
                  .first = window.first,
                  .items = window.items,
                  .timed = window.timed,
                  .waits = window.waits};
  entry.calls_before = handed_out_;
  hold(planned, entry);
  runtime_.send(std::move(planned.window));
}

// The session holds what it may still read, and until the window has completed what nobody reads.
void SessionEngine::hold(const PlannedWindow& planned, InFlight& entry) {
  for (const PlannedWindow::Hold& held : planned.holds) {
    if (TensorState* const tensor = tensor_of_[held.op.index()]) {
      tensor->copies.push_back({held.replica, planned.window.number});
    } else {
      entry.to_release.push_back(held.replica);
    }
  }
}

void SessionEngine::release(TensorState* dropped) {
  while (dropped != nullptr) {
    TensorState* const tensor = std::exchange(dropped, dropped->next);
    if (tensor->op) {
      tensor_of_[tensor->op.index()] = nullptr;
      release_copies(*tensor);
    }
    tensors_.give_back(tensor);
  }
}

void SessionEngine::release_copies(TensorState& tensor) {
  for (const TensorState::Copy& copy : tensor.copies) {
    if (!in_flight_.empty() && copy.window >= in_flight_.front().window.number) {
      in_flight_[copy.window - in_flight_.front().window.number].to_release.push_back(copy.replica);
    } else {
      store_.release(copy.replica);
    }
  }
  tensor.copies.clear();
  tensor.op = {};
}

bool SessionEngine::retire() {
  bool any = false;
  release(tensors_.take_dropped());
  while (std::optional<ResourceShares> shares = runtime_.take_window()) {
    any = true;
    InFlight done = std::move(in_flight_.front());
    in_flight_.pop_front();
    if (summary_) {
      done.window.shares = std::move(*shares);
      summary_->add(done.window);
    }
    for (const ReplicaId r : done.to_release) store_.release(r);
  }
  return any;
}

// Blocks until a window has completed. False if the run is over.
bool SessionEngine::await_window() {
  while (!retire()) {
    if (runtime_.is_over()) return false;
    runtime_.proceed();
  }
  return true;
}

SessionFailure SessionEngine::failure() {
  const RunResult result = runtime_.take_result();
  const CoordinatorLogic::Failure& why = result.failure;
  SessionFailure failure{.what = describe(why, *graph_, machine_, planner_->plan())};
  if (why.unit) failure.line = line_of_[planner_->plan().units[why.unit.index()].op.index()];
  return failure;
}

const std::byte* SessionEngine::data(const TensorState& tensor) const {
  for (const TensorState::Copy& copy : tensor.copies) {
    if (const std::byte* const values = store_.data(copy.replica)) return values;
  }
  return nullptr;
}

void SessionEngine::read(const TensorState& tensor, std::vector<std::byte>& out) const {
  store_.read(tensor.copies.front().replica, out);
}

void SessionEngine::begin_measure() {
  renew();
  summary_ = std::make_unique<Summary>(*graph_, machine_, planner_->plan(), true);
  measured_since_ = runtime_.now();
}

ScenarioReport SessionEngine::end_measure(const std::string& name) {
  RunResult result;
  result.origin = measured_since_;
  result.took = runtime_.now() - *measured_since_;
  ScenarioReport report = summary_->finish(name, result);
  summary_.reset();
  return report;
}

}  // namespace troupe
