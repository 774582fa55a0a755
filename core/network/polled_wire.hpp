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
//   bool has_more()         what those who help leave to the wire's thread when they leave: large
//                           chunks that are under way, and whatever the next update() does anyway
//   WireRest rest()         what to wait for; none if update() has more to do
//   void wake()             ends such a wait
//
// Callbacks of the user are called by update(), so that they may send and take without end;
// arrived() likewise. Nothing derives from it: its thread runs until its destructor has ended it.
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
  void take(ArrivedChunk chunk, std::byte* target, ChunkDone done) override {
    call([this, chunk, target, done = std::move(done)]() mutable {
      work_->take(chunk, target, std::move(done));
    });
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
      return false;
    }
    const Turn turn(*this, std::move(lock));
    const bool has_worked = round();
    if (work_->has_losses() || work_->has_more()) {
      // What has begun since it went to sleep may need more than the events that it waits for.
      calls_.wake_owner([this] { work_->wake(); });
    } else {
      helped_at_.store(Clock::now(), std::memory_order_relaxed);
    }
    return has_worked;
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
        std::this_thread::sleep_for(help_gap_max);
        is_idle = true;
        idle_since = {};
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

  void sleep() {
    WireRest rest;
    {
      const Turn turn(*this);
      if (!calls_.may_sleep()) return;
      rest = work_->rest();
    }
    rest.wait();
    calls_.awake();
  }

  // So long after the last progress() the wire's thread does nothing.
  static constexpr std::chrono::microseconds help_gap_max{100};

  const Duration spin_;
  CallQueue calls_;
  std::atomic<Clock::time_point> helped_at_{Clock::time_point{}};
  std::atomic<std::thread::id> at_work_;
  std::mutex turn_;  // guards what follows
  std::optional<Work> work_;
  bool is_ending_ = false;
  std::thread thread_;
};

}  // namespace troupe
