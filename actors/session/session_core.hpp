// What a session's handles and its thread share.
#pragma once

#include "actors/session.hpp"
#include "actors/session/call_check.hpp"
#include "actors/session/session_engine.hpp"
#include "actors/session/signatures.hpp"
#include "actors/session/tensor_state.hpp"
#include "actors/session/tensor_states.hpp"
#include "core/base/big_vector.hpp"
#include "core/base/error.hpp"
#include "core/files/data_file.hpp"

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

namespace troupe {

// What a session runs on.
struct SessionHost {
  explicit SessionHost(const OpRegistry& kinds);

  std::unique_ptr<const OpRegistry> ops;  // these, and that of tensors that the program gives
  std::unique_ptr<Cluster> cluster = {};  // of these ops; null: this process has the machine
  Machine machine = {};
};

// Callers append to a log, and a thread hands the log out to the engine: under load many calls
// together, while devices idle each at once. Under virtual time it hands out what was called before
// a wait as a whole, so that the result doesn't depend on how fast the caller is.
//
// The session and each tensor in use have a reference to it. The last one deletes it.
class SessionCore final : private TensorExchange {
 public:
  SessionCore(SessionHost host, Mode mode, std::uint64_t seed);
  // A session of its own, for nodes that are no processes.
  static std::unique_ptr<Session> session_on(SessionHost host, Mode mode, std::uint64_t seed) {
    return std::unique_ptr<Session>(new Session(new SessionCore(std::move(host), mode, seed)));
  }
  // Completes what is pending, ends the thread, and gives the session's reference back.
  void close();

  // No other session of this process has it.
  std::uint64_t number() const { return number_; }
  const Machine& machine() const { return machine_; }
  Report report() const;
  OpKindId given_kind() const { return given_; }
  OpKindId find_kind(std::string_view name, CallSite where) const;
  const OpKind& kind(OpKindId id) const { return (*ops_)[id]; }

  struct Call {
    OpKindId kind;
    std::span<TensorState* const> inputs = {};
    Placement placement = {};
    Attrs attrs = {};
    TensorType declared = {};
    std::shared_ptr<const std::byte> given = {};
    bool adopts = false;             // see TensorState
    std::uint64_t copied_bytes = 0;  // that were allocated for `given`
  };
  // Returns the first tensor that the call makes, and appends the others to `further`.
  Tensor call(Call call, CallSite where, std::vector<Tensor>* further = nullptr);

  const TensorType& type(const TensorState& tensor, CallSite where) const;
  void wait(const TensorState& tensor, CallSite where);
  bool wait_for(TensorState& tensor, Duration timeout, CallSite where);
  void wait(DeviceId device, CallSite where);
  void wait_all(CallSite where);
  // The values of a tensor. There must be a handle of it as long as the object exists.
  class Values {
   public:
    Values() = default;
    std::span<const std::byte> bytes() const { return in_place_ ? in_place_bytes_ : copy_; }

   private:
    friend class SessionCore;
    struct End {
      void operator()(TensorState* read) const;
    };
    std::unique_ptr<TensorState, End> in_place_;  // the tensor whose values are read where they are
    std::span<const std::byte> in_place_bytes_;
    BigVector<std::byte> copy_;
  };
  Values values(TensorState& tensor, DType dtype, CallSite where);
  bool has_values() const { return has_values_; }
  std::shared_ptr<std::byte> buffer_to_give(MemoryId m, std::uint64_t bytes) const {
    return engine_->buffer_to_give(m, bytes);
  }
  // Throws what a call would throw whatever it is given: before work for a call that can take long.
  void check_callable(CallSite where);
  const ScenarioReport& measure(std::string_view name, const std::function<void()>& work,
                                CallSite where);

  // Of the files that the session loads.
  LastHeader& last_header() { return last_header_; }

  static TensorState* state_of(const Tensor& tensor) { return tensor.state_; }
  static void add_use(TensorState& tensor) { tensor.uses.fetch_add(1, std::memory_order_relaxed); }
  // Thread-safe.
  void drop_use(TensorState& tensor);

 private:
  using Lock = std::unique_lock<std::mutex>;
  // Callers wait when the log is this long, or holds so many bytes of values.
  static constexpr std::size_t log_calls_max = 1 << 15;
  static constexpr std::uint64_t log_bytes_max = 256 << 20;

  ~SessionCore() override;
  TensorState* take_dropped() override { return states_.take_dropped(); }
  void give_back(TensorState* tensor) override;
  void drop_reference();
  bool drop_use_quietly(TensorState& tensor);

