#include "actors/session/session_core.hpp"

#include "actors/actor_system_setup.hpp"
#include "core/base/forks.hpp"
#include "core/base/random.hpp"
#include "core/base/suggest.hpp"
#include "core/base/text.hpp"
#include "core/memory/buffer_pool.hpp"
#include "core/ops/builtin.hpp"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace troupe {
namespace {

std::uint64_t next_number() {
  static std::atomic<std::uint64_t> last = 0;
  return ++last;
}

// For so many values more, in steps that double, as push_back() makes it.
template <class T>
void make_room(std::vector<T>& values, std::size_t more) {
  if (values.capacity() - values.size() >= more) return;
  values.reserve(std::max(2 * values.capacity(), values.size() + more));
}

// What those learn who call when others have had the error already.
Error ended_with(const Error& failure, CallSite where) {
  std::string remedy = failure.remedy().empty() ? "" : failure.remedy() + "; ";
  remedy += "the session has ended with this error";
  if (where.line != 0) remedy += fmt::format(", before {}:{}", where.file, where.line);
  return Error(failure.kind(), failure.place(), failure.problem(), remedy + ": make another one");
}

OpRegistry with_given(OpRegistry ops) {
  ops.add(given_op());
  return ops;
}

}  // namespace

Error too_little_memory(std::uint64_t bytes, CallSite where) {
  return BufferPool::not_mapped(bytes, BufferPool::usable_host_bytes()).at(where.place());
}

SessionHost::SessionHost(const OpRegistry& kinds)
    : ops(std::make_unique<OpRegistry>(with_given(kinds))) {}

SessionCore::SessionCore(SessionHost host, Mode mode, std::uint64_t seed)
    : number_(next_number()),
      forks_(fork_count()),
      ops_(std::move(host.ops)),
      cluster_(std::move(host.cluster)),
      machine_(std::move(host.machine)),
      given_(ops_->find(given_op().name)),
      has_virtual_time_(has_virtual_time(mode)),
      signatures_(*ops_, [this](const OpTemplate& op, std::span<const TensorType> made) {
        check_->check(op, made);
      }) {
  engine_ = std::make_unique<SessionEngine>(
      machine_, *ops_, mode, seed,
      [this] {
        {
          const std::lock_guard lock(mutex_);
          has_news_ = true;
        }
        for_thread_.notify_one();
      },
      [this](std::uint32_t line) {
        const std::lock_guard lock(mutex_);
        return places_[line].place();
      },
      static_cast<TensorExchange&>(*this), cluster_.get());
  has_values_ = engine_->has_values();
  check_.emplace(machine_, *ops_, engine_->setting());
  report_.machine = machine_.name;
  report_.mode = engine_->mode_name();
  report_.seed = seed;
  thread_ = std::thread([this] { work(); });
  ActorSystemSetup::leave_thread();
}

SessionCore::~SessionCore() = default;

bool SessionCore::is_of_parent() const {
  return forks_ != fork_count();
}

SessionCore::Lock SessionCore::lock_for(CallSite where) const {
  if (is_of_parent()) {  // where another thread may have had the mutex
    throw usage_error(where.place(), "this session belongs to the process that has called fork()",
                      "make sessions after the fork()");
  }
  return Lock(mutex_);
}

Report SessionCore::report() const {
  const Lock lock = lock_for({});
  Report report = report_;
  report.scenarios.assign(measured_.begin(), measured_.end());
  return report;
}

void SessionCore::close() {
  if (is_of_parent()) return;
  {
    const std::lock_guard lock(mutex_);
    is_closing_ = true;
    flush_to_ = called_;
  }
  for_thread_.notify_one();
  thread_.join();
  {
    const std::lock_guard lock(mutex_);  // other threads may wait for tensors
    if (failure_ && !is_failure_told_) {
      // Not fmt::print(), which throws where nothing can be written.
      std::fputs(fmt::format("troupe: {}\n", visible(failure_->what())).c_str(), stderr);
    }
  }
  for (TensorState* state = states_.close(); state != nullptr;) {
    give_back(std::exchange(state, state->next));
  }
  drop_reference();
}

void SessionCore::drop_reference() {
  if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
}

// Returns whether that was the last use. If it was, the session may be gone: the tensor's reference
// to it may have been the last.
bool SessionCore::drop_use_quietly(TensorState& tensor) {
  if (tensor.uses.fetch_sub(1, std::memory_order_acq_rel) > 1) return false;
  if (!states_.drop(tensor)) give_back(&tensor);
  return true;
}

