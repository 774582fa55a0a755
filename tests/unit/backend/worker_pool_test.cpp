#include "core/backend/worker_pool.hpp"

#include "tests/support/address_space.hpp"

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(worker_pool)
namespace {

// Jobs that wait inside until the test opens a gate.
class Gate {
 public:
  void pass() {
    std::unique_lock lock(mutex_);
    threads_.insert(std::this_thread::get_id());
    ++inside_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
    ++passed_;
  }
  // Blocks until so many jobs are inside.
  void await(std::size_t inside) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return inside_ >= inside; });
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  std::size_t threads() const { return threads_.size(); }
  std::size_t passed() const { return passed_; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<std::thread::id> threads_;
  std::size_t inside_ = 0;
  std::size_t passed_ = 0;
  bool open_ = false;
};

class Visit final : public WorkerPool::Job {
 public:
  explicit Visit(Gate& gate) : gate_(gate) {}
  void run() noexcept override { gate_.pass(); }

 private:
  Gate& gate_;
};

BOOST_AUTO_TEST_CASE(as_many_jobs_run_at_once_as_the_limit_allows_and_the_others_after_them) {
  for (const std::size_t threads_max : {1, 2, 5}) {
    Gate gate;
    std::deque<Visit> jobs(20, Visit(gate));
    {
      WorkerPool pool(threads_max);
      for (Visit& job : jobs) pool.submit(job);
      gate.await(threads_max);
      gate.open();
    }
    BOOST_TEST(gate.passed() == jobs.size());
    BOOST_TEST(gate.threads() == threads_max);
  }
}

// A job that submits others in its turn.
class Chain final : public WorkerPool::Job {
 public:
  Chain(WorkerPool& pool, Gate& gate, std::vector<WorkerPool::Job*> others)
      : pool_(pool), gate_(gate), others_(std::move(others)) {}
  void run() noexcept override {
    for (WorkerPool::Job* const other : others_) pool_.submit(*other);
    gate_.pass();
  }

 private:
  WorkerPool& pool_;
  Gate& gate_;
  std::vector<WorkerPool::Job*> others_;
};

BOOST_AUTO_TEST_CASE(a_job_that_submits_another_one_is_followed_by_it_on_its_thread) {
  Gate gate;
  gate.open();
  std::deque<Chain> jobs;
  {
    WorkerPool pool(5);
    for (int i = 0; i < 100; ++i) {
      std::vector<WorkerPool::Job*> next;
      if (!jobs.empty()) next.push_back(&jobs.back());
      jobs.emplace_back(pool, gate, next);
    }
    pool.submit(jobs.back());
    gate.await(jobs.size());
  }
  BOOST_TEST(gate.threads() == 1U);
}

// This test hangs if they run one after the other.
BOOST_AUTO_TEST_CASE(of_two_jobs_that_a_job_submits_one_has_another_thread) {
  Gate gate;
  Gate open;
  open.open();
  Visit first(gate);
  Visit second(gate);
  WorkerPool pool(2);
  Chain both(pool, open, {&first, &second});
  pool.submit(both);
  gate.await(2);
  gate.open();
}

BOOST_AUTO_TEST_CASE(a_pool_without_jobs_has_no_threads_to_enter) {
  int entered = 0;
  {
    WorkerPool pool(8, [&] { ++entered; });
  }
  BOOST_TEST(entered == 0);
}

BOOST_AUTO_TEST_CASE(threads_that_are_started_ahead_enter_without_a_job) {
  std::mutex mutex;
  std::set<std::thread::id> entered;
  {
    WorkerPool pool(3, [&] {
      const std::lock_guard lock(mutex);
      entered.insert(std::this_thread::get_id());
    });
    pool.start_all();
  }
  BOOST_TEST(entered.size() == 3U);
}

BOOST_AUTO_TEST_CASE(the_links_of_a_process_share_one_pool_while_any_holds_it) {
  std::shared_ptr<WorkerPool> first = WorkerPool::of_links();
  BOOST_TEST(first == WorkerPool::of_links());
  const std::weak_ptr<WorkerPool> known = first;
  first.reset();
  BOOST_TEST(known.expired());
}

// Of 300 threads some find room for their stacks.
BOOST_AUTO_TEST_CASE(a_pool_that_can_not_have_all_its_threads_ends_those_it_has,
                     *boost::unit_test::precondition(testing::can_limit_addresses)) {
  Gate gate;
  std::deque<Visit> jobs(300, Visit(gate));
  {
    WorkerPool ahead(300);
    const testing::AddressSpaceLimit limit(64 << 20);
    BOOST_CHECK_THROW(ahead.start_all(), std::system_error);
  }
  {
    WorkerPool pool(300);
    const testing::AddressSpaceLimit limit(64 << 20);
    for (Visit& job : jobs) pool.submit(job);
    gate.open();
  }
  BOOST_TEST(gate.passed() == jobs.size());
  BOOST_TEST(gate.threads() < jobs.size());
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
