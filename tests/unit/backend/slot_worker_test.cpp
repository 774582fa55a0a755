#include "core/backend/slot_worker.hpp"

#include "core/base/error.hpp"
#include "tests/support/address_space.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/waiting_completions.hpp"

#include <atomic>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(slot_worker)
namespace {

using testing::expect_error;
using testing::WaitingCompletions;

BOOST_AUTO_TEST_CASE(a_job_runs_on_a_thread_of_the_pool_and_its_end_is_reported_once) {
  WaitingCompletions completions;
  std::thread::id ran_on;
  {
    WorkerPool pool(1);
    SlotWorker worker(pool, completions, 3);
    worker.submit([&] { ran_on = std::this_thread::get_id(); });
    const auto told = completions.wait();
    BOOST_TEST(told.slot == 3U);
    BOOST_TEST(!told.cause.has_value());
  }
  BOOST_TEST((ran_on != std::thread::id() && ran_on != std::this_thread::get_id()));
  BOOST_TEST(completions.count() == 1U);
}

BOOST_AUTO_TEST_CASE(a_job_that_throws_is_told_as_failed_and_the_slot_goes_on) {
  WaitingCompletions completions;
  WorkerPool pool(1);
  SlotWorker worker(pool, completions, 1);
  worker.submit([] { throw run_error("disk is on fire", "fetch water"); });
  BOOST_TEST(completions.wait().cause.value() == "disk is on fire; fetch water");
  worker.submit([] { throw std::runtime_error("plain"); });
  BOOST_TEST(completions.wait().cause.value() == "plain");
  worker.submit([] { throw 7; });
  BOOST_TEST(completions.wait().cause.value() == "unknown exception");
  worker.submit([] {});
  BOOST_TEST(!completions.wait().cause.has_value());
}

BOOST_AUTO_TEST_CASE(the_thread_of_a_job_is_lent_with_the_report_of_its_end_but_not_if_it_fails) {
  struct Borrower final : Completions {
    void completed(std::uint32_t) override { BOOST_TEST(false); }
    void completed_and_lend(std::uint32_t slot) override {
      lender = std::this_thread::get_id();
      told.completed(slot);
    }
    void failed(std::uint32_t slot, std::string cause) override {
      told.failed(slot, std::move(cause));
    }
    std::thread::id lender;
    WaitingCompletions told;
  } borrower;
  WorkerPool pool(1);
  SlotWorker worker(pool, borrower, 2);
  std::thread::id ran_on;
  worker.submit([&] { ran_on = std::this_thread::get_id(); });
  BOOST_TEST(borrower.told.wait().slot == 2U);
  BOOST_TEST((borrower.lender == ran_on));
  borrower.lender = {};
  worker.submit([] { throw run_error("disk is on fire"); });
  BOOST_TEST(borrower.told.wait().cause.has_value());
  BOOST_TEST((borrower.lender == std::thread::id()));
}

BOOST_AUTO_TEST_CASE(what_a_job_holds_is_freed_before_its_end_is_told) {
  struct Watch final : Completions {
    void completed(std::uint32_t) override { is_freed.set_value(held.expired()); }
    void failed(std::uint32_t, std::string) override { is_freed.set_value(held.expired()); }
    std::weak_ptr<int> held;
    std::promise<bool> is_freed;
  };
  for (const bool fails : {false, true}) {
    Watch watch;
    WorkerPool pool(1);
    SlotWorker worker(pool, watch, 0);
    auto held = std::make_shared<int>(1);
    watch.held = held;
    worker.submit([held = std::move(held), fails] {
      if (fails) throw std::runtime_error(std::to_string(*held));
    });
    BOOST_TEST(watch.is_freed.get_future().get());
  }
}

BOOST_AUTO_TEST_CASE(the_next_job_may_be_submitted_from_within_a_completion) {
  struct Chain final : Completions {
    void completed(std::uint32_t) override {
      if (++ended < 1000) {
        worker->submit([] {});
      } else {
        done.completed(0);
      }
    }
    void failed(std::uint32_t, std::string) override {}
    SlotWorker* worker = nullptr;
    int ended = 0;
    WaitingCompletions done;
  } chain;
  for (const std::size_t threads_max : {1, 3}) {
    WorkerPool pool(threads_max);
    SlotWorker worker(pool, chain, 0);
    chain.worker = &worker;
    chain.ended = 0;
    worker.submit([] {});
    chain.done.wait();
    BOOST_TEST(chain.ended == 1000);
  }
}

BOOST_AUTO_TEST_CASE(the_destructor_lets_the_job_under_way_end_and_tells_it) {
  WaitingCompletions completions;
  std::atomic<bool> ran{false};
  {
    WorkerPool pool(1);
    SlotWorker worker(pool, completions, 0);
    worker.submit([&] { ran = true; });
  }
  BOOST_TEST(ran.load());
  BOOST_TEST(completions.count() == 1U);
}

BOOST_AUTO_TEST_CASE(a_job_that_gets_no_thread_is_refused_and_the_slot_stays_idle,
                     *boost::unit_test::precondition(testing::can_limit_addresses)) {
  WaitingCompletions completions;
  WorkerPool pool(1);
  SlotWorker worker(pool, completions, 0);
  {
    // Takes the stacks of threads that have ended as well, which the C library keeps for new ones.
    WorkerPool greedy(300);
    const testing::AddressSpaceLimit limit(64 << 20);
    BOOST_CHECK_THROW(greedy.start_all(), std::system_error);
    expect_error(ErrorKind::failed, "could not start a worker thread",
                 [&] { worker.submit([] {}); });
  }
  worker.submit([] {});
  BOOST_TEST(!completions.wait().cause.has_value());
  BOOST_TEST(completions.count() == 1U);
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
