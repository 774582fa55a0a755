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
  std::vector<ArrivedChunk> left;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [replica, tensor] : tensors_) {
      for (const auto& [offset, chunk] : tensor.chunks) {
        if (chunk.arrived != nullptr) left.push_back(chunk.arrived);
      }
    }
  }
  for (ArrivedChunk const chunk : left) wire_.drop(chunk);
  std::unique_lock lock(mutex_);
  quiet_.wait(lock, [this] { return under_way_ == 0; });
}

void NetworkPort::begin_one() {
  const std::lock_guard lock(mutex_);
  ++under_way_;
}

void NetworkPort::end_one() {
  const std::lock_guard lock(mutex_);  // also while the port is told: it may be gone right after
  --under_way_;
  quiet_.notify_all();
}

void NetworkPort::send(NodeId to, ChunkHeader header, const std::byte* bytes, ChunkDone done) {
  header.run = run_;
  header.from = self_.value;
  begin_one();
  wire_.send(to, header, bytes, [this, done = std::move(done)](const std::string& failure) {
    done(failure);
    end_one();
  });
}

void NetworkPort::arrived(const ChunkHeader& header, ArrivedChunk chunk) {
  const ReplicaId replica{header.replica};
  std::byte* target = nullptr;
  {
    const std::lock_guard lock(mutex_);
    Tensor& tensor = tensors_[replica];
    Chunk& here = tensor.chunks[header.offset];
    if (tensor.buffer != nullptr) {
      here.is_taken = true;
      target = tensor.buffer + header.offset;
    } else {
      here.arrived = chunk;
    }
  }
  if (target != nullptr) take(replica, header.offset, chunk, target);
  on_chunk_({.window = header.window, .resource = header.resource, .item = header.item});
}

void NetworkPort::take(ReplicaId replica, std::uint64_t offset, ArrivedChunk chunk,
                       std::byte* target) {
  begin_one();
  wire_.take(chunk, target, [this, replica, offset](const std::string& failure) {
    ended(replica, offset, failure);
    end_one();
  });
}

void NetworkPort::ended(ReplicaId replica, std::uint64_t offset, const std::string& failure) {
  Completions* waiting = nullptr;
  std::uint32_t lane = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto tensor = tensors_.find(replica);
    if (tensor == tensors_.end()) return;
    const auto chunk = tensor->second.chunks.find(offset);
    TROUPE_ASSERT(chunk != tensor->second.chunks.end());
    chunk->second.is_there = true;
    chunk->second.failure = failure;
    waiting = chunk->second.waiting;
    lane = chunk->second.lane;
    if (waiting != nullptr) tensor->second.chunks.erase(chunk);
  }
  if (waiting == nullptr) return;
  if (failure.empty()) {
    waiting->completed(lane);
  } else {
    waiting->failed(lane, not_received(failure).what());
  }
}

Started NetworkPort::receive(std::uint32_t lane, const ChunkMove& move, std::byte* to,
                             Completions& completions) {
  struct ToTake {
    std::uint64_t offset;
    ArrivedChunk chunk;
  };
  std::vector<ToTake> to_take;
  bool is_there = false;
  {
    const std::lock_guard lock(mutex_);
    const auto found = tensors_.find(move.from);
    TROUPE_ASSERT(found != tensors_.end());
    Tensor& tensor = found->second;
    if (move.first) {
      tensor.buffer = to;
      for (auto& [offset, chunk] : tensor.chunks) {
        if (std::exchange(chunk.is_taken, true)) continue;
        to_take.push_back({offset, std::exchange(chunk.arrived, nullptr)});
      }
    }
    const auto chunk = tensor.chunks.find(move.offset);
    TROUPE_ASSERT(chunk != tensor.chunks.end());
    is_there = chunk->second.is_there;
    if (is_there) {
      const std::string failure = chunk->second.failure;
      tensor.chunks.erase(chunk);
      if (!failure.empty()) throw not_received(failure);
    } else {
      chunk->second.waiting = &completions;
      chunk->second.lane = lane;
    }
    if (is_there && move.last) tensors_.erase(found);
  }
  for (const ToTake& next : to_take) take(move.from, next.offset, next.chunk, to + next.offset);
  return {.state = is_there ? Started::State::finished : Started::State::pending};
}

}  // namespace troupe
