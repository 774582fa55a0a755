// Random programs whose ops compute in place where they may: every tensor that has a handle has the
// values of a serial execution, which never computes in place, under any order of messages.
#include "actors/session.hpp"
#include "actors/tensor_ops.hpp"
#include "core/base/random.hpp"
#include "core/graph/graph.hpp"
#include "core/result/serial.hpp"
#include "tests/support/random_case.hpp"
#include "tests/support/seeds.hpp"

#include <array>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(in_place_graphs)
namespace {

constexpr std::int64_t n = 24;  // all tensors are n × n

// The calls of a program, in a session and in a graph.
class Program {
 public:
  Program(std::uint64_t seed, Mode mode, std::uint64_t order)
      : random_(seed), session_(testing::random_machine(random_), {.mode = mode, .seed = order}) {
    graph_.begin_group("all");
  }

  void run() {
    const std::size_t calls = 20 + random_.below(60);
    for (std::size_t i = 0; i < calls; ++i) call_any();
  }

  // Compares what still has a handle.
  void check() const {
    std::multimap<OpId, const Tensor*> expected;  // several for a tensor that was copied
    for (const Value& value : values_) expected.emplace(value.op, &value.tensor);
    OpRanges ops;
    for (std::size_t i = 0; i < graph_.size(); ++i) ops.append(OpId::at(i));
    run_serial(graph_, ops, 1, [&](OpId op, std::span<const std::byte> bytes) {
      const auto [begin, end] = expected.equal_range(op);
      for (auto value = begin; value != end; ++value) {
        const std::vector<double> actual = value->second->read<double>();
        BOOST_TEST((std::memcmp(actual.data(), bytes.data(), bytes.size()) == 0),
                   "op " << op.value << ", " << graph_.kind(op).name);
      }
      return true;
    });
  }

 private:
  struct Value {
    Tensor tensor;
    OpId op;
  };

  void call_any() {
    constexpr std::array kinds = {"uniform", "gemm", "gemm", "syrk",  "trsm", "add",
                                  "mul",     "axpy", "relu", "scale", "copy"};
    const std::string kind = kinds[random_.below(kinds.size())];
    if (values_.empty() || kind == "uniform") {
      add(kind_inputs("uniform", {}, {{"seed", static_cast<std::int64_t>(random_.below(99))}}));
    } else if (kind == "gemm") {
      add(kind_inputs(kind, {any(), any(), any()}, {{"alpha", 0.1}, {"transpose_b", true}}));
    } else if (kind == "syrk") {
      add(kind_inputs(kind, {any(), any()}, {{"alpha", -0.1}}));
    } else if (kind == "trsm") {
      add(kind_inputs(kind, {any(), any()}));
    } else if (kind == "axpy") {
      add(kind_inputs(kind, {any(), any()}, {{"alpha", 0.5}}));
    } else if (kind == "scale") {
      add(kind_inputs(kind, {any()}, {{"alpha", 0.5}}));
    } else if (kind == "copy") {
      copy(any());
    } else {
      add(kind_inputs(kind, kind == "relu" ? std::vector{any()} : std::vector{any(), any()}));
    }
    if (random_.below(8) == 0) values_[random_.below(values_.size())].tensor.wait();
  }

  // A call of the session and the same op of the graph.
  Value kind_inputs(const std::string& kind, const std::vector<std::size_t>& inputs,
                    const Attrs& attrs = {}) {
    std::vector<Tensor> tensors;
    std::vector<OpId> ops;
    for (const std::size_t i : inputs) {
      tensors.push_back(values_[i].tensor);
      ops.push_back(values_[i].op);
    }
    const TensorType declared = kind == "uniform" ? TensorType{DType::f64, {n, n}} : TensorType{};
    const OpId op = graph_.append(
        {.kind = graph_.kinds().find(kind), .inputs = ops, .attrs = attrs, .declared = declared});
    if (random_.below(2) == 0) return {session_.call(kind, tensors, attrs, declared), op};
    const auto& devices = session_.machine().devices;
    const DeviceScope on = session_.on(devices[random_.below(devices.size())].name);
    return {session_.call(kind, tensors, attrs, declared), op};
  }

  // To another memory, or within one: the values stay the same.
  void copy(std::size_t source) {
    const auto& devices = session_.machine().devices;
    const std::string memory = devices[random_.below(devices.size())].name;
    add({values_[source].tensor.to(memory), values_[source].op});
  }

  // In most cases in place of another value, whose handle is dropped.
  void add(Value value) {
    if (values_.size() < 3 || random_.below(6) == 0) {
      values_.push_back(std::move(value));
    } else {
      values_[random_.below(values_.size())] = std::move(value);
    }
  }

  std::size_t any() { return random_.below(values_.size()); }

  Random random_;
  Session session_;
  Graph graph_;
  std::vector<Value> values_;
};

BOOST_AUTO_TEST_CASE(what_has_a_handle_is_right_under_any_order_of_messages) {
  for (std::uint64_t seed = 1; seed <= testing::usual_seeds(120); ++seed) {
    for (std::uint64_t order = 0; order < 3; ++order) {
      BOOST_TEST_CONTEXT("seed " << seed << ", order " << order) {
        Program program(seed, Mode::rehearse, order);
        program.run();
        program.check();
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(what_has_a_handle_is_right_in_real_runs) {
  for (std::uint64_t seed = 1; seed <= testing::usual_seeds(60); ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      Program program(seed, Mode::run, 0);
      program.run();
      program.check();
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
