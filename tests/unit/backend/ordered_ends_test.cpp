#include "core/backend/network/ordered_ends.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(ordered_ends)
namespace {

using Words = std::vector<std::string>;
using State = Started::State;

// Writes down what is reported: "2", or "2: why".
class Heard final : public Completions {
 public:
  void completed(std::uint32_t slot) override { said.push_back(std::to_string(slot)); }
  void failed(std::uint32_t slot, std::string cause) override {
    said.push_back(std::to_string(slot) + ": " + std::move(cause));
  }

  Words said;
};

struct Direction {
  Heard heard;
  OrderedEnds ends{heard};

  void expect(const Words& words) const { BOOST_TEST(heard.said == words); }
};

BOOST_FIXTURE_TEST_CASE(ends_are_reported_in_the_order_in_which_chunks_began, Direction) {
  for (const std::uint32_t slot : {2U, 0U, 1U}) ends.begin(slot);
  ends.completed(1);
  ends.completed(0);
  expect({});
  ends.completed(2);
  expect({"2", "0", "1"});
}

BOOST_FIXTURE_TEST_CASE(a_failure_waits_for_its_turn, Direction) {
  ends.begin(0);
  ends.begin(1);
  ends.failed(1, "the cable");
  expect({});
  ends.completed(0);
  expect({"0", "1: the cable"});
}

BOOST_FIXTURE_TEST_CASE(a_chunk_that_ends_at_once_with_none_before_it_is_not_reported, Direction) {
  ends.begin(0);
  BOOST_TEST((ends.end_at_once().state == State::finished));
  ends.begin(0);
  BOOST_TEST((ends.end_at_once().state == State::finished));
  expect({});
}

BOOST_FIXTURE_TEST_CASE(a_chunk_that_ends_at_once_waits_for_those_under_way, Direction) {
  ends.begin(0);
  ends.begin(1);
  BOOST_TEST((ends.end_at_once().state == State::pending));
  expect({});
  ends.completed(0);
  expect({"0", "1"});
}

// Else the link would take it for done before it has heard of the one before.
BOOST_FIXTURE_TEST_CASE(a_chunk_is_pending_while_the_link_may_not_know_of_the_end_before,
                        Direction) {
  ends.begin(0);
  ends.completed(0);
  ends.begin(1);
  BOOST_TEST((ends.end_at_once().state == State::pending));
  expect({"0", "1"});
  ends.begin(0);  // the link knows that this slot is free, but not of slot 1
  BOOST_TEST((ends.end_at_once().state == State::pending));
  ends.begin(1);
  ends.completed(1);
  ends.begin(1);  // and by now of all
  BOOST_TEST((ends.end_at_once().state == State::finished));
}

BOOST_FIXTURE_TEST_CASE(a_chunk_that_was_taken_back_keeps_no_other_waiting, Direction) {
  ends.begin(0);
  ends.begin(1);
  ends.take_back();
  ends.begin(2);
  ends.completed(2);
  ends.completed(0);
  expect({"0", "2"});
}

BOOST_FIXTURE_TEST_CASE(nothing_is_reported_when_the_link_is_gone, Direction) {
  ends.begin(0);
  ends.begin(1);
  ends.leave();
  ends.completed(1);
  ends.failed(0, "the cable");
  expect({});
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
