#include "tests/support/cuda/stand_in/engine.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

#include <sys/prctl.h>

namespace troupe::testing {
namespace {

thread_local bool has_enqueued = false;

// Of splitmix64: every bit of the input changes about half of the output's.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

}  // namespace

Engine& engine() {
  static Engine* const only = std::make_unique<Engine>().release();
  return *only;
}

bool enqueues_work() {
  return has_enqueued;
}

Nanoseconds present() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Engine::Engine() = default;

std::shared_ptr<CUstream_st> Engine::add_stream(int device) {
  auto added = std::make_shared<CUstream_st>();
  added->device = device;
  if (free_indices_.empty()) {
    added->index = static_cast<std::uint32_t>(last_numbers_.size());
    last_numbers_.push_back(0);
  } else {
    added->index = free_indices_.back();
    free_indices_.pop_back();
  }
  added->issued = added->finished = last_numbers_[added->index];
  streams_.push_back(added);
  handles.add(added);
  return added;
}

std::shared_ptr<CUstream_st> Engine::stream(cudaStream_t handle, std::string_view what) {
  auto found = handles.find(handle);
  if (found != nullptr) return found;
  const bool is_default =
      handle == nullptr || handle == cudaStreamLegacy || handle == cudaStreamPerThread;
  control.fail(std::string(what) + (is_default ? " uses the default stream, which isn't supported"
                                               : " uses a stream that doesn't exist"));
  throw CudaFailure{cudaErrorInvalidResourceHandle};
}

std::shared_ptr<CUevent_st> Engine::event(cudaEvent_t handle, std::string_view what) {
  auto found = handles.find(handle);
  if (found != nullptr) return found;
  control.fail(std::string(what) + " uses an event that doesn't exist");
  throw CudaFailure{cudaErrorInvalidResourceHandle};
}

Order Engine::order_of(const CUstream_st& stream) const {
  Order order = stream.order;
  order.all.join(host_);
  return order;
}

void Engine::enqueue(CUstream_st& stream, Work work) {
  has_enqueued = true;
  throw_if_broken(stream.device);
  stream.order = order_of(stream);
  const std::uint64_t number = stream.issued + 1;
  check_accesses(work.accesses, stream.order, {work.what, stream.index, number});
  stream.issued = last_numbers_[stream.index] = number;
  stream.order.set(stream.index, number);
  if (work.marks != nullptr) work.marks->order = stream.order;
  const Nanoseconds takes = duration_of(stream, work);
  stream.queue.push_back(
      {.work = std::move(work), .number = number, .issued_at = present(), .takes = takes});
  if (!std::exchange(is_started_, true)) std::thread([this] { run(); }).detach();
  work_added_.notify_one();
}

void Engine::order_after(CUstream_st& stream, const std::shared_ptr<Moment>& moment,
                         std::string_view what) {
  enqueue(stream, {.what = what, .waits_for = moment});
  stream.order.join(moment->order);
}

Nanoseconds Engine::duration_of(const CUstream_st& stream, const Work& work) const {
  const bool is_event = !work.run && work.marks != nullptr && control.late_events != 0;
  if ((!work.run && !is_event) || control.delay_max_us <= 0) return 0;
  const std::uint64_t drawn = random(stream.index, stream.issued);
  const auto max = static_cast<std::uint64_t>(control.delay_max_us) * 1000;
  // One work in eight is long; on some streams, one in two.
  const std::uint64_t one_in = random(stream.index, 0) % 4 == 0 ? 2 : 8;
  return static_cast<Nanoseconds>(drawn % one_in == 0 ? drawn / 8 % max : drawn / 8 % 2000);
}

std::uint64_t Engine::random(std::uint64_t of, std::uint64_t index) const {
  return mix(mix(mix(static_cast<std::uint64_t>(control.seed)) ^ of) ^ index);
}

void Engine::run() {
  prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);  // delays are shorter than the default of 50 us
  std::unique_lock lock(mutex);
  for (;;) {
    forget_finished_streams();
    std::shared_ptr<CUstream_st> first;
    Nanoseconds first_end = 0;
    for (const auto& stream : streams_) {
      if (stream->queue.empty()) continue;
      const QueuedWork& head = stream->queue.front();
      const Moment* awaited = head.work.waits_for.get();
      if (awaited != nullptr && !awaited->is_reached) continue;
      const Nanoseconds begin = std::max(
          {stream->end, head.issued_at, awaited != nullptr ? awaited->at : Nanoseconds{0}});
      if (first == nullptr || begin + head.takes < first_end) {
        first = stream;
        first_end = begin + head.takes;
      }
    }
    if (first == nullptr) {
      work_added_.wait(lock);
    } else if (const Nanoseconds left = first_end - present(); left > 0) {
      work_added_.wait_for(lock, std::chrono::nanoseconds(left));
    } else {
      finish_first_work(first, first_end);
    }
  }
}

