// What every device backend must do.
#include "core/backend/registry.hpp"
#include "core/base/error.hpp"
#include "core/machine/discover.hpp"
#include "core/patterns/pattern_ops.hpp"
#include "core/patterns/patterns.hpp"
#include "core/result/serial.hpp"
#include "core/result/verify.hpp"
#include "tests/support/waiting_completions.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <iostream>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(device_backend)
namespace {

using testing::WaitingCompletions;

// A CPU device with one stream, one with three, and a GPU.
Machine all_kinds_of_device() {
  Machine machine;
  const auto add = [&](std::string name, DeviceKind kind, int streams) {
    Device device;
    device.name = std::move(name);
    device.kind = kind;
    device.memory = MemoryId::at(machine.memories.size());
    device.streams = streams;
    device.flops = 1e9;
    device.bandwidth = 1e9;
    if (kind == DeviceKind::cpu) device.cores = discover_host().cores;
    machine.memories.push_back({.name = "of_" + device.name, .size_bytes = 256 << 20});
    machine.devices.push_back(std::move(device));
  };
  add("cpu", DeviceKind::cpu, 1);
  add("cpu_with_streams", DeviceKind::cpu, 3);
  add("gpu", DeviceKind::gpu, 2);
  return machine;
}

// Values that have a pattern.
class SomeValues final : public ValueSource {
 public:
  void read(std::uint64_t offset, std::span<std::byte> out) const override {
    for (std::byte& b : out) b = static_cast<std::byte>(offset++ % 61);
  }
};

// What an op of a kind is given: attributes, and what makes its inputs.
struct Example {
  Attrs attrs;
  std::vector<OpSpec> inputs;
};

// Two inputs of random values, or as many as the kind takes, and attributes that mean some work.
Example plain_example(const OpKind& kind, const OpSpec& random) {
  Example example;
  for (const AttrSpec& spec : kind.attrs) {
    Attr value = spec.fallback;
    if (std::holds_alternative<std::int64_t>(value)) value = std::int64_t{17};
    if (spec.name == "axis") value = std::int64_t{1};
    if (std::holds_alternative<double>(value)) value = -0.75;
    if (std::holds_alternative<Duration>(value)) value = Duration{100'000};
    if (std::holds_alternative<std::shared_ptr<const ValueSource>>(value)) {
      value = std::make_shared<const SomeValues>();
    }
    example.attrs.set(spec.name, value);
  }
  const std::size_t count = std::clamp<std::size_t>(2, kind.inputs.min, kind.inputs.max);
  for (std::size_t i = 0; i < count; ++i) {
    example.inputs.push_back(random);
    example.inputs.back().attrs = {{"seed", static_cast<std::int64_t>(i + 1)}};
  }
  return example;
}

// `random` makes a matrix of random values.
Example example_of(const OpRegistry& ops, const OpKind& kind, const OpSpec& random) {
  Example example = plain_example(kind, random);
  const Shape& shape = random.declared.shape;
  const std::string_view name = kind.name;
  if (name == "reshape") example.attrs.set("shape", Integers{-1});
  if (name == "slice") {
    example.attrs = {{"begin", Integers{3, 5}}, {"end", Integers{shape[0], shape[1] - 1}}};
  }
  if (name == "layer_norm") {
    example.attrs = {};
    for (const std::size_t i : {1, 2}) example.inputs[i].declared.shape = Shape{shape[1]};
  }
  if (name == "potrf") example.inputs[0].declared.shape = Shape{shape[0], 3 * shape[0]};
  if (name.starts_with("softmax_cross_entropy")) {
    OpSpec& labels = example.inputs[1];
    labels = {.kind = ops.find("constant"),
              .attrs = {{"value", 5}},
              .declared = {random.declared.dtype, Shape{shape[0]}}};
  }
  if (name == "take" || name == "index_add") {
    OpSpec& numbers = example.inputs[1];
    numbers = {.kind = ops.find("constant"),
               .attrs = {{"value", 5}},
               .declared = {DType::i64, Shape{2, 3}}};
  }
  if (name == "index_add") example.inputs[2].declared.shape = Shape{shape[0], 2, 3};
  return example;
}

//   a ─┐
//      ├─ op     (or as many inputs as its kind takes; of a pattern: its last point)
//   b ─┘
struct OneOp {
  Graph graph{pattern_ops()};
  OpId op;

  OneOp(OpKindId kind_id, DType dtype, Shape shape) {
    const OpKind& kind = graph.kinds()[kind_id];
    if (kind.name == "point") {
      PointTask task;
      task.pattern = {.dependence = Dependence::stencil_1d, .width = 2, .steps = 2};
      append_points(graph, task, {}, "under_test");
      op = OpId::at(3);
      return;
    }
    graph.begin_group("under_test");
    const OpSpec random{.kind = graph.kinds().find("uniform"), .declared = {dtype, shape}};
    const Example example = example_of(graph.kinds(), kind, random);
    std::vector<OpId> inputs;
    for (const OpSpec& input : example.inputs) inputs.push_back(graph.append(input));
    if (kind.name == "potrf") inputs = {product_with_transpose(inputs[0])};
    op = graph.append(
        {.kind = kind_id, .inputs = inputs, .attrs = example.attrs, .declared = {dtype, shape}});
  }

  // Positive definite, if `x` has more columns than rows, of random values.
  OpId product_with_transpose(OpId x) {
    return graph.append({.kind = graph.kinds().find("matmul"),
                         .inputs = std::array{x, x},
                         .attrs = {{"transpose_b", true}}});
  }
};

OpRanges all_ops(const Graph& graph) {
  OpRanges ops;
  ops.append(OpId{0}, static_cast<std::uint32_t>(graph.size()));
  return ops;
}

// Whether no value differs by more than verification allows.
template <class T>
bool is_near(std::span<const std::byte> actual, std::span<const std::byte> expected,
             double tolerance) {
  const std::span a(reinterpret_cast<const T*>(actual.data()), actual.size() / sizeof(T));
  const std::span e(reinterpret_cast<const T*>(expected.data()), expected.size() / sizeof(T));
  T largest{0};
  for (const T value : e) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  return std::equal(a.begin(), a.end(), e.begin(), e.end(), [&](T x, T y) {
    return x == y || (std::isnan(x) && std::isnan(y)) ||
           std::abs(static_cast<double>(x) - static_cast<double>(y)) <=
               tolerance * static_cast<double>(largest);
  });
}

bool is_near(std::span<const std::byte> actual, std::span<const std::byte> expected, DType dtype) {
  return dtype == DType::f32
             ? is_near<float>(actual, expected, near_enough(Comparison::nearness, dtype))
             : is_near<double>(actual, expected, near_enough(Comparison::nearness, dtype));
}

using Values = std::vector<std::vector<std::byte>>;  // by op

Values serial_values(const Graph& graph) {
  Values values(graph.size());
  run_serial(graph, all_ops(graph), 1, [&](OpId op, std::span<const std::byte> bytes) {
    values[op.index()].assign(bytes.begin(), bytes.end());
    return true;
  });
  return values;
}

// Runs a device's backend on its own thread, as in a run, because enter_thread() may pin the
// thread.
class Bench {
 public:
  Bench(const DeviceBackendEntry& entry, const Machine& machine, DeviceId device)
      : entry_(entry),
        machine_(machine),
        device_(device),
        store_(machine,
               computes_values(entry.mode) ? MemoryStore::Backing::buffers
                                           : MemoryStore::Backing::accounted,
               MemoryStore::Counting::acquired, {}, [&entry](const Machine& m, MemoryId id) {
                 return choose_space(entry.mode, m, id);
               }) {}

  void run(const std::function<void(Bench&)>& body) {
    std::thread([&] {
      backend_ = entry_.make(
          {.machine = machine_, .ops = pattern_ops(), .store = store_, .completions = told_},
          device_);
      backend_->enter_thread();
      body(*this);
      backend_.reset();
    }).join();
  }

  DeviceBackend& backend() { return *backend_; }
  MemoryStore& store() { return store_; }
  WaitingCompletions& told() { return told_; }

  // A replica for each op's result, in op order.
  void install(const Graph& graph) {
    store_.clear();
    std::vector<TensorType> types;
    std::vector<ReplicaSpec> replicas;
    for (const OpId op : all_ops(graph)) {
      replicas.push_back({.memory = machine_.device(device_).memory,
                          .type = static_cast<std::uint32_t>(types.size()),
                          .readers = 1});
      types.push_back(graph.type(op));
    }
    store_.install(replicas, types);
    for (std::size_t i = 0; i < replicas.size(); ++i) store_.acquire(ReplicaId::at(i));
  }

  std::uint32_t issue_depth() const {
    return entry_.issue_depth == nullptr ? 0 : entry_.issue_depth(machine_, device_);
  }
  bool issues_ahead() const { return issue_depth() > 0; }
  // The first slot of a stream.
  std::uint32_t slot_of(std::uint32_t stream) const {
    return issues_ahead() ? stream * issue_depth() : stream;
  }

  Started start(const Graph& graph, OpId op, std::uint32_t stream) {
    std::vector<ReplicaId> inputs;
    for (const OpId input : graph.inputs(op)) inputs.push_back(ReplicaId::at(input.index()));
    Issue issue;
    return backend_->start(slot_of(stream),
                           {.kind = graph.kind_id(op),
                            .attrs = &graph.attrs(op),
                            .inputs = inputs,
                            .output = ReplicaId::at(op.index()),
                            .expected = expected,
                            .index = op.value - graph.group(graph.group_of(op)).first.value,
                            .issue = issues_ahead() ? &issue : nullptr});
  }

  // Runs an op. Returns the cause if it failed, however the backend reported that.
  std::optional<std::string> finish(const Graph& graph, OpId op, std::uint32_t stream) {
    try {
      const Started started = start(graph, op, stream);
      backend_->submit();
      if (has_virtual_time(entry_.mode)) {
        BOOST_TEST((started.state == Started::State::after));
        BOOST_TEST((started.after == expected));
      }
      if (started.state != Started::State::pending) return std::nullopt;
    } catch (const Error& e) {
      BOOST_TEST((e.kind() == ErrorKind::failed));
      return e.what();
    }
    const WaitingCompletions::Told told = told_.wait();
    BOOST_TEST(told.slot == slot_of(stream));
    return told.cause;
  }

  std::vector<std::byte> value(OpId op) {
    std::vector<std::byte> bytes;
    store_.read(ReplicaId::at(op.index()), bytes);
    return bytes;
  }

  static constexpr Duration expected{12'345};

 private:
  const DeviceBackendEntry& entry_;
  const Machine& machine_;
  DeviceId device_;
  MemoryStore store_;
  WaitingCompletions told_;
  std::unique_ptr<DeviceBackend> backend_;
};

void for_each_fit(
    const std::function<void(const DeviceBackendEntry&, const Machine&, DeviceId)>& f) {
  const Machine machine = all_kinds_of_device();
  for (const DeviceBackendEntry& entry : device_backends()) {
    for (std::size_t d = 0; d < machine.devices.size(); ++d) {
      const DeviceId device = DeviceId::at(d);
      BOOST_TEST_CONTEXT(entry.name << " on " << machine.device(device).name) {
        if (serves(entry, machine, device)) f(entry, machine, device);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(hardware_that_is_absent_is_reported_as_skipped) {
  const Machine machine = all_kinds_of_device();
  for (const DeviceBackendEntry& entry : device_backends()) {
    for (std::size_t d = 0; d < machine.devices.size(); ++d) {
      if (serves(entry, machine, DeviceId::at(d))) continue;
      std::cout << "skipped: " << entry.name << " on " << machine.devices[d].name
                << " (it can't serve this device here)\n";
    }
  }
  BOOST_TEST(!device_backends().empty());
}

BOOST_AUTO_TEST_CASE(names_are_there_and_differ) {
  std::set<std::string_view> names;
  for (const DeviceBackendEntry& entry : device_backends()) {
    BOOST_TEST(!entry.name.empty());
    BOOST_TEST(names.insert(entry.name).second);
  }
}

BOOST_AUTO_TEST_CASE(a_backend_computes_every_op_as_the_serial_execution_does) {
  const std::array dtypes{DType::f32, DType::f64};
  for_each_fit([&](const auto& entry, const Machine& machine, DeviceId device) {
    Bench(entry, machine, device).run([&](Bench& bench) {
      for (std::size_t k = 0; k < pattern_ops().size(); ++k) {
        const OpKind& kind = pattern_ops()[OpKindId::at(k)];
        if (kind.name == "fail") continue;
        if (!entry.has_kernel(machine, device, kind)) {
          std::cout << "skipped: " << kind.name << " by " << entry.name << " on "
                    << machine.device(device).name << " (it has no kernel for it)\n";
          continue;
        }
        BOOST_TEST_CONTEXT(kind.name) {
          for (const DType dtype : dtypes) {
            const OneOp one(OpKindId::at(k), dtype, Shape{67, 67});
            bench.install(one.graph);
            for (const OpId op : all_ops(one.graph)) {
              BOOST_TEST(!bench.finish(one.graph, op, 0).has_value());
            }
            if (!computes_values(entry.mode)) continue;
            const auto expected = serial_values(one.graph)[one.op.index()];
            const DType made = one.graph.type(one.op).dtype;
            BOOST_TEST((entry.is_exact ? bench.value(one.op) == expected
                                       : is_near(bench.value(one.op), expected, made)));
          }
        }
      }
    });
  });
}

BOOST_AUTO_TEST_CASE(an_op_that_fails_says_why_and_the_slot_goes_on) {
  const OneOp failing(pattern_ops().find("fail"), DType::f64, Shape{4});
  for_each_fit([&](const auto& entry, const Machine& machine, DeviceId device) {
    if (!computes_values(entry.mode)) return;
    if (!entry.has_kernel(machine, device, failing.graph.kind(failing.op))) return;
    Bench(entry, machine, device).run([&](Bench& bench) {
      bench.install(failing.graph);
      const OpId input = OpId::at(0);
      BOOST_TEST(!bench.finish(failing.graph, input, 0).has_value());
      const auto cause = bench.finish(failing.graph, failing.op, 0);
      BOOST_REQUIRE(cause.has_value());
      BOOST_TEST(cause->find("on purpose") != std::string::npos);
      BOOST_TEST(!bench.finish(failing.graph, input, 0).has_value());
    });
  });
}

//   u[0] … u[n-1]: one on each stream; all are started before the test waits for the first
BOOST_AUTO_TEST_CASE(all_streams_may_be_busy_at_once_and_each_end_is_told_once_in_its_slot) {
  for_each_fit([](const auto& entry, const Machine& machine, DeviceId device) {
    Bench(entry, machine, device).run([&](Bench& bench) {
      const auto streams = static_cast<std::uint32_t>(machine.device(device).streams);
      Graph graph{pattern_ops()};
      graph.begin_group("u", true);
      for (std::uint32_t stream = 0; stream < streams; ++stream) {
        graph.append({.kind = graph.kinds().find("uniform"),
                      .attrs = {{"seed", std::int64_t{stream}}},
                      .declared = {DType::f32, Shape{300, 1001}}});
      }
      bench.install(graph);
      std::set<std::uint32_t> pending;
      for (std::uint32_t stream = 0; stream < streams; ++stream) {
        const Started started = bench.start(graph, OpId{stream}, stream);
        if (started.state == Started::State::pending) pending.insert(bench.slot_of(stream));
      }
      bench.backend().submit();
      const std::size_t expected_count = pending.size();
      for (std::size_t i = 0; i < expected_count; ++i) {
        const WaitingCompletions::Told told = bench.told().wait();
        BOOST_TEST(!told.cause.has_value());
        BOOST_TEST(pending.erase(told.slot) == 1U);
      }
      BOOST_TEST(bench.told().count() == expected_count);
      if (!computes_values(entry.mode)) return;
      const Values values = serial_values(graph);
      for (const OpId op : all_ops(graph)) {
        BOOST_TEST((bench.value(op) == values[op.index()]));
      }
    });
  });
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