void SessionCore::drop_use(TensorState& tensor) {
  if (is_of_parent()) return;
  if (!tensor.is_adopted) {
    drop_use_quietly(tensor);
    return;
  }
  references_.fetch_add(1, std::memory_order_relaxed);
  if (drop_use_quietly(tensor)) {
    {
      const std::lock_guard lock(mutex_);
      has_news_ = true;  // its owner is to know soon
    }
    for_thread_.notify_one();
  }
  drop_reference();
}

void SessionCore::give_back(TensorState* tensor) {
  states_.give_back(*tensor);
  drop_reference();
}

std::uint32_t SessionCore::place_number(CallSite where) {
  if (!places_.empty() && places_.back() == where) {
    return static_cast<std::uint32_t>(places_.size() - 1);
  }
  const std::uint64_t key =
      mix(std::bit_cast<std::uintptr_t>(where.file)) ^ static_cast<std::uint32_t>(where.line);
  make_room(places_, 1);  // first: the number must not be known without its place
  const auto [known, is_new] =
      place_numbers_.try_emplace(key, static_cast<std::uint32_t>(places_.size()));
  if (is_new) places_.push_back(where);
  return known->second;
}

OpKindId SessionCore::find_kind(std::string_view name, CallSite where) const {
  if (const OpKindId kind = ops_->find(name); kind && !(*ops_)[kind].is_given) return kind;
  std::vector<std::string_view> names = ops_->names();
  std::erase_if(names, [this](std::string_view n) { return (*ops_)[ops_->find(n)].is_given; });
  throw usage_error(where.place(), fmt::format("there is no op kind '{}'", name),
                    suggestion(name, names));
}

Tensor SessionCore::call(Call call, CallSite where, std::vector<Tensor>* further) {
  Lock lock = lock_for(where);
  check_not_failed(where);
  for (;;) {
    while (is_full(log_) || holds_calls_) {
      for_callers_.wait(lock);
      check_not_failed(where);
    }
    if (!signatures_.are_many()) break;
    forget_signatures(lock, where);  // others may go on meanwhile
  }
  for (const TensorState* input : call.inputs) {
    if (input != nullptr && input->session == this) continue;
    if (input == nullptr) {
      throw usage_error(where.place(), "an input is an empty handle",
                        "assign a tensor to it first");
    }
    throw usage_error(where.place(), "an input belongs to another session",
                      "give tensors that this session has made");
  }
  const Signature* signature = nullptr;
  std::uint32_t line = 0;
  try {
    signature = &signatures_.find({.kind = call.kind,
                                   .placement = call.placement,
                                   .attrs = std::move(call.attrs),
                                   .declared = call.declared},
                                  call.inputs);
    line = place_number(where);
    reserve_calls(*signature, call.inputs.size(), further);
  } catch (const Error& error) {
    throw error.at(where.place());
  } catch (const std::bad_alloc&) {
    throw run_error("this host has not enough memory for one more call", "keep fewer tensors")
        .at(where.place());
  }
  const std::size_t logged = log_.size();
  TensorState* made = log_call(*signature, call.inputs, line);
  made->given = std::move(call.given);
  made->is_adopted = call.adopts;
  for (std::uint32_t k = 1; k <= signature->further; ++k) {
    const Tensor other(log_call(signatures_.further(*signature, k), {&made, 1}, line));
    if (further != nullptr) further->push_back(other);
  }
  log_.copied_bytes += call.copied_bytes;
  const bool wakes = (logged < wake_at_ && log_.size() >= wake_at_) || is_full(log_);
  lock.unlock();
  if (wakes) for_thread_.notify_one();
  return Tensor(made);
}

// So that no call is logged in part, and the calls for the outputs of one op come together.
void SessionCore::reserve_calls(const Signature& signature, std::size_t inputs,
                                std::vector<Tensor>* further) {
  make_room(log_.calls, std::size_t{1} + signature.further);
  make_room(log_.inputs, inputs + signature.further);
  if (further != nullptr) make_room(*further, signature.further);
  states_.reserve(std::size_t{1} + signature.further, *this);
}

// The result has two uses: a handle, and the log.
TensorState* SessionCore::log_call(const Signature& signature, std::span<TensorState* const> inputs,
                                   std::uint32_t line) {
  references_.fetch_add(1, std::memory_order_relaxed);
  TensorState* const made = states_.make();
  made->type = signature.output;
  made->number = ++called_;
  made->is_adopted = false;
  made->uses.store(2, std::memory_order_relaxed);
  for (TensorState* const input : inputs) {
    add_use(*input);
    log_.inputs.push_back(input);
  }
  log_.calls.push_back({.output = made,
                        .signature = &signature,
                        .line = line,
                        .inputs = static_cast<std::uint32_t>(inputs.size())});
  return made;
}

