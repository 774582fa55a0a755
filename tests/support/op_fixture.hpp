// Runs single ops on small tensors with teams of any size.
#pragma once

#include "core/base/assert.hpp"
#include "core/base/random.hpp"
#include "core/patterns/pattern_ops.hpp"

#include <atomic>
#include <cstring>
#include <functional>
#include <string_view>
#include <thread>
#include <type_traits>
#include <vector>

namespace troupe::testing {

// A team of `size` new threads, which cuts its work for `widest_team`. Which thread takes which
// index is random.
class FreshThreadsTeam final : public Team {
 public:
  explicit FreshThreadsTeam(std::size_t size, std::int64_t widest_team = 1)
      : size_(size), widest_team_(widest_team) {}
  std::size_t size() const override { return size_; }
  std::int64_t widest_team() const override { return widest_team_; }
  void run(std::size_t n, const std::function<void(std::size_t)>& f) override {
    std::atomic<std::size_t> next = 0;
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < size_; ++t) {
      threads.emplace_back([&] {
        for (std::size_t i = next++; i < n; i = next++) f(i);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

 private:
  std::size_t size_;
  std::int64_t widest_team_;
};

class SerialTeam final : public Team {
 public:
  std::size_t size() const override { return 1; }
  void run(std::size_t n, const std::function<void(std::size_t)>& f) override {
    for (std::size_t i = 0; i < n; ++i) f(i);
  }
};

struct Tensor {
  TensorType type;
  std::vector<std::byte> bytes;

  template <class T>
  T at(std::size_t i) const {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    return value;
  }
  template <class T>
  std::vector<T> values() const {
    std::vector<T> v(bytes.size() / sizeof(T));
    std::memcpy(v.data(), bytes.data(), bytes.size());
    return v;
  }
  friend bool operator==(const Tensor&, const Tensor&) = default;
};

template <class T>
constexpr DType dtype_of() {
  if (std::is_integral_v<T>) return sizeof(T) == 4 ? DType::i32 : DType::i64;
  return sizeof(T) == 4 ? DType::f32 : DType::f64;
}

template <class T>
Tensor tensor(Shape shape, const std::vector<T>& values) {
  Tensor t{{dtype_of<T>(), shape}, {}};
  TROUPE_ASSERT(values.size() == static_cast<std::size_t>(shape.elements()));
  t.bytes.resize(t.type.bytes());
  std::memcpy(t.bytes.data(), values.data(), t.bytes.size());
  return t;
}

// Numbers in [-1, 1); integers of any size, as their bits are random.
inline Tensor random_tensor(TensorType type, std::uint64_t seed) {
  Random random(seed);
  if (is_integer(type.dtype)) {
    Tensor t{type, std::vector<std::byte>(type.bytes())};
    for (std::byte& b : t.bytes) b = static_cast<std::byte>(random.next());
    return t;
  }
  const auto fill = [&]<class T>(std::vector<T> values) {
    for (T& v : values) v = static_cast<T>(2 * random.unit() - 1);
    return tensor(type.shape, values);
  };
  const auto n = static_cast<std::size_t>(type.shape.elements());
  return type.dtype == DType::f32 ? fill(std::vector<float>(n)) : fill(std::vector<double>(n));
}

inline const OpKind& op_kind(std::string_view name) {
  const OpKindId id = pattern_ops().find(name);
  TROUPE_ASSERT(id);
  return pattern_ops()[id];
}

inline TensorType type_of(std::string_view op, const std::vector<TensorType>& inputs,
                          const Attrs& attrs = {}, TensorType declared = {}) {
  const Attrs complete = complete_attrs(op_kind(op), attrs);
  return output_type(op_kind(op), {.inputs = inputs, .attrs = complete, .declared = declared});
}

inline Work work_of(std::string_view op, const std::vector<TensorType>& inputs,
                    const Attrs& attrs = {}, TensorType declared = {}) {
  const Attrs complete = complete_attrs(op_kind(op), attrs);
  const OpSignature signature{.inputs = inputs, .attrs = complete, .declared = declared};
  return op_kind(op).work(signature, op_kind(op).type(signature));
}

// Runs a kernel. Before that, the output is filled with NaNs, as an uninitialised buffer may be.
inline Tensor run_op(std::string_view op, const std::vector<Tensor>& inputs, const Attrs& attrs,
                     Team& team, TensorType declared = {}, std::uint32_t index = 0) {
  std::vector<TensorType> types;
  std::vector<ConstTensorView> views;
  for (const Tensor& input : inputs) {
    types.push_back(input.type);
    views.push_back({input.type, input.bytes.data()});
  }
  const Attrs complete = complete_attrs(op_kind(op), attrs);
  Tensor output{type_of(op, types, attrs, declared), {}};
  output.bytes.assign(output.type.bytes(), std::byte{0xFF});
  op_kind(op).cpu({.inputs = views,
                   .output = {output.type, output.bytes.data()},
                   .attrs = complete,
                   .team = team,
                   .index = index});
  return output;
}

inline Tensor run_op(std::string_view op, const std::vector<Tensor>& inputs,
                     const Attrs& attrs = {}, TensorType declared = {}) {
  SerialTeam team;
  return run_op(op, inputs, attrs, team, declared);
}

// Runs a kernel as op `index` of its group.
inline Tensor run_op(std::string_view op, const std::vector<Tensor>& inputs, const Attrs& attrs,
                     std::uint32_t index) {
  SerialTeam team;
  return run_op(op, inputs, attrs, team, {}, index);
}

// Whether teams of 1, 2, 3 and 5 threads give the same bits.
inline bool same_for_every_team(std::string_view op, const std::vector<Tensor>& inputs,
                                const Attrs& attrs = {}, TensorType declared = {}) {
  const Tensor expected = run_op(op, inputs, attrs, declared);
  for (const std::size_t size : {1, 2, 3, 5}) {
    FreshThreadsTeam team(size);
    if (run_op(op, inputs, attrs, team, declared) != expected) return false;
  }
  return true;
}

}  // namespace troupe::testing
