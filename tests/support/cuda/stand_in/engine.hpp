// The engine behind the three libraries: the queues of streams, what orders their work, and the
// thread that does it.
//
// Work of a stream takes a time drawn from the seed, mostly short, sometimes long. Of the work that
// streams, events and the host allow, the engine does what ends first by these times, and not
// before its end. So whatever isn't ordered does happen in different orders. Races don't depend on
// that: they are found when work is enqueued, with vector clocks.
//
// The host counts as one thread in the vector clocks. What one of its threads has waited for is
// known to all: how they synchronise with each other can't be seen here.
#pragma once

#include "tests/support/cuda/stand_in/control.hpp"
#include "tests/support/cuda/stand_in/handles.hpp"
#include "tests/support/cuda/stand_in/memory.hpp"
#include "tests/support/cuda/stand_in/stream.hpp"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>

namespace troupe::testing {

// Thrown by functions of the engine: what the API call returns.
struct CudaFailure {
  cudaError_t error;
};

class Engine {
 public:
  static constexpr int devices_max = 8;

  Engine();

  // Every public function must be called with this mutex held. wait() releases it while it waits.
  std::mutex mutex;
  Control control;
  Memory memory{control};
  Handles handles;

  int device_count() const {
    return static_cast<int>(std::min<std::int64_t>(control.devices, devices_max));
  }

  std::shared_ptr<CUstream_st> add_stream(int device);
  // Returns the stream of a handle; else reports the handle and throws.
  std::shared_ptr<CUstream_st> stream(cudaStream_t handle, std::string_view what);
  std::shared_ptr<CUevent_st> event(cudaEvent_t handle, std::string_view what);

  // Adds work to a stream. Reports races.
  void enqueue(CUstream_st& stream, Work work);
  // Makes later work of the stream come after the moment.
  void order_after(CUstream_st& stream, const std::shared_ptr<Moment>& moment,
                   std::string_view what);
  // Returns what is before the next work of the stream.
  Order order_of(const CUstream_st& stream) const;

  // Blocks until the condition holds; a host wait. Throws what has happened to the device.
  void wait(int device, std::string_view what, const std::function<bool()>& condition);
  void wait_for_stream(const std::shared_ptr<CUstream_st>& stream, std::string_view what);
  void wait_for_device(int device, std::string_view what);
  // The host now knows that everything before the point is finished.
  void host_learns(const VectorClock& clock) { host_.join(clock); }
  const VectorClock& host() const { return host_; }

  // Checks an access by the host itself, such as a free. Reports a race.
  void check_host_access(Allocation& allocation, const Access& access, std::string_view what);
  // Checks what work is going to do, and keeps it for later checks.
  void check_accesses(const std::vector<Access>& accesses, const Order& order, const WorkId& work);

  // From now on calls on this device return `error`; queued work is dropped.
  void break_device(int device, cudaError_t error);
  cudaError_t error_of(int device) const { return errors_[static_cast<std::size_t>(device)]; }
  void throw_if_broken(int device) const;
  void restore_devices();

  // The allocation that kernels of the device use at this address. Reports what isn't allocated, or
  // belongs to a device without peer access, and throws.
  Allocation& reachable(int device, const void* address, std::size_t bytes, std::string_view what);
  // Returns false if access was enabled before.
  bool enable_peer(int from, int to) { return peers_.emplace(from, to).second; }

  void check_leaks();
  // Waits for work that is left, and exits with 97 if failures are left.
  void at_exit();

 private:
  [[noreturn]] void run();
  void finish_first_work(const std::shared_ptr<CUstream_st>& stream, Nanoseconds end);
  void forget_finished_streams();
  Nanoseconds duration_of(const CUstream_st& stream, const Work& work) const;
  // A number that depends on nothing but the seed and these two.
  std::uint64_t random(std::uint64_t of, std::uint64_t index) const;

  std::array<cudaError_t, devices_max> errors_ = {};   // of each device
  std::vector<std::shared_ptr<CUstream_st>> streams_;  // with those that have work left
  std::vector<std::uint64_t> last_numbers_;            // of each index in vector clocks
  std::vector<std::uint32_t> free_indices_;
  VectorClock host_;
  std::set<std::pair<int, int>> peers_;
  std::condition_variable_any work_added_;
  std::condition_variable_any work_finished_;
  bool is_started_ = false;
};

// The only engine. It lives until the process ends.
Engine& engine();

// The calling thread has enqueued work, so that its waits are on the way to more work.
bool enqueues_work();

Nanoseconds present();

}  // namespace troupe::testing
