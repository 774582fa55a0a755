// A Wire with a thread that spins before it sleeps, and that others may help.
#pragma once

#include "core/base/assert.hpp"
#include "core/base/relax.hpp"
#include "core/base/time.hpp"
#include "core/network/call_queue.hpp"
#include "core/network/wire.hpp"
#include "core/network/wire_rest.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <future>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

namespace troupe {

// `Work` is what the Wire does, whichever thread does it: UcxWork, SocketWork. Its functions are
// for one thread at a time, but address(), place_of() and wake(), which are thread-safe:
//
//   Work(WireListener&, const Work::Options&)     on the wire's thread; throws an Error
//   std::string address()
//   place_of(address)       for connect(); throws a run Error
//   connect(node, address, place), send(…), take(…), drop(…)    as those of a Wire
//   bool update()           goes on with everything; true if something has happened
//   bool has_losses()       that update() has found
//   report_losses()         to the listener; may block, so only the wire's thread calls it
//   bool has_more()         the wire's thread mustn't wait on: the next update() does more even if
//                           nothing comes, or something is due sooner than the last rest() said
//   bool has_large()        chunks under way, which take long: the wire's thread moves them, too
//   WireRest rest()         what to wait for; none if update() has more to do
//   void wake()             ends such a wait
//
// Callbacks of the user are called by update(), so that they may send and take without end, or
// where take() was called by another thread; arrived() by update() alone. Nothing derives from it:
// its thread runs until its destructor has ended it.
template <class Work>
class PolledWire final : public Wire {
 public:
  // The wire's thread looks for chunks for `spin` after the last one, then sleeps.
  PolledWire(WireListener& listener, const typename Work::Options& options, Duration spin)
      : spin_(spin) {
    std::promise<void> started;
    thread_ = std::thread([&] { run(listener, options, started); });
    try {
      started.get_future().get();
    } catch (...) {
      thread_.join();
      throw;
    }
  }
  ~PolledWire() override {
    TROUPE_ASSERT(!is_on_thread());
    call([this] { is_ending_ = true; });
    thread_.join();
  }
  PolledWire(const PolledWire&) = delete;
  PolledWire& operator=(const PolledWire&) = delete;

  std::string address() const override { return work_->address(); }

  void connect(NodeId node, const std::string& address) override {
    const auto place = work_->place_of(address);
    call([this, node, address, place] { work_->connect(node, address, place); });
  }
  void send(NodeId to, const ChunkHeader& header, const std::byte* bytes, ChunkDone done) override {
    call([this, to, header, bytes, done = std::move(done)]() mutable {
      work_->send(to, header, bytes, std::move(done));
    });
  }
  bool take(ArrivedChunk chunk, std::byte* target, ChunkDone done) override {
    if (is_on_thread()) return work_->take(chunk, target, std::move(done));
    push([this, chunk, target, done = std::move(done)] {
      if (work_->take(chunk, target, done)) done({});
    });
    return false;
  }
  void drop(ArrivedChunk chunk) override {
    call([this, chunk] { work_->drop(chunk); });
  }
  bool post(std::function<void()> function, bool polls_next) override {
    if (polls_next) {
      calls_.push(std::move(function));
    } else {
      push(std::move(function));
    }
    return true;
  }

  // Those who help have better things to do than to move all of a large chunk, or to start anew.
  bool progress() override {
    if (is_on_thread()) return false;
    std::unique_lock lock(turn_, std::try_to_lock);
    if (!lock) {
      // Another thread that helps may leave without a call that it has come too early for.
      if (!calls_.is_empty()) calls_.wake_owner([this] { work_->wake(); });
      std::this_thread::yield();  // that thread may need this core
      return false;
    }
    const Turn turn(*this, std::move(lock));
    const bool has_worked = round();
    const bool needs_thread = work_->has_losses() || work_->has_large();
    if (needs_thread || work_->has_more()) {
      // What has begun since it went to sleep may need more than the events that it waits for.
      calls_.wake_owner([this] { work_->wake(); });
    }
    if (needs_thread) {
      end_rest();
    } else {
      helper_.store(std::this_thread::get_id(), std::memory_order_relaxed);
      helped_at_.store(Clock::now(), std::memory_order_relaxed);
    }
    return has_worked;
  }

