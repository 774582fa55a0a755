// Calls for which operator new finds no memory.
#include "tests/support/failing_new.hpp"
#include "tests/unit/actors/session_fixture.hpp"

#include <algorithm>
#include <new>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(session_no_memory)
namespace {

constexpr int calls = 40;

// Its number, and that number again.
OpRegistry with_twice() {
  OpRegistry ops = builtin_ops();
  ops.add({.name = "twice",
           .inputs = 1,
           .further_outputs = {{.name = "again"}},
           .cpu = [](const CpuCall& call) {
             const auto count = call.output.type.shape.elements();
             for (const TensorView& output : {call.output, call.further_outputs[0]}) {
               std::copy_n(call.inputs[0].as<float>(), count, output.as<float>());
             }
           }});
  return ops;
}

// Calls an op that hasn't been there, from a line that hasn't, whose n-th allocation fails; then
// the same without a failure. Returns whether there were so many allocations. Adds to `named` if an
// Error named the line.
bool call_twice(Session& session, int nth, int line, std::vector<Tensor>& made, int& named) {
  const Tensor x = session.constant({line}, static_cast<float>(line));
  const auto call = [&] { made = session.call_all("twice", {x}, {}, {}, {"lines", line}); };
  bool has_failed = false;
  try {
    const testing::FailingNew fails(nth);
    call();
  } catch (const Error& error) {
    has_failed = true;
    ++named;
    const std::string place = "lines:" + std::to_string(line) + ":";
    const std::string what = error.what();
    BOOST_TEST(what.starts_with(place + " this host has not enough memory for one more call"),
               what);
  } catch (const std::bad_alloc&) {
    has_failed = true;
    BOOST_TEST(nth <= 3);  // for the arguments, or what is returned: the session wasn't reached
  }
  if (has_failed) call();
  return has_failed;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_call_for_which_there_is_no_memory_leaves_nothing_and_the_session_goes_on) {
  int failed = 1;
  int named = 0;
  for (int nth = 1; failed > 0; ++nth) {
    BOOST_TEST_CONTEXT("allocation " << nth) {
      failed = 0;
      Session s(testing::session_machine(), {.ops = with_twice()});
      std::vector<std::vector<Tensor>> made(calls);
      for (int line = 1; line <= calls; ++line) {
        if (call_twice(s, nth, line, made[static_cast<std::size_t>(line - 1)], named)) ++failed;
      }
      for (int line = 1; line <= calls; ++line) {
        const std::vector<float> expected(static_cast<std::size_t>(line), static_cast<float>(line));
        for (const Tensor& tensor : made[static_cast<std::size_t>(line - 1)]) {
          BOOST_TEST(tensor.read<float>() == expected);
        }
      }
    }
  }
  BOOST_TEST(named > calls);
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
