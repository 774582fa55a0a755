#include "actors/actor_threads.hpp"

#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <pthread.h>
#include <sched.h>

// A message; its handler sets the promise to the thread it runs on.
struct Where {
  std::shared_ptr<std::promise<std::thread::id>> answer;
};
// A message; its handler blocks until the test opens the gate.
struct Block {
  std::shared_ptr<std::promise<void>> begun;
  std::shared_future<void> gate;
};
// A message; its handler calls the function.
struct Do {
  std::function<void()> function;
};
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(Where)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(Do)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(Block)

namespace troupe {
BOOST_AUTO_TEST_SUITE(actor_threads)
namespace {

using namespace std::chrono_literals;

// Only failing tests wait so long.
constexpr auto patience = 60s;

// An actor that tells on which thread it handles its messages.
class Speaker : public caf::event_based_actor {
 public:
  using caf::event_based_actor::event_based_actor;
  caf::behavior make_behavior() override {
    return {
        [](const Where& where) { where.answer->set_value(std::this_thread::get_id()); },
        [](const Block& block) {
          block.begun->set_value();
          block.gate.wait();
        },
        [](const Do& what) { what.function(); },
    };
  }
};

class World {
 public:
  World() {
    config_.load<ActorThreads>();
    system_ = std::make_unique<caf::actor_system>(config_);
  }
  ~World() {
    for (const caf::actor& a : actors_) caf::anon_send_exit(a, caf::exit_reason::user_shutdown);
  }
  caf::actor_system& system() { return *system_; }
  ActorThreads& threads() { return ActorThreads::of(*system_); }
  caf::actor spawn_alone(Waiting waiting, Poll poll = {}) {
    caf::actor_config config(threads().start_own_thread(waiting, std::move(poll)));
    actors_.push_back(system_->spawn_class<Speaker, caf::no_spawn_options>(config));
    return actors_.back();
  }
  caf::actor spawn_behind(Post post) {
    caf::actor_config config(threads().borrow_thread(std::move(post)));
    actors_.push_back(system_->spawn_class<Speaker, caf::no_spawn_options>(config));
    return actors_.back();
  }
  caf::actor spawn_anywhere() {
    actors_.push_back(system_->spawn<Speaker>());
    return actors_.back();
  }

 private:
  caf::actor_system_config config_;
  std::unique_ptr<caf::actor_system> system_;
  std::vector<caf::actor> actors_;  // destroyed before the system, which waits until they end
};

// A thread that calls what it is given, one after the other, until it is closed.
class Lender {
 public:
  Post post() {
    return [this](std::function<void()> function, bool polls_next) {
      const std::lock_guard lock(mutex_);
      if (is_closed_) return false;
      functions_.push_back(std::move(function));
      if (!polls_next) changed_.notify_one();
      return true;
    };
  }
  // Wakes its thread.
  std::function<bool()> poll() {
    return [this] {
      changed_.notify_one();
      return false;
    };
  }
  std::thread::id id() const { return thread_.get_id(); }
  // Calls what it has, and takes no more.
  void close() {
    {
      const std::lock_guard lock(mutex_);
      is_closed_ = true;
    }
    changed_.notify_one();
    if (thread_.joinable()) thread_.join();
  }
  ~Lender() { close(); }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return is_closed_ || !functions_.empty(); });
      if (functions_.empty()) return;
      const std::function<void()> next = std::move(functions_.front());
      functions_.pop_front();
      lock.unlock();
      next();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> functions_;
  bool is_closed_ = false;
  std::thread thread_{[this] { work(); }};  // last: it uses all the others
};

std::thread::id value_of(std::future<std::thread::id> answer) {
  BOOST_REQUIRE((answer.wait_for(patience) == std::future_status::ready));
  return answer.get();
}

std::future<std::thread::id> ask(const caf::actor& actor) {
  Where where{std::make_shared<std::promise<std::thread::id>>()};
  std::future<std::thread::id> answer = where.answer->get_future();
  caf::anon_send(actor, std::move(where));
  return answer;
}

int policy_of(std::thread::id thread) {
  int policy = -1;
  sched_param priority{};
  pthread_getschedparam(std::bit_cast<pthread_t>(thread), &policy, &priority);
  return policy;
}

std::future<std::thread::id> ask_after(const caf::actor& actor, std::chrono::milliseconds delay) {
  Where where{std::make_shared<std::promise<std::thread::id>>()};
  std::future<std::thread::id> answer = where.answer->get_future();
  caf::delayed_anon_send(actor, delay, std::move(where));
  return answer;
}

