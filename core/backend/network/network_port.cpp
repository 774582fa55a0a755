#include "core/backend/network/network_port.hpp"

#include "core/base/assert.hpp"
#include "core/base/error.hpp"

#include <utility>
#include <vector>

#include <fmt/format.h>

namespace troupe {
namespace {

Error not_received(const std::string& failure) {
  return run_error(fmt::format("a tensor didn't come over the network: {}", failure),
                   "see what has become of the node that sent it");
}

}  // namespace

NetworkPort::NetworkPort(Wire& wire, std::uint32_t run, NodeId self, OnChunk on_chunk)
    : wire_(wire), run_(run), self_(self), on_chunk_(std::move(on_chunk)) {}

NetworkPort::~NetworkPort() {
  drop_rest();
  std::unique_lock lock(mutex_);
  quiet_.wait(lock, [this] { return under_way_ == 0; });
}

bool NetworkPort::is_quiet() {
  const std::lock_guard lock(mutex_);
  return under_way_ == 0;
}

NetworkPort::Counts NetworkPort::counts() {
  const std::lock_guard lock(mutex_);
  return {.sent = next_sending_, .arrived = arrived_};
}

bool NetworkPort::begin_chunk_locked() {
  if (!abandoned_.empty()) return false;
  ++under_way_;
  ++calls_;
  return true;
}

bool NetworkPort::begin_help() {
  const std::lock_guard lock(mutex_);
  if (!abandoned_.empty()) return false;
  ++calls_;
  return true;
}

void NetworkPort::end_call() {
  const std::lock_guard lock(mutex_);
  --calls_;
  quiet_.notify_all();
}

void NetworkPort::end_one() {
  const std::lock_guard lock(mutex_);  // also while the port is told: it may be gone right after
  if (!abandoned_.empty()) return;
  --under_way_;
  quiet_.notify_all();
}

void NetworkPort::send(NodeId to, ChunkHeader header, const std::byte* bytes, ChunkDone done) {
  header.run = run_;
  header.from = self_.value;
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    if (!begin_chunk_locked()) throw run_error(abandoned_);
    number = next_sending_++;
    sending_.emplace(number, std::move(done));
  }
  wire_.send(to, header, bytes, [this, number](const std::string& failure) {
    ChunkDone sent;
    {
      const std::lock_guard lock(mutex_);
      const auto found = sending_.find(number);
      if (found == sending_.end()) return;  // it was abandoned
      sent = std::move(found->second);
      sending_.erase(found);
    }
    sent(failure);
    end_one();
  });
  end_call();
}

bool NetworkPort::post(std::function<void()> function, bool polls_next) {
  const std::lock_guard lock(posting_);
  return may_post_ && wire_.post(std::move(function), polls_next);
}

bool NetworkPort::progress() {
  if (!begin_help()) return false;
  const bool has_worked = wire_.progress();
  end_call();
  return has_worked;
}

void NetworkPort::leave() {
  if (!begin_help()) return;
  wire_.leave();
  end_call();
}

void NetworkPort::drop_rest() {
  std::vector<ArrivedChunk> left;
  {
    const std::lock_guard lock(mutex_);
    drops_rest_ = true;
    for (auto& [replica, tensor] : tensors_) {
      std::erase_if(tensor.chunks, [&](const auto& entry) {
        const Chunk& chunk = entry.second;
        if (chunk.arrived != nullptr) left.push_back(chunk.arrived);
        return chunk.arrived != nullptr;
      });
    }
  }
  for (ArrivedChunk const chunk : left) drop(chunk);
}

void NetworkPort::abandon(const std::string& cause) {
  {
    const std::lock_guard lock(posting_);
    may_post_ = false;
  }
  {
    std::unique_lock lock(mutex_);
    const auto wait_for_calls = [&] { quiet_.wait(lock, [this] { return calls_ == 0; }); };
    if (!abandoned_.empty()) return wait_for_calls();
    abandoned_ = cause;
    under_way_ = 0;
    left_.swap(sending_);
    for (auto& [replica, tensor] : tensors_) {
      for (auto& [offset, chunk] : tensor.chunks) {
        chunk.failure = cause;
        report(chunk);
      }
    }
    tensors_.clear();
    wait_for_calls();
  }
  for (const auto& [number, done] : left_) done(cause);
}

bool NetworkPort::report(const Chunk& chunk) {
  if (chunk.waiting == nullptr) return false;
  if (chunk.failure.empty()) {
    chunk.waiting->completed(chunk.slot);
  } else {
    chunk.waiting->failed(chunk.slot, not_received(chunk.failure).what());
  }
  return true;
}

void NetworkPort::forget(const Completions& completions) {
  const std::lock_guard lock(mutex_);
  for (auto& [replica, tensor] : tensors_) {
    for (auto& [offset, chunk] : tensor.chunks) {
      if (chunk.waiting == &completions) chunk.waiting = nullptr;
    }
  }
}

