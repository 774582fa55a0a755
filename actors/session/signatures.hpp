// What the calls of a session look like: op template and types, so that a call finds the type of
// its result at once.
#pragma once

#include "actors/session/tensor_state.hpp"
#include "core/graph/graph.hpp"
#include "core/ops/registry.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace troupe {

// Calls with the same op template and the same types of inputs. Types are indices into types().
// A call that makes several tensors counts as a call for each: those for the further ones, which
// have a signature each, come right after it and have its first tensor as their only input.
struct Signature {
  std::uint32_t number = 0;
  OpTemplate op_template;
  std::vector<std::uint32_t> inputs;
  std::uint32_t output = 0;
  std::uint16_t output_number = 0;  // k: of the k-th further output
  std::uint16_t further = 0;        // further outputs
  std::uint64_t bytes_made = 0;     // further outputs included; of these themselves 0
  std::uint64_t bytes_read = 0;     // of all inputs; likewise
};

class Signatures {
 public:
  // Of a call that is known to fail with tensors of these types as results, throws a usage Error
  // without a place.
  using Check = std::function<void(const OpTemplate&, std::span<const TensorType> made)>;

  // `check` is called for each new signature.
  Signatures(const OpRegistry& ops, Check check)
      : ops_(ops), check_(std::move(check)), recent_(ops.size()) {}

  // The signature of a call; a new one where there is none. Throws a usage Error without a place if
  // the inputs don't fit the op kind, and what the check throws.
  // The result doesn't move and doesn't change, until forget().
  const Signature& find(const OpTemplate& op_template, std::span<TensorState* const> inputs);
  // Of the k-th further output.
  const Signature& further(const Signature& signature, std::uint32_t k) const {
    return rows_[signature.number + k];
  }

  // There are so many that they should be forgotten: attributes that differ from call to call make
  // one for each.
  bool are_many() const { return rows_.size() >= signatures_max; }
  // Forgets all signatures, which get new numbers from 0 on. Types stay.
  void forget();

  const TensorType& type(std::uint32_t type) const { return types_[type]; }

 private:
  static constexpr std::size_t signatures_max = 1 << 16;

  bool fits(const Signature& row, const OpTemplate& op_template,
            std::span<TensorState* const> inputs) const;
  std::uint32_t add(const OpTemplate& op_template, std::span<TensorState* const> inputs);
  std::uint32_t type_number(const TensorType& type);

  const OpRegistry& ops_;
  const Check check_;
  // References to rows and types stay valid.
  std::deque<Signature> rows_;
  std::deque<TensorType> types_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> types_by_hash_;
  std::vector<std::vector<std::uint32_t>> recent_;  // by op kind, the last used at the end
  std::unordered_multimap<std::uint64_t, std::uint32_t> by_hash_;
};

}  // namespace troupe
