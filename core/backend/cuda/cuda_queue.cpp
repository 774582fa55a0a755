#include "core/backend/cuda/cuda_queue.hpp"

#include "core/backend/cuda/cuda_check.hpp"
#include "core/backend/cuda/cuda_module.hpp"
#include "core/backend/cuda/cuda_space.hpp"
#include "core/backend/cuda/profile_range.hpp"
#include "core/base/relax.hpp"
#include "core/base/steady_now.hpp"
#include "core/base/units.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <shared_mutex>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <sys/prctl.h>

namespace troupe {
namespace {

// What is submitted together is expected to take so long at most: so much later than an op itself
// has ended, its end is noticed, as far as the cost model knows.
constexpr Duration expected_max = std::chrono::microseconds(40);

bool contains(const std::vector<std::uint64_t>& positions, std::uint64_t position) {
  return std::find(positions.begin(), positions.end(), position) != positions.end();
}

// Waits until the event has passed, and returns what CUDA says of the work before it. The end of
// long work is noticed up to 50 us late. A thread that CUDA wakes would cost more: the interrupt
// takes the GPU and the driver 1.4 to 2 us for each event (docs/decisions/0047-asked-events.md).
cudaError_t await_event(cudaEvent_t event) {
  constexpr std::chrono::microseconds patience{30};
  constexpr std::chrono::microseconds shortest{2};
  constexpr std::chrono::microseconds longest{50};
  const auto begun = std::chrono::steady_clock::now();
  for (;;) {
    const cudaError_t status = cudaEventQuery(event);
    if (status != cudaErrorNotReady) return status;
    const auto waited = std::chrono::steady_clock::now() - begun;
    if (waited < patience) {
      for (int i = 0; i < 20; ++i) relax();
    } else {
      std::this_thread::sleep_for(
          std::clamp<std::chrono::nanoseconds>(waited / 16, shortest, longest));
    }
  }
}

// All queues of this process, by their numbers: work of one may wait for that of another.
class Queues {
 public:
  std::uint32_t add(CudaQueue& queue) {
    const std::unique_lock lock(mutex_);
    queues_.emplace(next_, &queue);
    return next_++;
  }
  // `failed`: positions of work that has failed. Other queues may ask for it later.
  void remove(std::uint32_t number, std::vector<std::uint64_t> failed) {
    const std::unique_lock lock(mutex_);
    queues_.erase(number);
    if (!failed.empty()) failed_.emplace(number, std::move(failed));
  }
  // Of a queue that is gone.
  bool has_failed(Token token) {
    const std::shared_lock lock(mutex_);
    const auto found = failed_.find(token.queue);
    return found != failed_.end() && contains(found->second, token.position);
  }
  // Calls f(queue), unless the queue is gone: all its work has ended then.
  template <class F>
  void with(std::uint32_t number, const F& f) {
    const std::shared_lock lock(mutex_);
    if (const auto found = queues_.find(number); found != queues_.end()) f(*found->second);
  }