// Calls that wait to be handed out have signatures: lets them all be handed out.
void SessionCore::forget_signatures(Lock& lock, CallSite where) {
  const auto are_unused = [this] {
    return log_.size() == 0 && handing_out_.size() == 0 && !is_busy_;
  };
  flush_to_ = called_;
  for_thread_.notify_one();
  for_callers_.wait(lock, [&] { return failure_ || are_unused() || !signatures_.are_many(); });
  check_not_failed(where);
  if (!signatures_.are_many()) return;  // another caller has
  signatures_.forget();
  engine_->forget_signatures();
}

const TensorType& SessionCore::type(const TensorState& tensor, CallSite where) const {
  const Lock lock = lock_for(where);
  return signatures_.type(tensor.type);
}

Error SessionCore::as_error(const std::exception& error) {
  if (const auto* const known = dynamic_cast<const Error*>(&error)) return *known;
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return std::move(no_memory_);
  return run_error(error.what());
}

void SessionCore::fail(Error failure) {
  if (!failure_) failure_ = std::move(failure);  // the first
  drop_calls(handing_out_);
  drop_calls(log_);
  has_news_ = true;  // tensors were dropped
  for_thread_.notify_one();
  for (Waiter* const waiter : waiters_) waiter->told.notify_one();
  for_callers_.notify_all();
}

// Calls that will never be handed out.
void SessionCore::drop_calls(CallLog& log) {
  for (; log.first_input < log.inputs.size(); ++log.first_input) {
    drop_use_quietly(*log.inputs[log.first_input]);
  }
  for (; log.first < log.calls.size(); ++log.first) {
    drop_use_quietly(*log.calls[log.first].output);
  }
}

void SessionCore::check_callable(CallSite where) {
  const Lock lock = lock_for(where);
  check_not_failed(where);
}

void SessionCore::check_not_failed(CallSite where) {
  if (is_closing_ && !failure_) {
    throw usage_error(where.place(), "the session of this tensor has ended",
                      "keep the session as long as you use its tensors");
  }
  if (!failure_ && !engine_->has_lost_node()) return;
  const bool was_told = std::exchange(is_failure_told_, true);
  if (!failure_ && is_busy_) throw engine_->loss();  // the thread will find out
  if (!failure_) fail(engine_->loss());
  throw was_told ? ended_with(*failure_, where) : *failure_;
}

bool SessionCore::await(Lock& lock, Waiter waiter, CallSite where,
                        std::optional<Duration> timeout) {
  check_not_failed(where);
  if (!is_busy_ && has_come(waiter)) return true;
  // What was called before begins before time passes.
  flush_to_ = std::max(flush_to_, has_virtual_time_ ? called_ : waiter.call);
  waiters_.push_back(&waiter);
  for_thread_.notify_one();
  const auto is_over = [&] { return failure_ || waiter.is_done; };
  if (timeout) {
    constexpr Duration limit = std::chrono::hours(24 * 365);  // later times may be beyond the clock
    waiter.told.wait_for(lock, std::min(*timeout, limit), is_over);
  } else {
    waiter.told.wait(lock, is_over);
  }
  std::erase(waiters_, &waiter);
  if (waiter.is_done && is_closing_) return true;  // the engine may be gone
  if (failure_) {
    is_failure_told_ = true;
    throw *failure_;
  }
  check_not_failed(where);
  return waiter.is_done;
}

// Other callers go on meanwhile. Throws what `work` throws.
void SessionCore::let_thread(Lock& lock, const std::function<void()>& work) {
  Errand errand{.work = work};
  errands_.push_back(&errand);
  for_thread_.notify_one();
  for_callers_.wait(lock, [&] { return errand.is_done; });
  if (errand.failure) std::rethrow_exception(errand.failure);
}

void SessionCore::wait_until_idle(Lock& lock) {
  for_callers_.wait(lock, [this] { return !is_busy_; });
}

void SessionCore::wait(const TensorState& tensor, CallSite where) {
  Lock lock = lock_for(where);
  await(lock, {.call = tensor.number, .tensor = &tensor}, where);
}

