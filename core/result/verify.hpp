// Verification: compares each result of a real run with that of a serial execution.
#pragma once

#include "core/graph/graph.hpp"
#include "core/plan/plan.hpp"
#include "core/result/results.hpp"

#include <cstdint>
#include <functional>
#include <string>

namespace troupe {

struct Verdict {
  bool equal = true;
  bool complete = true;  // false: `keep_going` returned false
  std::string mismatch;  // the first tensor that differs, and where; empty if equal
};

// When a result is taken to be that of the serial execution.
enum class Comparison : std::uint8_t {
  bits,      // all bits are equal
  nearness,  // no element differs by more than near_enough() of the largest one, and those that
             // are no numbers are where they should be; integers are equal
  nearness_tf32,  // the same where a GPU has factors in TF32
};

// By how much elements may differ, as a part of the largest one. 0 for bits, and for integers.
//
// What sums in another order may differ by: 1e-5 for float32, 1e-12 for float64. With TF32, 2^-8
// for float32: TF32 has 10 bits of mantissa, so that each of two factors is off by up to 2^-10 (if
// it is cut; half of that if it is rounded), and their product by 2^-9. So is a sum of products
// that have one sign. The other half is for sums of both signs, and for a second product in a row.
double near_enough(Comparison comparison, DType dtype);

// Executes the plan's ops serially on the calling thread and compares each of the plan's results:
// if the tensor is kept in this process, as `comparison` says, otherwise by its digest.
// `widest_team`: as in RunSetting. Blocks for about the serial time, or until `keep_going`, which
// is called once per op, returns false. Throws a run Error if a result can't be read or a kernel
// fails.
Verdict verify(const Graph& graph, const Plan& plan, Results& results, Comparison comparison,
               std::int64_t widest_team, const std::function<bool()>& keep_going);

}  // namespace troupe