BOOST_AUTO_TEST_CASE(an_actor_handles_its_messages_on_a_thread_of_its_own_always_the_same) {
  World world;
  const std::array actors{world.spawn_alone(Waiting::asleep), world.spawn_alone(Waiting::briefly),
                          world.spawn_alone(Waiting::asleep), world.spawn_alone(Waiting::briefly),
                          world.spawn_anywhere()};
  std::vector<std::thread::id> homes;
  homes.reserve(actors.size());
  for (const caf::actor& a : actors) homes.push_back(value_of(ask(a)));
  const std::set<std::thread::id> distinct(homes.begin(), homes.end());
  BOOST_TEST(distinct.size() == actors.size());
  BOOST_TEST(!distinct.contains(std::this_thread::get_id()));
  // One message at a time, so that threads sleep in between, and many at once.
  for (int round = 0; round < 100; ++round) {
    for (std::size_t i = 0; i < actors.size(); ++i) {
      BOOST_TEST((value_of(ask(actors[i])) == homes[i]));
    }
  }
  std::vector<std::future<std::thread::id>> answers;
  for (int round = 0; round < 1000; ++round) {
    for (const caf::actor& a : actors) answers.push_back(ask(a));
  }
  for (std::size_t i = 0; i < answers.size(); ++i) {
    BOOST_TEST((value_of(std::move(answers[i])) == homes[i % actors.size()]));
  }
}

BOOST_AUTO_TEST_CASE(a_blocked_actor_keeps_no_other_from_its_messages) {
  for (const Waiting waiting : {Waiting::asleep, Waiting::briefly}) {
    World world;
    const caf::actor blocked = world.spawn_alone(waiting);
    const caf::actor other = world.spawn_alone(waiting);
    const caf::actor third = world.spawn_anywhere();
    std::promise<void> gate;
    Block block{std::make_shared<std::promise<void>>(), gate.get_future().share()};
    std::future<void> begun = block.begun->get_future();
    caf::anon_send(blocked, std::move(block));
    BOOST_REQUIRE((begun.wait_for(patience) == std::future_status::ready));
    std::future<std::thread::id> behind = ask(blocked);
    for (int i = 0; i < 100; ++i) {
      value_of(ask(other));
      value_of(ask(third));
    }
    BOOST_TEST((behind.wait_for(0s) == std::future_status::timeout));
    gate.set_value();
    value_of(std::move(behind));
  }
}

BOOST_AUTO_TEST_CASE(delayed_messages_arrive_on_the_thread_of_their_actor) {
  World world;
  for (const caf::actor& a : {world.spawn_alone(Waiting::asleep),
                              world.spawn_alone(Waiting::briefly), world.spawn_anywhere()}) {
    std::future<std::thread::id> later = ask_after(a, 2ms);
    const std::thread::id home = value_of(ask(a));
    const std::thread::id there = value_of(std::move(later));
    BOOST_TEST((there == home));
    BOOST_TEST((value_of(ask_after(a, 0ms)) == home));
  }
}

BOOST_AUTO_TEST_CASE(actors_that_wait_briefly_give_way_and_go_on) {
  World world;
  const caf::actor coordinator = world.spawn_alone(Waiting::asleep);
  const caf::actor device = world.spawn_alone(Waiting::briefly);
  const caf::actor link = world.spawn_anywhere();
  BOOST_TEST(policy_of(value_of(ask(device))) == SCHED_OTHER);
  world.threads().give_way();
  BOOST_TEST(policy_of(value_of(ask(device))) == SCHED_IDLE);
  BOOST_TEST(policy_of(value_of(ask(coordinator))) == SCHED_OTHER);
  BOOST_TEST(policy_of(value_of(ask(link))) == SCHED_OTHER);
}

BOOST_AUTO_TEST_CASE(an_actor_on_a_borrowed_thread_handles_its_messages_there_until_that_ends) {
  Lender lender;
  World world;
  const caf::actor actor = world.spawn_behind(lender.post());
  const std::thread::id lent = lender.id();
  BOOST_TEST((value_of(ask(actor)) == lent));
  std::vector<std::future<std::thread::id>> answers;
  for (int i = 0; i < 1000; ++i) answers.push_back(ask(actor));
  for (auto& answer : answers) BOOST_TEST((value_of(std::move(answer)) == lent));
  BOOST_TEST((value_of(ask_after(actor, 1ms)) == lent));
  lender.close();
  world.threads().start_shared_thread();
  for (int i = 0; i < 10; ++i) value_of(ask(actor));  // elsewhere
}

