#include "core/network/call_queue.hpp"

#include <atomic>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(call_queue)
namespace {

using namespace troupe;

const auto nothing = [] {};

}  // namespace

BOOST_AUTO_TEST_CASE(calls_come_in_the_order_in_which_they_were_pushed) {
  CallQueue queue;
  BOOST_TEST(queue.is_empty());
  std::vector<int> order;
  for (int i = 0; i < 3; ++i) queue.push([&order, i] { order.push_back(i); }, nothing);
  BOOST_TEST(!queue.is_empty());
  for (const CallQueue::Call& call : queue.take()) call();
  BOOST_TEST(order == (std::vector<int>{0, 1, 2}));
  BOOST_TEST(queue.is_empty());
}

BOOST_AUTO_TEST_CASE(only_the_first_push_wakes_an_owner_that_sleeps) {
  CallQueue queue;
  int wakes = 0;
  const auto wake = [&] { ++wakes; };
  queue.push(nothing, wake);
  BOOST_TEST(wakes == 0);
  BOOST_TEST(!queue.may_sleep());  // there is a call
  queue.take();
  BOOST_TEST(queue.may_sleep());
  queue.push(nothing, wake);
  queue.push(nothing, wake);
  BOOST_TEST(wakes == 1);
}

BOOST_AUTO_TEST_CASE(an_owner_that_is_awake_is_not_woken) {
  CallQueue queue;
  int wakes = 0;
  BOOST_TEST(queue.may_sleep());
  queue.awake();
  queue.push(nothing, [&] { ++wakes; });
  BOOST_TEST(wakes == 0);
}

BOOST_AUTO_TEST_CASE(no_call_of_several_threads_is_missed_by_an_owner_that_sleeps) {
  constexpr int threads = 3;
  constexpr int calls = 2000;
  CallQueue queue;
  std::atomic<int> wakes = 0;
  int done = 0;
  const auto push_all = [&] {
    for (int i = 0; i < calls; ++i) {
      queue.push([&] { ++done; },
                 [&] {
                   ++wakes;
                   wakes.notify_one();
                 });
    }
  };
  std::vector<std::thread> pushers;
  for (int t = 0; t < threads; ++t) pushers.emplace_back(push_all);
  int seen = 0;
  while (done < threads * calls) {
    for (const CallQueue::Call& call : queue.take()) call();
    if (done < threads * calls && queue.may_sleep()) {
      wakes.wait(seen);
      seen = wakes;
    }
  }
  for (std::thread& pusher : pushers) pusher.join();
  BOOST_TEST(done == threads * calls);
}

BOOST_AUTO_TEST_SUITE_END()
