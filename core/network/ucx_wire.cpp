#include "core/network/ucx_wire.hpp"

#include "core/base/assert.hpp"
#include "core/base/relax.hpp"
#include "core/base/version.hpp"
#include "core/network/call_queue.hpp"
#include "core/network/load_wire.hpp"
#include "core/network/ucx_work.hpp"
#include "core/network/wire_address.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <future>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

namespace troupe {
namespace {

using namespace std::chrono_literals;

class UcxWire final : public Wire {
 public:
  UcxWire(WireListener& listener, const UcxWireOptions& options)
      : spin_(options.spin),
        sleep_max_(std::chrono::ceil<std::chrono::milliseconds>(
            std::clamp<Duration>(options.node_timeout / 4, 1ms, 1min))),
        transport_(to_string(options.transport)) {
    std::promise<void> started;
    thread_ = std::thread([&] { run(listener, options, started); });
    try {
      started.get_future().get();
    } catch (...) {
      thread_.join();
      throw;
    }
  }

  ~UcxWire() override {
    TROUPE_ASSERT(!is_on_thread());
    call([this] { is_ending_ = true; });
    thread_.join();
  }
  UcxWire(const UcxWire&) = delete;
  UcxWire& operator=(const UcxWire&) = delete;

  std::string address() const override { return work_->address(); }

  void connect(NodeId node, const std::string& address) override {
    const std::string place = parse_address_text(address, transport_).place;
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
  bool progress() override;

 private:
  using Clock = std::chrono::steady_clock;

  // The right to do the wire's work: one thread has it at a time.
  class Turn {
   public:
    explicit Turn(UcxWire& wire) : Turn(wire, std::unique_lock(wire.turn_)) {}
    Turn(UcxWire& wire, std::unique_lock<std::mutex> lock) : wire_(wire), lock_(std::move(lock)) {
      wire_.at_work_.store(std::this_thread::get_id(), std::memory_order_relaxed);
    }
    ~Turn() { wire_.at_work_.store({}, std::memory_order_relaxed); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    UcxWire& wire_;
    std::unique_lock<std::mutex> lock_;
  };

  // Whether this thread is the one that does the wire's work.
  bool is_on_thread() const {
    return at_work_.load(std::memory_order_relaxed) == std::this_thread::get_id();
  }

  // Runs `function` on the thread that does the wire's work: now, if this is it.
  template <class Function>
  void call(Function function) {
    if (is_on_thread()) {
      function();
    } else {
      push(std::move(function));
    }
  }
  void push(CallQueue::Call function) {
    calls_.push(std::move(function), [this] { work_->worker().wake(); });
  }

  void run(WireListener& listener, const UcxWireOptions& options, std::promise<void>& started);
  void loop();
  bool round();
  bool is_helped() const;
  void sleep();

  // So long after the last progress() the wire's thread does nothing.
  static constexpr std::chrono::microseconds help_gap_max{100};

  const Duration spin_;
  const std::chrono::milliseconds sleep_max_;
  const std::string transport_;
  CallQueue calls_;
  std::atomic<Clock::time_point> helped_at_{Clock::time_point{}};
  std::atomic<std::thread::id> at_work_;
  std::mutex turn_;  // guards what follows
  std::optional<UcxWork> work_;
  bool is_ending_ = false;
  std::thread thread_;
};

void UcxWire::run(WireListener& listener, const UcxWireOptions& options,
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

void UcxWire::loop() {
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
bool UcxWire::round() {
  const bool has_calls = !calls_.is_empty();
  if (has_calls) {
    for (const CallQueue::Call& call : calls_.take()) call();
  }
  return work_->update() || has_calls;
}

// Those who help have better things to do than to move a large chunk, or to start anew.
bool UcxWire::progress() {
  if (is_on_thread()) return false;
  std::unique_lock lock(turn_, std::try_to_lock);
  if (!lock) {
    // Another thread that helps may leave without a call that it has come too early for.
    if (!calls_.is_empty()) calls_.wake_owner([this] { work_->worker().wake(); });
    return false;
  }
  const Turn turn(*this, std::move(lock));
  const bool has_worked = round();
  if (work_->has_losses() || work_->is_under_way()) {
    // What has begun since it went to sleep may need more than the events that it waits for.
    calls_.wake_owner([this] { work_->worker().wake(); });
  } else {
    helped_at_.store(Clock::now(), std::memory_order_relaxed);
  }
  return has_worked;
}

bool UcxWire::is_helped() const {
  return Clock::now() < helped_at_.load(std::memory_order_relaxed) + help_gap_max;
}

void UcxWire::sleep() {
  UcxWorker::Rest rest;
  int deaths = -1;
  {
    const Turn turn(*this);
    if (!calls_.may_sleep()) return;
    rest = work_->worker().rest(static_cast<int>(sleep_max_.count()));
    deaths = work_->deaths();
  }
  UcxWorker::wait(rest, deaths);
  calls_.awake();
}

}  // namespace

std::unique_ptr<Wire> make_ucx_wire(WireListener& listener, const UcxWireOptions& options) {
  return std::make_unique<UcxWire>(listener, options);
}

}  // namespace troupe

troupe::Wire* troupe_make_ucx_wire(const char* version, troupe::WireListener& listener,
                                   const troupe::UcxWireOptions& options) {
  if (troupe::version != version) return nullptr;
  return troupe::make_ucx_wire(listener, options).release();
}