// This test hangs if it fails.
BOOST_AUTO_TEST_CASE(a_thread_that_waits_briefly_polls_and_takes_what_comes_of_it) {
  std::atomic<bool> may_come = false;
  std::promise<std::thread::id> polled;
  World world;
  const auto poll = [&] {
    if (may_come.exchange(false)) polled.set_value(std::this_thread::get_id());
    return false;
  };
  const caf::actor actor = world.spawn_alone(Waiting::briefly, {.once = poll});
  const std::thread::id own = value_of(ask(actor));
  may_come = true;
  while (may_come) ask(actor).wait();  // it waits after each of them
  BOOST_TEST((polled.get_future().get() == own));
}

// What is sent to an actor behind the lender wakes nobody: the sender does that when it polls. This
// test hangs if it doesn't.
BOOST_AUTO_TEST_CASE(a_thread_that_sends_to_a_borrowed_one_polls_before_it_blocks_or_waits) {
  Lender lender;
  std::atomic<int> polls = 0;
  std::promise<void> blocked;
  std::promise<std::future<std::thread::id>> waits;
  World world;
  const caf::actor behind = world.spawn_behind(lender.post());
  lender.poll()();  // for its start
  const caf::actor sender = world.spawn_alone(Waiting::briefly, {.once = [&, poll = lender.poll()] {
                                                ++polls;
                                                return poll();
                                              }});
  caf::anon_send(sender, Do{[&] {
                   std::future<std::thread::id> answer = ask(behind);
                   ActorThreads::poll_if_due();
                   BOOST_TEST((value_of(std::move(answer)) == lender.id()));
                   const int before = polls;
                   ActorThreads::poll_if_due();  // is not due
                   BOOST_TEST(polls == before);
                   blocked.set_value();
                 }});
  blocked.get_future().wait();
  caf::anon_send(sender, Do{[&] { waits.set_value(ask(behind)); }});
  BOOST_TEST((value_of(waits.get_future().get()) == lender.id()));
  lender.poll()();
  lender.close();
}

// The poller itself runs what was posted. A message to the first actor makes it send one to the
// second, within a poll. This test hangs if the second one isn't polled for.
BOOST_AUTO_TEST_CASE(what_is_sent_within_a_poll_is_polled_for_before_the_thread_blocks) {
  std::mutex mutex;
  std::vector<std::function<void()>> posted;
  bool is_closed = false;
  const Post post = [&](std::function<void()> function, bool) {
    const std::lock_guard lock(mutex);
    if (!is_closed) posted.push_back(std::move(function));
    return !is_closed;
  };
  const std::function<bool()> poll = [&] {
    std::vector<std::function<void()>> functions;
    {
      const std::lock_guard lock(mutex);
      functions.swap(posted);
    }
    for (const auto& function : functions) function();
    return !functions.empty();
  };
  std::promise<void> done;
  World world;
  const caf::actor first = world.spawn_behind(post);
  const caf::actor second = world.spawn_behind(post);
  const caf::actor sender = world.spawn_alone(Waiting::briefly, {.once = poll});
  poll();  // for their start
  caf::anon_send(sender, Do{[&] {
                   std::promise<void> came;
                   caf::anon_send(
                       first, Do{[&] { caf::anon_send(second, Do{[&] { came.set_value(); }}); }});
                   ActorThreads::poll_if_due();
                   came.get_future().wait();
                   done.set_value();
                 }});
  done.get_future().wait();
  {
    const std::lock_guard lock(mutex);
    is_closed = true;
  }
  poll();
}

// What it polls for goes on by itself then. This test hangs if it isn't told.
BOOST_AUTO_TEST_CASE(a_thread_leaves_the_poll_before_it_sleeps_and_when_it_is_told_to) {
  std::mutex mutex;
  std::condition_variable changed;
  int left = 0;
  const auto so_far = [&] {
    const std::lock_guard lock(mutex);
    return left;
  };
  const auto wait_for_more_than = [&](int count) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return left > count; });
  };
  World world;
  const caf::actor actor =
      world.spawn_alone(Waiting::briefly, {.once = [] { return false; },
                                           .leave =
                                               [&] {
                                                 const std::lock_guard lock(mutex);
                                                 ++left;
                                                 changed.notify_all();
                                               }});
  wait_for_more_than(0);
  std::promise<int> told;
  caf::anon_send(actor, Do{[&] {
                   const int before = so_far();
                   ActorThreads::leave_poll();
                   BOOST_TEST(so_far() == before + 1);
                   told.set_value(before + 1);
                 }});
  wait_for_more_than(told.get_future().get());
  ActorThreads::leave_poll();  // not of an actor's thread
}

