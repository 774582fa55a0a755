#include "core/base/postponed_end.hpp"

#include <csignal>
#include <optional>

#include <boost/test/unit_test.hpp>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(postponed_end)
namespace {

volatile std::sig_atomic_t ended_by = 0;

extern "C" void end(int signal) {
  if (!postpone_end(signal)) ended_by = signal;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_signal_ends_the_process_once_no_work_is_under_way_that_it_must_not_cut) {
  const auto before = std::signal(SIGUSR1, end);
  std::optional<PostponedEnd> first(std::in_place);
  std::optional<PostponedEnd> second(std::in_place);
  raise(SIGUSR1);
  BOOST_TEST(ended_by == 0);
  first.reset();
  BOOST_TEST(ended_by == 0);
  second.reset();
  BOOST_TEST(ended_by == SIGUSR1);
  ended_by = 0;
  first.emplace();
  first.reset();
  BOOST_TEST(ended_by == 0);  // it was raised once
  raise(SIGUSR1);
  BOOST_TEST(ended_by == SIGUSR1);
  std::signal(SIGUSR1, before);
}

BOOST_AUTO_TEST_SUITE_END()