  // A caller that waits for a tensor; for what a device was given with the calls up to a number; or
  // for all calls up to it.
  struct Waiter {
    std::uint64_t call = 0;
    const TensorState* tensor = nullptr;
    DeviceId device = {};
    UnitId watched = {};
    bool is_done = false;
    std::condition_variable told = {};  // of that, or of a failure
  };

  // What the thread is to do between two windows for a caller that waits for it.
  struct Errand {
    const std::function<void()>& work;
    bool is_done = false;
    std::exception_ptr failure = {};
  };

  // Whether this is the child of a fork(), and the session the parent's: it has no thread here.
  bool is_of_parent() const;
  // For all that a program calls. Throws a usage Error if is_of_parent().
  Lock lock_for(CallSite where) const;

  static bool is_full(const CallLog& log) {
    return log.size() >= log_calls_max || log.copied_bytes >= log_bytes_max;
  }
  // The error itself, or one with its words; for want of memory, no_memory_, which takes none.
  Error as_error(const std::exception& error);
  void fail(Error failure);
  void drop_calls(CallLog& log);
  // Throws a usage Error once the session ends: then the engine may be gone.
  void check_not_failed(CallSite where);
  void wait_until_idle(Lock& lock);
  // Blocks until it has come, or for `timeout`. Returns whether it has come.
  bool await(Lock& lock, Waiter waiter, CallSite where,
             std::optional<Duration> timeout = std::nullopt);
  void hold_calls(bool holds);
  void let_thread(Lock& lock, const std::function<void()>& work);
  void forget_signatures(Lock& lock, CallSite where);
  void reserve_calls(const Signature& signature, std::size_t inputs, std::vector<Tensor>* further);
  TensorState* log_call(const Signature& signature, std::span<TensorState* const> inputs,
                        std::uint32_t line);
  std::uint32_t place_number(CallSite where);

  // The thread's, in session_thread.cpp.
  void work();
  bool is_ended() const;
  bool wants_to_hand_out() const;
  bool lets_time_pass() const;
  bool has_come(Waiter& waiter);
  void step(Lock& lock, bool hands_out, bool lets_time_pass);

  const std::uint64_t number_;
  const std::uint32_t forks_;  // see is_of_parent()
  const std::unique_ptr<const OpRegistry> ops_;
  std::unique_ptr<Cluster> cluster_;  // null: this process has the machine
  const Machine machine_;
  const OpKindId given_;
  const bool has_virtual_time_;
  bool has_values_ = false;  // from the constructor on
  Error no_memory_ = run_error("this host has not enough memory to go on", "keep fewer tensors");

  mutable std::mutex mutex_;
  std::condition_variable for_thread_;
  std::condition_variable for_callers_;
  // Guarded by the mutex.
  Signatures signatures_;
  CallLog log_;
  std::uint64_t called_ = 0;
  std::uint64_t flush_to_ = 0;  // somebody waits for the calls up to this one
  std::vector<Waiter*> waiters_;
  std::vector<Errand*> errands_;
  std::size_t reads_in_place_ = 0;  // Values that don't copy
  std::size_t wake_at_ = 1;         // calls in the log; 0: none do
  bool has_news_ = false;
  bool is_closing_ = false;
  bool is_busy_ = false;  // the thread uses the engine and `handing_out_`, and not the mutex
  CallLog handing_out_;
  std::optional<Error> failure_;
  bool is_failure_told_ = false;
  std::vector<CallSite> places_;
  std::unordered_map<std::uint64_t, std::uint32_t> place_numbers_;
  Report report_;                             // without its scenarios,
  std::deque<ScenarioReport> measured_;       // which stay where they are
  std::optional<std::thread::id> measuring_;  // the thread that does
  bool holds_calls_ = false;                  // they wait while the clock starts, or stops

  LastHeader last_header_;
  TensorStates states_;  // of which the mutex guards reserve() and make()
  std::atomic<std::size_t> references_ = 1;
  std::unique_ptr<SessionEngine> engine_;
  std::optional<CallCheck> check_;  // of the engine's setting
  std::thread thread_;
};

// The run Error where the host has no memory for a copy of so many bytes.
Error too_little_memory(std::uint64_t bytes, CallSite where);

// Calls an op kind that comes with Troupe on the session of the first input. The scope of this
// thread decides where. Throws a usage Error with the place `where` if the inputs don't fit.
Tensor call_op(OpKindId kind, std::span<TensorState* const> inputs, Attrs attrs, CallSite where);

// A tensor that is this number everywhere, on the session. The scope of this thread decides where.
// Throws a usage Error with the place `where` if the element type can't hold the number.
Tensor constant_of(SessionCore& session, const TensorType& type, double value, CallSite where);

}  // namespace troupe