// Asks in a loan of this thread until the actor answers here: it may not sleep yet. This test hangs
// if it never does.
BOOST_AUTO_TEST_CASE(a_thread_that_is_lent_runs_the_actor_that_its_message_finds_asleep) {
  World world;
  for (const caf::actor& actor : {world.spawn_alone(Waiting::asleep),
                                  world.spawn_alone(Waiting::briefly), world.spawn_anywhere()}) {
    const std::thread::id home = value_of(ask(actor));
    const auto ask_on_loan = [&] {
      const ActorThreads::Loan loan;
      return ask(actor);
    };
    std::thread::id answered = home;
    while (answered == home) answered = value_of(ask_on_loan());
    BOOST_TEST((answered == std::this_thread::get_id()));
    BOOST_TEST((value_of(ask(actor)) != std::this_thread::get_id()));
  }
}

// Calls the function in an actor, which is on loan when it is called. Hangs if it never is.
void call_on_loan(const caf::actor& actor, const std::function<void()>& function) {
  const std::thread::id here = std::this_thread::get_id();
  for (bool was_here = false; !was_here;) {
    std::promise<bool> called;
    {
      const ActorThreads::Loan loan;
      caf::anon_send(actor, Do{[&] {
                       const bool is_here = std::this_thread::get_id() == here;
                       if (is_here) function();
                       called.set_value(is_here);
                     }});
    }
    was_here = called.get_future().get();
  }
}

BOOST_AUTO_TEST_CASE(an_actor_on_a_lent_thread_handles_further_messages_at_home) {
  World world;
  const caf::actor actor = world.spawn_alone(Waiting::asleep);
  const std::thread::id home = value_of(ask(actor));
  std::vector<std::future<std::thread::id>> answers;
  call_on_loan(actor, [&] {
    for (int i = 0; i < 20; ++i) answers.push_back(ask(actor));
  });
  for (auto& answer : answers) BOOST_TEST((value_of(std::move(answer)) == home));
}

BOOST_AUTO_TEST_CASE(what_an_actor_leaves_on_a_lent_thread_is_cleared_away_when_the_system_ends) {
  struct Left final : ActorThreads::LeftOver {
    void clear_away() override { cleared = true; }
    bool cleared = false;
  };
  Left first;
  Left second;
  Left not_lent;
  {
    World world;
    const caf::actor actor = world.spawn_alone(Waiting::asleep);
    std::promise<bool> is_left;
    caf::anon_send(actor, Do{[&] {
                     is_left.set_value(ActorThreads::leave_if_lent(world.system(), not_lent));
                   }});
    BOOST_TEST(!is_left.get_future().get());
    call_on_loan(actor, [&] {
      World other;
      BOOST_TEST(!ActorThreads::leave_if_lent(other.system(), not_lent));
      BOOST_TEST(ActorThreads::leave_if_lent(world.system(), first));
      BOOST_TEST(ActorThreads::leave_if_lent(world.system(), second));
    });
    BOOST_TEST(!first.cleared);
  }
  BOOST_TEST(first.cleared);
  BOOST_TEST(second.cleared);
  BOOST_TEST(!not_lent.cleared);
}

// This test hangs if it fails.
BOOST_AUTO_TEST_CASE(a_system_ends_whether_or_not_its_threads_were_started_or_used) {
  { World without_threads; }
  {
    World with_an_actor;
    BOOST_TEST((value_of(ask(with_an_actor.spawn_anywhere())) != std::this_thread::get_id()));
  }
  for (const Waiting waiting : {Waiting::asleep, Waiting::briefly}) {
    World unused;
    for (int i = 0; i < 3; ++i) unused.threads().start_own_thread(waiting);
    unused.threads().start_shared_thread();
    World half_used;
    half_used.threads().start_own_thread(waiting);
    BOOST_TEST((value_of(ask(half_used.spawn_alone(waiting))) != std::this_thread::get_id()));
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