void Engine::finish_first_work(const std::shared_ptr<CUstream_st>& stream, Nanoseconds end) {
  const QueuedWork queued = std::move(stream->queue.front());
  stream->queue.pop_front();
  const Work& work = queued.work;
  if (control.trace != 0) {
    std::fprintf(stderr, "CUDA stand-in: %s\n",
                 WorkId{work.what, stream->index, queued.number}.text().c_str());
  }
  if (work.is_kernel && is_due(control.kernel_fault_at)) {
    break_device(stream->device, cudaErrorIllegalAddress);
    return;
  }
  if (work.run) {
    stream->is_running = true;
    mutex.unlock();
    work.run();
    mutex.lock();
    stream->is_running = false;
  }
  stream->end = end;
  if (work.marks != nullptr) {
    work.marks->is_reached = true;
    work.marks->at = end;
  }
  stream->finished = std::max(stream->finished, queued.number);
  work_finished_.notify_all();
}

void Engine::forget_finished_streams() {
  std::erase_if(streams_, [this](const std::shared_ptr<CUstream_st>& stream) {
    const bool is_over = stream->is_destroyed && stream->queue.empty() && !stream->is_running;
    if (is_over) free_indices_.push_back(stream->index);
    return is_over;
  });
}

void Engine::wait(int device, std::string_view what, const std::function<bool()>& condition) {
  control.count_host_wait(what, has_enqueued);
  const auto is_broken = [&] {  // and nothing uses its memory any more
    return error_of(device) != cudaSuccess &&
           std::none_of(streams_.begin(), streams_.end(), [device](const auto& stream) {
             return stream->device == device && stream->is_running;
           });
  };
  work_finished_.wait(mutex, [&] { return condition() || is_broken(); });
  throw_if_broken(device);
}

void Engine::wait_for_stream(const std::shared_ptr<CUstream_st>& stream, std::string_view what) {
  const Order order = stream->order;
  const std::uint64_t number = stream->issued;
  wait(stream->device, what, [&] { return stream->finished >= number; });
  host_learns(order.all);
}

void Engine::wait_for_device(int device, std::string_view what) {
  std::vector<std::pair<std::shared_ptr<CUstream_st>, std::uint64_t>> until;
  VectorClock clock;
  for (const auto& stream : streams_) {
    if (stream->device != device) continue;
    until.emplace_back(stream, stream->issued);
    clock.join(stream->order.all);
  }
  wait(device, what, [&] {
    return std::all_of(until.begin(), until.end(),
                       [](const auto& each) { return each.first->finished >= each.second; });
  });
  host_learns(clock);
}

void Engine::check_host_access(Allocation& allocation, const Access& access,
                               std::string_view what) {
  const Order order{.all = host_, .on_devices = host_};
  allocation.accesses.check(access, order, {.what = what}, allocation.text(),
                            allocation.kind != MemoryKind::device, control);
}

void Engine::check_accesses(const std::vector<Access>& accesses, const Order& order,
                            const WorkId& work) {
  std::vector<Allocation*> places;
  for (const Access& access : accesses) {
    Allocation* place = memory.expect(access.begin, access.bytes, work.what);
    if (place == nullptr) throw CudaFailure{cudaErrorInvalidValue};
    place->accesses.check(access, order, work, place->text(), place->kind != MemoryKind::device,
                          control);
    places.push_back(place);
  }
  // Added only now: accesses of the same work don't race with each other.
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    places[i]->accesses.add(accesses[i], order, work);
  }
}

Allocation& Engine::reachable(int device, const void* address, std::size_t bytes,
                              std::string_view what) {
  Allocation* place = memory.expect(address, bytes, what);
  if (place == nullptr) throw CudaFailure{cudaErrorInvalidValue};
  if (place->kind == MemoryKind::device && place->device != device &&
      !peers_.contains({device, place->device})) {
    control.fail("peer access: " + std::string(what) + " on device " + std::to_string(device) +
                 " uses " + place->text() + " without cudaDeviceEnablePeerAccess");
    throw CudaFailure{cudaErrorInvalidValue};
  }
  return *place;
}

}  // namespace troupe::testing