  // Where another thread has helped since, that one goes on.
  void leave() override {
    if (helper_.load(std::memory_order_relaxed) == std::this_thread::get_id()) end_rest();
  }

 private:
  using Clock = std::chrono::steady_clock;

  // The right to do the wire's work: one thread has it at a time.
  class Turn {
   public:
    explicit Turn(PolledWire& wire) : Turn(wire, std::unique_lock(wire.turn_)) {}
    Turn(PolledWire& wire, std::unique_lock<std::mutex> lock)
        : wire_(wire), lock_(std::move(lock)) {
      wire_.at_work_.store(std::this_thread::get_id(), std::memory_order_relaxed);
    }
    ~Turn() { wire_.at_work_.store({}, std::memory_order_relaxed); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    PolledWire& wire_;
    std::unique_lock<std::mutex> lock_;
  };

  // Whether this thread is the one that does the wire's work.
  bool is_on_thread() const {
    return at_work_.load(std::memory_order_relaxed) == std::this_thread::get_id();
  }
  template <class Function>
  void call(Function function) {
    if (is_on_thread()) {
      function();
    } else {
      push(std::move(function));
    }
  }
  void push(CallQueue::Call function) {
    calls_.push(std::move(function), [this] { work_->wake(); });
  }

  void run(WireListener& listener, const typename Work::Options& options,
           std::promise<void>& started) {
    try {
      work_.emplace(listener, options);
    } catch (...) {
      started.set_exception(std::current_exception());
      return;
    }
    started.set_value();
    loop();
    const Turn turn(*this);
    work_.reset();
  }

  void loop() {
    constexpr int yield_every = 16;
    int idle_rounds = 0;
    bool is_idle = false;
    Clock::time_point idle_since;
    for (;;) {
      if (is_helped()) {
        rest();
        is_idle = true;  // for so long that it needn't spin
        idle_since = {};
        continue;
      }
      bool has_worked = false;
      {
        const Turn turn(*this);
        if (is_ending_) return;
        has_worked = round();
        if (work_->has_losses()) work_->report_losses();
      }
      if (has_worked) {
        is_idle = false;
      } else if (!is_idle) {
        is_idle = true;
        idle_since = Clock::now();
      } else if (Clock::now() - idle_since >= spin_) {
        sleep();
        is_idle = false;
      } else if (++idle_rounds % yield_every == 0) {
        // Whoever was woken by what has come may need this core.
        std::this_thread::yield();
      } else {
        relax();
      }
    }
  }

  // True if something has happened.
  bool round() {
    const bool has_calls = !calls_.is_empty();
    if (has_calls) {
      for (const CallQueue::Call& call : calls_.take()) call();
    }
    return work_->update() || has_calls;
  }

  bool is_helped() const {
    return Clock::now() < helped_at_.load(std::memory_order_relaxed) + help_gap_max;
  }
  void end_rest() {
    {
      const std::lock_guard lock(rest_);
      helped_at_.store(never, std::memory_order_relaxed);
    }
    left_.notify_one();
  }
  // While others help. To look whether they still do takes the core from them for longer than a
  // small chunk takes, so it isn't done often.
  void rest() {
    std::unique_lock lock(rest_);
    left_.wait_for(lock, rest_max,
                   [this] { return helped_at_.load(std::memory_order_relaxed) == never; });
  }

  void sleep() {
    WireRest rest;
    {
      const Turn turn(*this);
      if (work_->has_losses() || !calls_.may_sleep()) return;
      rest = work_->rest();
    }
    rest.wait();
    calls_.awake();
  }

  // Who has not helped for so long helps no more.
  static constexpr std::chrono::microseconds help_gap_max{100};
  static constexpr std::chrono::milliseconds rest_max{1};
  static constexpr Clock::time_point never{};

  const Duration spin_;
  CallQueue calls_;
  std::atomic<Clock::time_point> helped_at_{never};  // the latest progress(), if nobody left since
  std::atomic<std::thread::id> helper_;              // whose it was
  std::mutex rest_;                                  // held when it becomes `never`
  std::condition_variable left_;
  std::atomic<std::thread::id> at_work_;
  std::mutex turn_;  // guards what follows
  std::optional<Work> work_;
  bool is_ending_ = false;
  std::thread thread_;
};

}  // namespace troupe
