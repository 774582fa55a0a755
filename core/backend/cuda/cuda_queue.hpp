// A CUDA stream as a queue of work that was issued: its tokens, its slots, and their ends.
#pragma once

#include "core/backend/backend.hpp"
#include "core/backend/cuda/cuda_call.hpp"
#include "core/backend/cuda/cuda_owned.hpp"
#include "core/backend/cuda/gpu_clock.hpp"
#include "core/base/time.hpp"
#include "core/memory/token.hpp"

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace troupe {

// Work is issued by one thread at a time. A thread of the queue waits for the work to end, and
// reports its times to Completions.
//
//   queue.begin(slot, issue->after);
//   f<<<…, queue.stream>>>(…);
//   issue->token = queue.end(slot);
class CudaQueue final : public CudaStream {
 public:
  // Why work failed on the device, in words, given what it has written to its verdict.
  using Explain = std::string (*)(std::int32_t verdict);

  // A stream of this GPU that waits for no other. `first_slot` is the number of its first slot,
  // which is that of Completions. Throws a run Error if CUDA fails.
  CudaQueue(int gpu, std::uint32_t first_slot, std::uint32_t slots, Completions& completions);
  // Blocks until all that was issued has ended.
  ~CudaQueue() override;
  CudaQueue(const CudaQueue&) = delete;
  CudaQueue& operator=(const CudaQueue&) = delete;

  // What is issued next is the work of this slot, which must be free, and begins after these
  // tokens. Makes the GPU the thread's current one. Throws a run Error if CUDA fails; the slot is
  // free then.
  void begin(std::uint32_t slot, std::span<const Token> after);
  // All work of the slot has been issued. `explain`: null if it can't fail on the device.
  Token end(std::uint32_t slot, Explain explain = nullptr);
  // For the work of this slot: where it says that it has failed.
  std::int32_t* verdict(std::uint32_t slot) { return &verdicts_[slot - first_slot_]; }

  std::byte* scratch(std::size_t bytes) override;
  // Handles of cuBLAS and cuSOLVER for the stream, which are made once. Takes a while.
  void make_handles();
  int gpu() const { return gpu_; }

 private:
  struct Slot {
    OwnedEvent start;
    OwnedEvent end;
    Instant issued_at{};
    bool has_start = false;  // it waits for work of other queues, and the event is behind that
    std::uint64_t position = 0;
    Explain explain = nullptr;
    std::vector<Token> after;
  };

  // Returns whether the stream waits.
  bool wait_for(Token token);
  void spin_for_work() const;
  void watch();
  void finish(std::uint32_t slot);
  static bool has_failed(Token token);

  const int gpu_;
  const std::uint32_t first_slot_;
  Completions& completions_;
  std::uint32_t number_ = 0;  // as in tokens
  // What the stream uses comes before it: it is destroyed after the stream.
  PinnedMemory own_verdicts_;
  std::int32_t* verdicts_ = nullptr;  // one for each slot
  OwnedMemory workspace_;             // of cuBLAS
  std::vector<OwnedMemory> scratch_;  // the last one is in use, and larger than those before
  std::size_t scratch_bytes_ = 0;     // of it
  std::shared_ptr<GpuClock> clock_;
  std::vector<Slot> slots_;
  OwnedStream own_stream_;
  OwnedBlas own_blas_;
  OwnedSolver own_solver_;
  // By position, modulo their number: the slot of the work there, until it has ended.
  std::vector<std::atomic<std::uint32_t>> slot_at_;
  std::atomic<std::uint64_t> issued_ = 0;  // position of the work that was issued last
  std::atomic<std::uint64_t> done_ = 0;
  Instant last_end_{};  // of what has ended last

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<std::uint32_t> under_way_;  // slots, in the order of issue
  std::vector<std::uint64_t> failed_;    // positions of work whose results aren't right
  bool is_ending_ = false;
  std::thread watcher_;  // last
};

}  // namespace troupe