void NetworkPort::arrived(const ChunkHeader& header, ArrivedChunk chunk) {
  {
    const std::lock_guard lock(mutex_);
    ++arrived_;
  }
  if (header.bytes == 0) return arrived_empty(header, chunk);
  const ReplicaId replica{header.replica};
  bool is_wanted = false;
  bool has_buffer = false;
  std::byte* target = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (!abandoned_.empty()) return;
    Tensor& tensor = tensors_[replica];
    is_wanted = !drops_rest_ && !tensor.chunks.contains(header.offset);
    if (is_wanted) {
      Chunk& here = tensor.chunks[header.offset];
      here.bytes = header.bytes;
      has_buffer = tensor.buffer.data() != nullptr;
      if (has_buffer) {
        target = tensor.begin_taking(header.offset, here);
      } else {
        here.arrived = chunk;
      }
    }
  }
  if (!is_wanted) return drop(chunk);  // no node sends one twice
  if (has_buffer) take(replica, header.offset, chunk, target);
  on_chunk_({.window = header.window, .resource = header.resource, .item = header.item});
}

std::byte* NetworkPort::Tensor::begin_taking(std::uint64_t offset, Chunk& chunk) const {
  chunk.is_taken = true;
  if (offset <= buffer.size() && chunk.bytes <= buffer.size() - offset) {
    return buffer.data() + offset;
  }
  chunk.is_there = true;
  chunk.failure = "bytes came that are outside it";
  return nullptr;
}

void NetworkPort::drop(ArrivedChunk chunk) {
  {
    const std::lock_guard lock(mutex_);
    if (!begin_chunk_locked()) return;
  }
  wire_.drop(chunk);
  end_call();
  end_one();
}

// There may be several at one offset.
void NetworkPort::arrived_empty(const ChunkHeader& header, ArrivedChunk chunk) {
  drop(chunk);
  on_chunk_({.window = header.window, .resource = header.resource, .item = header.item});
}

void NetworkPort::take(ReplicaId replica, std::uint64_t offset, ArrivedChunk chunk,
                       std::byte* target) {
  if (target == nullptr) return drop(chunk);
  {
    const std::lock_guard lock(mutex_);
    if (!begin_chunk_locked()) return;
  }
  const ChunkDone done = [this, replica, offset](const std::string& failure) {
    taken(replica, offset, failure);
    end_one();
  };
  const bool is_taken = wire_.take(chunk, target, done);
  end_call();
  if (is_taken) done({});
}

void NetworkPort::taken(ReplicaId replica, std::uint64_t offset, const std::string& failure) {
  const std::lock_guard lock(mutex_);
  const auto tensor = tensors_.find(replica);
  if (tensor == tensors_.end()) return;
  const auto chunk = tensor->second.chunks.find(offset);
  TROUPE_ASSERT(chunk != tensor->second.chunks.end());
  chunk->second.is_there = true;
  chunk->second.failure = failure;
  if (report(chunk->second)) tensor->second.chunks.erase(chunk);
  if (tensor->second.is_over()) tensors_.erase(tensor);
}

void NetworkPort::moved(Tensors::iterator tensor) {
  tensor->second.is_moved = true;
  if (tensor->second.is_over()) tensors_.erase(tensor);
}

Started NetworkPort::receive(const ChunkMove& move, std::span<std::byte> to,
                             Completions& completions) {
  struct ToTake {
    std::uint64_t offset;
    ArrivedChunk chunk;
    std::byte* target;
  };
  std::vector<ToTake> to_take;
  {
    const std::lock_guard lock(mutex_);
    if (!abandoned_.empty()) throw not_received(abandoned_);
    const auto found = tensors_.find(move.from);
    if (move.bytes == 0) {
      if (move.last && found != tensors_.end()) moved(found);
      return {.state = Started::State::finished};
    }
    if (found == tensors_.end() || !found->second.chunks.contains(move.offset)) {
      throw not_received("a chunk came that isn't a part of it");
    }
    Tensor& tensor = found->second;
    if (move.first) {
      tensor.buffer = to;
      for (auto& [offset, chunk] : tensor.chunks) {
        if (chunk.is_taken) continue;
        ArrivedChunk const arrived = std::exchange(chunk.arrived, nullptr);
        to_take.push_back({offset, arrived, tensor.begin_taking(offset, chunk)});
      }
    }
  }
  for (const ToTake& next : to_take) take(move.from, next.offset, next.chunk, next.target);
  const std::lock_guard lock(mutex_);
  if (!abandoned_.empty()) throw not_received(abandoned_);
  // Nobody else has moved the chunk, so that both are still there.
  const auto found = tensors_.find(move.from);
  const auto chunk = found->second.chunks.find(move.offset);
  const bool is_there = chunk->second.is_there;
  const std::string failure = chunk->second.failure;
  if (is_there) {
    found->second.chunks.erase(chunk);
  } else {
    chunk->second.waiting = &completions;
    chunk->second.slot = move.slot;
  }
  if (move.last) moved(found);
  if (!failure.empty()) throw not_received(failure);
  return {.state = is_there ? Started::State::finished : Started::State::pending};
}

}  // namespace troupe
