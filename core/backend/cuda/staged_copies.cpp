#include "core/backend/cuda/staged_copies.hpp"

#include "core/backend/cuda/cuda_check.hpp"
#include "core/backend/cuda/cuda_owned.hpp"
#include "core/backend/cuda/profile_range.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <memory>
#include <utility>

#include <cuda_runtime_api.h>

namespace troupe {
namespace {

// Two pieces of pinned memory, which take turns.
class Stage {
 public:
  explicit Stage(int gpu) {
    choose_gpu(gpu);
    for (Piece& piece : pieces_) {
      piece.room = pin_memory(piece_bytes);
      piece.is_free = make_awaited_event();
    }
    begin_ = make_event();
    end_ = make_event();
    stream_ = make_stream();
  }
  ~Stage() {
    if (stream_ != nullptr) cudaStreamSynchronize(stream_.get());
  }
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  void copy(std::span<const std::byte> from, std::byte* to) {
    check_cuda(cudaEventRecord(begin_.get(), stream_.get()), "recording an event");
    std::size_t turn = 0;
    for (std::uint64_t at = 0; at < from.size(); at += piece_bytes) {
      const std::uint64_t size = std::min<std::uint64_t>(piece_bytes, from.size() - at);
      const Piece& piece = pieces_[turn++ % pieces_.size()];
      check_cuda(cudaEventSynchronize(piece.is_free.get()), "copying a tensor");
      std::memcpy(piece.room.get(), from.data() + at, size);
      check_cuda(
          cudaMemcpyAsync(to + at, piece.room.get(), size, cudaMemcpyHostToDevice, stream_.get()),
          "copying a tensor");
      check_cuda(cudaEventRecord(piece.is_free.get(), stream_.get()), "recording an event");
    }
    check_cuda(cudaEventRecord(end_.get(), stream_.get()), "recording an event");
    check_cuda(cudaStreamSynchronize(stream_.get()), "copying a tensor");
  }
  // Of the copy that was made last.
  cudaEvent_t begin() const { return begin_.get(); }
  cudaEvent_t end() const { return end_.get(); }

 private:
  static constexpr std::uint64_t piece_bytes = 4 << 20;
  struct Piece {
    PinnedMemory room;
    OwnedEvent is_free;
  };

  std::array<Piece, 2> pieces_;
  OwnedEvent begin_;
  OwnedEvent end_;
  OwnedStream stream_;
};

}  // namespace

StagedCopies::~StagedCopies() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void StagedCopies::start(const Copy& copy) {
  {
    const std::lock_guard lock(mutex_);
    copies_.push_back(copy);
    if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  }
  changed_.notify_one();
}

void StagedCopies::work() {
  std::unique_ptr<Stage> stage;
  for (;;) {
    Copy next;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return is_ending_ || !copies_.empty(); });
      if (copies_.empty()) return;
      next = copies_.front();
      copies_.pop_front();
    }
    try {
      if (stage == nullptr) stage = std::make_unique<Stage>(gpu_);
      {
        const ProfileRange range("copy", next.index, next.type, way_);
        stage->copy(next.from, next.to);
      }
      clock_->renew();
      const std::shared_ptr<const GpuAnchor> anchor = clock_->anchor();
      const Instant begin = anchor->time_of(stage->begin(), anchor->passed());
      completions_.completed(next.slot, begin, anchor->time_of(stage->end(), begin));
    } catch (const std::exception& error) {
      completions_.failed(next.slot, error.what());
    }
  }
}

}  // namespace troupe
