// Kinds that compute in place of an input give the same bits there as in another buffer.
#include "tests/support/op_cases.hpp"

#include <map>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
using namespace testing;

BOOST_AUTO_TEST_SUITE(in_place)
namespace {

struct InPlaceCase {
  std::vector<Shape> inputs;
  Attrs attrs = {};
  std::int64_t numbers_end = 0;  // the second input has integers below it, if it isn't 0
};

// Some are larger than the parts that a team computes.
constexpr std::int64_t n = 1'700;
const std::vector<Shape> two_vectors{{100'003}, {100'003}};
const std::map<std::string, std::vector<InPlaceCase>, std::less<>> in_place_cases{
    {"add", {{two_vectors}, {{{300, 200}, {200}}}}},
    {"sub", {{two_vectors}, {{{300, 200}, {300, 1}}}}},
    {"mul", {{two_vectors}, {{{300, 200}, {1}}}}},
    {"div", {{two_vectors}, {{{300, 200}, {200}}}}},
    {"maximum", {{two_vectors}, {{{300, 200}, {300, 1}}}}},
    {"minimum", {{two_vectors}, {{{300, 200}, {1}}}}},
    {"greater", {{two_vectors}, {{{300, 200}, {200}}}}},
    {"greater_equal", {{two_vectors}, {{{300, 200}, {300, 1}}}}},
    {"equal", {{two_vectors}, {{{300, 200}, {1}}}}},
    {"where",
     {{{{100'003}, {100'003}, {100'003}}},
      {{{300, 1}, {300, 200}, {200}}},
      {{{3}, {100'001, 3}, {1}}}}},
    {"abs", {{{{100'003}}}}},
    {"reciprocal", {{{{100'003}}, {{"numerator", 0.3}}}}},
    {"sqrt", {{{{100'003}}}}},
    {"scale",
     {{{{100'003}}, {{"alpha", 1.5}}},
      {{{100'003}}, {{"alpha", 1.5}, {"divisor", 0.3}, {"shift", 0.1}}}}},
    {"axpy", {{two_vectors, {{"alpha", 1.5}}}}},
    {"relu", {{{{100'003}}}}},
    {"relu_grad", {{two_vectors}}},
    {"gemm",
     {{{{n, 30}, {30, 40}, {n, 40}}, {{"beta", 0.5}}},
      {{{40, 30}, {n, 30}, {40, n}}, {{"transpose_b", true}}},
      {{{7, 5}, {5, 7}, {7, 7}}, {{"beta", 0.0}}}}},
    {"syrk", {{{{n, 20}, {n, n}}}, {{{20, 50}, {50, 50}}, {{"transpose", true}}}}},
    {"trsm",
     {{{{30, 30}, {30, n}}}, {{{30, 30}, {n, 30}}, {{"side", "right"}, {"transpose", true}}}}},
    {"potrf", {{{{60, 60}}}}},
    {"index_add",
     {{{{300, 200}, {700}, {700, 200}}, {}, 300},
      {{{3, 400, 7}, {5, 4}, {3, 5, 4, 7}}, {{"axis", std::int64_t{1}}}, 400}}},
};

// A random tensor; a square matrix has a heavy diagonal, so that it is positive definite.
Tensor input_of(const Shape& shape, std::uint64_t seed) {
  Tensor t = random_tensor({DType::f64, shape}, seed);
  if (shape.rank() != 2 || shape[0] != shape[1]) return t;
  std::vector<double> values = t.values<double>();
  for (std::int64_t i = 0; i < shape[0]; ++i) {
    values[static_cast<std::size_t>(i * (shape[0] + 1))] += static_cast<double>(shape[0]);
  }
  return tensor(shape, values);
}

// Runs a kernel whose output is the buffer of the input that its kind names.
Tensor run_in_place(const OpKind& kind, std::vector<Tensor> inputs, const Attrs& attrs,
                    Team& team) {
  std::vector<ConstTensorView> views;
  for (const Tensor& input : inputs) views.push_back({input.type, input.bytes.data()});
  Tensor& target = inputs[*kind.in_place_of];
  const Attrs complete = complete_attrs(kind, attrs);
  kind.cpu({.inputs = views,
            .output = {target.type, target.bytes.data()},
            .attrs = complete,
            .team = team});
  return target;
}

BOOST_AUTO_TEST_CASE(a_kind_that_computes_in_place_gives_the_same_bits_there) {
  for (const std::string_view name : builtin_ops().names()) {
    const OpKind& kind = op_kind(name);
    if (!kind.in_place_of) continue;
    const auto cases = in_place_cases.find(kind.name);
    BOOST_REQUIRE_MESSAGE(cases != in_place_cases.end(), kind.name << " needs a case here");
    for (const InPlaceCase& c : cases->second) {
      std::vector<Tensor> inputs;
      for (const Shape& shape : c.inputs) inputs.push_back(input_of(shape, 1 + inputs.size()));
      if (c.numbers_end > 0) {
        Random random(1);
        inputs[1] = random_numbers(random, {DType::i64, c.inputs[1]}, c.numbers_end);
      }
      BOOST_TEST_CONTEXT(kind.name << ", inputs of " << to_string(inputs[0].type)) {
        const Tensor expected = run_op(kind.name, inputs, c.attrs);
        for (const std::size_t size : {1, 3}) {
          FreshThreadsTeam team(size);
          BOOST_TEST((run_in_place(kind, inputs, c.attrs, team) == expected));
        }
      }
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