bool SessionCore::wait_for(TensorState& tensor, Duration timeout, CallSite where) {
  Lock lock = lock_for(where);
  if (tensor.seen == tensor.number) {  // while the thread is busy, it couldn't say so in time
    check_not_failed(where);
    return true;
  }
  // How much virtual time passes must not depend on the host.
  const auto limit = has_virtual_time_ ? std::nullopt : std::optional(timeout);
  const bool is_made = await(lock, {.call = tensor.number, .tensor = &tensor}, where, limit);
  if (is_made) tensor.seen = tensor.number;
  return is_made;
}

void SessionCore::wait(DeviceId device, CallSite where) {
  Lock lock = lock_for(where);
  await(lock, {.call = called_, .device = device}, where);
}

void SessionCore::wait_all(CallSite where) {
  Lock lock = lock_for(where);
  await(lock, {.call = called_}, where);
}

SessionCore::Values SessionCore::values(TensorState& tensor, DType dtype, CallSite where) {
  Lock lock = lock_for(where);
  check_not_failed(where);
  if (!engine_->has_values()) {
    throw usage_error(
        where.place(), "a simulation computes no values to read or save",
        "leave that out; or make the session with Mode::run, or with Mode::rehearse, which "
        "computes them while time is simulated");
  }
  const TensorType& type = signatures_.type(tensor.type);
  if (type.dtype != dtype) {
    throw usage_error(
        where.place(),
        fmt::format("the tensor is {}, read as {}", to_string(type), to_string(dtype)),
        fmt::format("read {}", to_string(type.dtype)));
  }
  do {  // when it is there, it may be moved out of a memory that is full
    await(lock, {.call = tensor.number, .tensor = &tensor}, where);
    wait_until_idle(lock);
    check_not_failed(where);
  } while (engine_->pending(tensor));
  Values values;
  if (const std::byte* const data = engine_->data(tensor)) {
    tensor.readers.fetch_add(1);
    ++reads_in_place_;
    values.in_place_.reset(&tensor);
    values.in_place_bytes_ = {data, type.bytes()};
    return values;
  }
  try {
    let_thread(lock, [&] {
      values.copy_.resize(type.bytes());
      engine_->read(tensor, values.copy_);
    });
  } catch (const Error&) {
    wait_until_idle(lock);
    if (failure_ || !is_closing_)
      check_not_failed(where);  // of a lost node, all calls say the same
    throw;
  } catch (const std::bad_alloc&) {
    throw too_little_memory(type.bytes(), where);
  }
  return values;
}

void SessionCore::Values::End::operator()(TensorState* read) const {
  SessionCore& session = *read->session;
  {
    const std::lock_guard lock(session.mutex_);
    --session.reads_in_place_;
    const bool was_last = read->readers.fetch_sub(1) == 1;
    if (!session.is_closing_ && !(was_last && session.engine_->awaits_readers())) return;
    session.has_news_ = true;
  }
  session.for_thread_.notify_one();
}

// While they are held, all that was called ends.
void SessionCore::hold_calls(bool holds) {
  holds_calls_ = holds;
  for_callers_.notify_all();
}

const ScenarioReport& SessionCore::measure(std::string_view name, const std::function<void()>& work,
                                           CallSite where) {
  if (!work) throw usage_error(where.place(), "there is nothing to measure", "give a function");
  {
    const Lock lock = lock_for(where);
    if (measuring_) {
      throw usage_error(where.place(),
                        *measuring_ == std::this_thread::get_id()
                            ? "measure() is called by what is measured"
                            : "another thread measures in this session",
                        "measure one after the other");
    }
    measuring_ = std::this_thread::get_id();
  }
  try {
    work();
    {
      Lock lock = lock_for(where);
      hold_calls(true);
      await(lock, {.call = called_}, where);
      try {
        let_thread(lock, [this] { engine_->begin_measure(); });
      } catch (const std::exception& error) {  // what is in use may have old numbers in part
        wait_until_idle(lock);
        fail(as_error(error));
        check_not_failed(where);
      }
      hold_calls(false);
    }
    work();
    Lock lock = lock_for(where);
    hold_calls(true);
    await(lock, {.call = called_}, where);
    wait_until_idle(lock);
    measured_.push_back(engine_->end_measure(std::string(name)));
    report_.notes = engine_->notes();
    measuring_.reset();
    hold_calls(false);
    return measured_.back();
  } catch (...) {
    if (is_of_parent()) throw;  // `work` has called fork()
    Lock lock(mutex_);
    hold_calls(true);
    wait_until_idle(lock);
    engine_->drop_measure();
    measuring_.reset();
    hold_calls(false);
    throw;
  }
}

}  // namespace troupe
