// A CUDA stream as a queue of work that was issued: its tokens, its slots, and their ends.
#pragma once

#include "core/backend/backend.hpp"
#include "core/backend/cuda/cuda_call.hpp"
#include "core/backend/cuda/cuda_owned.hpp"
#include "core/backend/cuda/gpu_clock.hpp"
#include "core/backend/cuda/launch_batch.hpp"
#include "core/base/error.hpp"
#include "core/base/time.hpp"
#include "core/memory/token.hpp"

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace troupe {

// Work is issued by one thread at a time. A thread of the queue waits for the work to end, and
// reports its times to Completions.
//
//   queue.begin(slot, issue->after, expected);
//   queue.launch(…);
//   issue->token = queue.end(slot, explain);
//   …                                // further work
//   queue.submit();
//
// Short work is submitted together: its launches are one for CUDA, and one event marks its end. The
// time from its begin to that is divided evenly.
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
  void begin(std::uint32_t slot, std::span<const Token> after,
             Duration expected = longest_duration);
  // All work of the slot has been issued. It is submitted if it is expected to take long, alone or
  // with what is held back, or has called CUDA or its libraries itself. `explain`: null if it can't
  // fail on the device.
  Token end(std::uint32_t slot, Explain explain = nullptr);
  // Gives the GPU what is held back. To be called before others wait for its tokens, and when no
  // more work is there. What CUDA doesn't take is reported as failed.
  void submit() { give_held(); }
  // For the work of this slot: where it says that it has failed.
  std::int32_t* verdict(std::uint32_t slot) { return &verdicts_[slot - first_slot_]; }

  void launch(const KernelLaunch& launch) override;
  cudaStream_t stream() override;
  cublasHandle_t blas() override;
  cusolverDnHandle_t solver() override;
  std::byte* scratch(std::size_t bytes) override;
  // Handles of cuBLAS and cuSOLVER for the stream, and chains of launches, which are made once.
  // Takes a while.
  void make_handles();
  int gpu() const { return gpu_; }

 private:
  struct Slot {
    OwnedEvent start;
    OwnedEvent end;
    bool has_start = false;  // it waits for work of other queues, and the event is behind that
    std::uint64_t position = 0;
    Explain explain = nullptr;
    std::vector<Token> after;
  };
  // Work that is submitted together, in the order of its positions.
  struct Batch {
    static constexpr std::size_t slots_max = 16;
    std::array<std::uint32_t, slots_max> slots;
    std::size_t count = 0;
    Duration expected{0};
    std::optional<Instant> given_at = {};  // when the GPU got the first part
    std::optional<Error> problem = {};     // CUDA hasn't taken it

    bool is_empty() const { return count == 0; }
    std::span<const std::uint32_t> all() const { return {slots.data(), count}; }
  };

  Slot& slot_of(std::uint32_t slot) { return slots_[slot - first_slot_]; }
  // As submit(). Returns what has failed.
  std::optional<Error> give_held();
  // The same. Throws that, as launches of the work that is being issued may be lost with it.
  void give_held_or_throw();
  // Enqueues these launches, and notes when the first of them went to the GPU.
  void give_own();
  // Returns whether the stream waits.
  bool wait_for(Token token);
  void spin_for_work() const;
  void watch();
  void finish(const Batch& batch);
  // What has become of it: the GPU's status, and what the work says itself. Empty: it has ended
  // well.
  std::string failure_of(std::uint32_t slot, const Batch& batch, cudaError_t status);
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
  // What is held back: launches, first those of held_, then those of the work that is being issued.
  LaunchBatch launches_;
  Batch held_;
  std::size_t held_launches_ = 0;
  // Of the work that is being issued. `given_at_`: when the GPU got the first part; none: nothing
  // yet.
  Duration expected_{0};
  bool calls_itself_ = false;
  std::optional<Instant> given_at_ = {};
  std::uint64_t position_ = 0;  // of the work that was issued last
  // By position, modulo their number: the slot whose event marks the end of the work there, until
  // it has ended.
  std::vector<std::atomic<std::uint32_t>> slot_at_;
  std::atomic<std::uint64_t> submitted_ = 0;  // position of the work that was submitted last
  std::atomic<std::uint64_t> done_ = 0;
  Instant last_end_{};  // of what has ended last

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<Batch> under_way_;        // in the order of issue
  std::vector<std::uint64_t> failed_;  // positions of work whose results aren't right
  bool is_ending_ = false;
  std::thread watcher_;  // last
};

}  // namespace troupe