 private:
  std::shared_mutex mutex_;
  std::unordered_map<std::uint32_t, CudaQueue*> queues_;
  std::unordered_map<std::uint32_t, std::vector<std::uint64_t>> failed_;  // of those that are gone
  std::uint32_t next_ = 0;
};

// Never destroyed: queues of static sessions may outlive other static objects.
Queues& all_queues() {
  static Queues& queues = *new Queues;
  return queues;
}

}  // namespace

CudaQueue::CudaQueue(int gpu, std::uint32_t first_slot, std::uint32_t slots,
                     Completions& completions)
    : gpu_(gpu),
      first_slot_(first_slot),
      completions_(completions),
      slots_(slots),
      slot_at_(slots) {
  choose_gpu(gpu_);
  own_verdicts_ = pin_memory(slots * sizeof(std::int32_t));
  verdicts_ = reinterpret_cast<std::int32_t*>(own_verdicts_.get());
  std::uninitialized_fill_n(verdicts_, slots, 0);
  clock_ = GpuClock::of(gpu_);
  for (Slot& slot : slots_) {
    slot.start = make_event();
    slot.end = make_event();
  }
  own_stream_ = make_stream();
  watcher_ = std::thread([this] { watch(); });
  number_ = all_queues().add(*this);
}

CudaQueue::~CudaQueue() {
  launches_.keep(held_launches_);
  submit();
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_one();
  if (watcher_.joinable()) watcher_.join();
  all_queues().remove(number_, failed_);  // a copy: other queues may be reading it
  cudaSetDevice(gpu_);                    // for the destructors of the members, too
  // What was issued in part, before the rest could not be.
  cudaStreamSynchronize(own_stream_.get());
}

void CudaQueue::make_handles() {
  const cudaStream_t stream = own_stream_.get();
  choose_gpu(gpu_);
  cublasHandle_t blas = nullptr;
  check_cuda(with_kept_memory(gpu_, [&] { return cublasCreate(&blas); }), "starting cuBLAS");
  own_blas_.reset(blas);
  check_cuda(cublasSetStream(blas, stream), "giving cuBLAS a stream");
  // Of its own, so that what other streams do doesn't change the bits of results.
  workspace_ = allocate_on(gpu_, cuda_workspace_bytes, "allocating the workspace of cuBLAS");
  check_cuda(cublasSetWorkspace(blas, workspace_.get(), cuda_workspace_bytes),
             "giving cuBLAS a workspace");
  cusolverDnHandle_t solver = nullptr;
  check_cuda(with_kept_memory(gpu_, [&] { return cusolverDnCreate(&solver); }),
             "starting cuSOLVER");
  own_solver_.reset(solver);
  check_cuda(cusolverDnSetStream(solver, stream), "giving cuSOLVER a stream");
  // The first work of a stream begins late.
  if (uses_graphs) launches_.make_chains(stream);
  check_cuda(cudaMemsetAsync(workspace_.get(), 0, 1, stream), "filling memory");
  check_cuda(cudaStreamSynchronize(stream), "filling memory");
}

void CudaQueue::begin(std::uint32_t slot, std::span<const Token> after, Duration expected) {
  choose_gpu(gpu_);
  launches_.keep(held_launches_);  // not those of work that has failed before its end
  calls_itself_ = false;
  given_at_.reset();
  // However short a kernel is, it takes an H200 2.4 us.
  constexpr Duration shortest = std::chrono::nanoseconds(2500);
  expected_ = std::clamp(expected, shortest, expected_max);
  if (held_.expected + expected_ > expected_max) submit();
  Slot& own = slot_of(slot);
  own.after.assign(after.begin(), after.end());
  own.has_start = false;
  for (const Token token : after) own.has_start = wait_for(token) || own.has_start;
  if (own.has_start) {
    check_cuda(cudaEventRecord(own.start.get(), own_stream_.get()), "recording an event");
  }
}

Token CudaQueue::end(std::uint32_t slot, Explain explain) {
  Slot& own = slot_of(slot);
  own.position = ++position_;
  own.explain = explain;
  if (held_.is_empty()) held_.given_at = given_at_;
  held_.slots[held_.count++] = slot;
  held_.expected += expected_;
  held_launches_ = launches_.size();
  if (calls_itself_ || held_.count == Batch::slots_max || held_.expected >= expected_max ||
      ProfileRange::is_on()) {
    submit();
  }
  return {.queue = number_, .position = own.position};
}

std::optional<Error> CudaQueue::give_held() {
  if (held_.is_empty()) return {};
  if (!held_.given_at) held_.given_at = steady_now();
  const std::uint32_t last = held_.all().back();
  try {
    choose_gpu(gpu_);
    launches_.enqueue(std::exchange(held_launches_, 0), own_stream_.get());
    check_cuda(cudaEventRecord(slot_of(last).end.get(), own_stream_.get()), "recording an event");
  } catch (const Error& error) {
    held_.problem = error;
  }
  for (const std::uint32_t slot : held_.all()) {
    slot_at_[slot_of(slot).position % slots_.size()].store(last - first_slot_,
                                                           std::memory_order_relaxed);
  }
  std::optional<Error> problem = held_.problem;
  const std::uint64_t position = slot_of(last).position;
  {
    const std::lock_guard lock(mutex_);
    under_way_.push_back(std::exchange(held_, {}));
  }
  submitted_.store(position, std::memory_order_relaxed);
  changed_.notify_one();
  return problem;
}

void CudaQueue::give_held_or_throw() {
  if (const std::optional<Error> problem = give_held()) throw *problem;
}

void CudaQueue::give_own() {
  if (!given_at_) given_at_ = steady_now();
  launches_.enqueue(launches_.size(), own_stream_.get());
}

void CudaQueue::launch(const KernelLaunch& launch) {
  // A profiler finds a kernel in the range of its op.
  if (!uses_graphs || ProfileRange::is_on()) return enqueue(launch, stream());
  if (launches_.is_full()) give_held_or_throw();
  if (launches_.is_full()) give_own();
  launches_.add(launch);
}

cudaStream_t CudaQueue::stream() {
  give_held_or_throw();
  give_own();
  calls_itself_ = true;
  return own_stream_.get();
}
cublasHandle_t CudaQueue::blas() {
  stream();
  return own_blas_.get();
}
cusolverDnHandle_t CudaQueue::solver() {
  stream();
  return own_solver_.get();
}

// The event stays that of the work until the work has ended. If that happens now, this stream waits
// for later work of the other queue instead, which was issued before, so that no circle can arise.
bool CudaQueue::wait_for(Token token) {
  bool waits = false;
  if (token.queue == number_) return waits;  // this stream keeps its order
  all_queues().with(token.queue, [&](CudaQueue& other) {
    if (other.done_.load(std::memory_order_acquire) >= token.position) return;
    waits = true;
    submit();  // what doesn't wait for it
    // Only another stream of the same device, and so of this thread, can have held it back.
    if (other.submitted_.load(std::memory_order_relaxed) < token.position) other.submit();
    const std::size_t place = token.position % other.slots_.size();
    const Slot& slot = other.slots_[other.slot_at_[place].load(std::memory_order_relaxed)];
    check_cuda(cudaStreamWaitEvent(own_stream_.get(), slot.end.get(), 0), "waiting for an event");
  });
  return waits;
}

void CudaQueue::watch() {
  cudaSetDevice(gpu_);
  prctl(PR_SET_TIMERSLACK, 1000UL);  // in ns: sleeps are as short as await_event() asks for
  for (;;) {
    const Batch* batch = nullptr;
    spin_for_work();
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return is_ending_ || !under_way_.empty(); });
      if (under_way_.empty()) return;
      batch = &under_way_.front();  // stays where it is
    }
    clock_->renew();  // while the work is under way, mostly
    finish(*batch);
  }
}

// To wake a thread costs the one that issues as much as a short op: so this one stays awake while
// such ops follow each other.
void CudaQueue::spin_for_work() const {
  constexpr std::chrono::microseconds patience{30};
  const std::uint64_t done = done_.load(std::memory_order_relaxed);  // by this thread
  const auto begun = std::chrono::steady_clock::now();
  while (submitted_.load(std::memory_order_relaxed) == done &&
         std::chrono::steady_clock::now() - begun < patience) {
    relax();
  }
}

void CudaQueue::finish(const Batch& batch) {
  const Slot& first = slot_of(batch.all().front());
  const Slot& last = slot_of(batch.all().back());
  const cudaError_t status = batch.problem ? cudaSuccess : await_event(last.end.get());
  // One anchor after another may be some microseconds off.
  const std::shared_ptr<const GpuAnchor> anchor = clock_->anchor();
  // Work begins when the work before it has ended, but not before the GPU got it, or what it waits
  // for has ended.
  const Instant ready =
      first.has_start ? anchor->time_of(first.start.get(), last_end_) : *batch.given_at;
  const Instant start = std::max(ready, last_end_);
  const Instant end =
      batch.problem ? start : std::max(start, anchor->time_of(last.end.get(), start));
  last_end_ = end;

  std::vector<Completions::Ended> ended;
  std::vector<std::pair<std::uint32_t, std::string>> failed;
  const auto moment = [&](std::size_t k) {
    return start +
           (end - start) * static_cast<std::int64_t>(k) / static_cast<std::int64_t>(batch.count);
  };
  for (std::size_t k = 0; k < batch.count; ++k) {
    const std::uint32_t slot = batch.slots[k];
    const Slot& own = slot_of(slot);
    std::string failure = failure_of(slot, batch, status);
    // What was issued after work that has failed is carried out all the same.
    const bool is_spoiled = std::any_of(own.after.begin(), own.after.end(), has_failed);
    if (is_spoiled || !failure.empty()) {
      const std::lock_guard lock(mutex_);
      failed_.push_back(own.position);
      failed.emplace_back(slot, std::move(failure));
    } else {
      ended.push_back({slot, moment(k), moment(k + 1)});
    }
    done_.store(own.position, std::memory_order_release);
  }
  {
    const std::lock_guard lock(mutex_);
    under_way_.pop_front();
  }
  if (!ended.empty()) completions_.completed(ended);
  for (auto& [slot, failure] : failed) completions_.failed(slot, std::move(failure));
}

std::string CudaQueue::failure_of(std::uint32_t slot, const Batch& batch, cudaError_t status) {
  if (batch.problem) return batch.problem->what();
  if (status != cudaSuccess) {
    const std::string work =
        batch.count == 1 ? "work of the GPU"
                         : fmt::format("work of the GPU, of this op or the {} launched with it,",
                                       batch.count - 1);
    return cuda_error(status, work).what();
  }
  const std::int32_t verdict = std::exchange(*this->verdict(slot), 0);
  const Explain explain = slot_of(slot).explain;
  return verdict != 0 && explain != nullptr ? explain(verdict) : "";
}

// The work of the token has ended. The thread of its queue may have to find that out yet.
bool CudaQueue::has_failed(Token token) {
  for (;;) {
    bool is_known = true;
    bool is_there = false;
    bool has_failed = false;
    all_queues().with(token.queue, [&](CudaQueue& queue) {
      is_there = true;
      is_known = queue.done_.load(std::memory_order_acquire) >= token.position;
      if (!is_known) return;
      const std::lock_guard lock(queue.mutex_);
      has_failed = contains(queue.failed_, token.position);
    });
    if (!is_there) return all_queues().has_failed(token);
    if (is_known) return has_failed;
    std::this_thread::sleep_for(std::chrono::microseconds(10));
  }
}

std::byte* CudaQueue::scratch(std::size_t bytes) {
  if (bytes <= scratch_bytes_) return scratch_.back().get();
  // What was issued may still use the last one, and to free it would wait for that.
  const std::size_t room = std::max(bytes, 2 * scratch_bytes_);
  scratch_.push_back(allocate_on(
      gpu_, room, fmt::format("allocating {} for intermediate values", format_bytes(room))));
  scratch_bytes_ = room;
  return scratch_.back().get();
}

}  // namespace troupe
