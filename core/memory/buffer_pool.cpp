#include "core/memory/buffer_pool.hpp"

#include "core/base/assert.hpp"
#include "core/base/buffer_capacity.hpp"
#include "core/base/error.hpp"
#include "core/base/huge_pages.hpp"
#include "core/base/saturating.hpp"
#include "core/base/units.hpp"
#include "core/machine/host_memory.hpp"
#include "core/memory/mapped_memory.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <sys/mman.h>

namespace troupe {
namespace {

Error too_little(std::uint64_t needed, std::uint64_t available) {
  return run_error(fmt::format("this host has not enough memory for the tensors: {} needed, "
                               "{} available",
                               format_bytes(needed), format_bytes(available)),
                   "make the tensors smaller or fewer, or simulate");
}

}  // namespace

Error BufferPool::not_mapped(std::uint64_t needed, std::uint64_t available) {
  if (needed > available) return too_little(needed, available);
  return run_error(fmt::format("the kernel doesn't map {} for tensors, though {} are available",
                               format_bytes(needed), format_bytes(available)),
                   "make the tensors fewer or larger, or raise the limit: vm.max_map_count, "
                   "`ulimit -v`, or that of a container");
}

std::uint64_t BufferPool::usable_host_bytes() {
  const std::uint64_t available = host_memory().available_bytes;
  return available - host_reserve(available);
}

std::uint64_t BufferPool::host_reserve(std::uint64_t available_bytes) {
  return std::min(available_bytes / 16, std::uint64_t{256} << 20);
}

BufferPool::BufferPool(std::function<std::uint64_t()> usable_bytes, Pinning pinning)
    : usable_bytes_(std::move(usable_bytes)), pinning_(std::move(pinning)) {}

BufferPool::~BufferPool() {
  for (const auto& [start, bytes] : mappings_) unmap(start, bytes);
}

void BufferPool::unmap(std::byte* start, std::uint64_t bytes) {
  if (pinning_.unpin) pinning_.unpin(start);
  munmap(start, bytes);
}

void BufferPool::reserve(std::span<const Need> needs, const std::function<bool()>& keep_going) {
  const std::lock_guard grow_lock(growing_);
  const auto missing = [&](const Need& need) {
    return need.count - std::min(need.count, free_count(need.capacity));
  };
  note_needs(needs);
  for (const Need& need : needs) {
    while (missing(need) > 0 && resize_unused(need.capacity)) {
      if (keep_going && !keep_going()) return;
    }
  }
  std::uint64_t wanted = 0;  // bytes of all missing buffers
  std::uint64_t wanted_pages = 0;
  std::uint64_t smallest = 0;  // bytes of one buffer of each size of which none is free
  for (const Need& need : needs) {
    const std::uint64_t n = missing(need);
    wanted = add_sat(wanted, mul_sat(n, need.capacity));
    if (has_pages(need.capacity)) wanted_pages = add_sat(wanted_pages, mul_sat(n, need.capacity));
    if (n > 0 && n == need.count) smallest = add_sat(smallest, need.capacity);
  }
  if (wanted == 0) return;

  make_way(wanted_pages);
  std::uint64_t room = room_for(wanted);
  if (wanted > room && trim(wanted - room, needs)) room = read_room();
  if (smallest > room) throw too_little(smallest, room);

  // One buffer of each size first: ops that release their inputs can then always continue.
  for (const Need& need : needs) {
    if (need.count == 0 || missing(need) < need.count) continue;
    if (need.capacity > room) continue;  // the last free one has been taken meanwhile
    if (!grow(need.capacity, 1, keep_going)) return;
    room -= need.capacity;
  }
  for (const Need& need : needs) {
    const std::uint64_t n = std::min(missing(need), room / need.capacity);
    if (n == 0) continue;
    if (!grow(need.capacity, n, keep_going)) return;
    room -= n * need.capacity;
  }
  note_needs(needs);
}

// How many bytes new buffers may take, of which so many are wanted. To read it takes as long as to
// allocate half a MiB: a small part of what there was a moment ago is still there. The caller must
// hold growing_.
std::uint64_t BufferPool::room_for(std::uint64_t bytes) {
  using namespace std::chrono_literals;
  const bool is_old = std::chrono::steady_clock::now() - room_read_ > 10ms;
  return is_old || bytes > room_ / 16 ? read_room() : room_;
}

std::uint64_t BufferPool::read_room() {
  room_ = usable_bytes_();
  room_read_ = std::chrono::steady_clock::now();
  return room_;
}

std::byte* BufferPool::take(std::uint64_t capacity) {
  TROUPE_ASSERT(capacity > 0 && capacity == buffer_capacity(capacity));
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      const auto bin = bins_.find(capacity);
      if (bin != bins_.end() && !bin->second.free.empty()) {
        // The buffer released last is the likeliest to be in a cache.
        std::byte* buffer = bin->second.free.back();
        bin->second.free.pop_back();
        if (has_pages(capacity)) count_taken(bin->second, capacity);
        return buffer;
      }
    }
    const std::lock_guard grow_lock(growing_);
    if (free_count(capacity) > 0) continue;  // released while this thread waited for the lock
    if (resize_unused(capacity)) continue;
    if (has_pages(capacity)) make_way(capacity);
    std::uint64_t room = room_for(capacity);
    if (capacity > room && trim(capacity - room, {})) room = read_room();
    if (capacity > room) throw too_little(capacity, room);
    grow(capacity, std::min(next_growth(capacity), room / capacity), {});
  }
}

// Buffers of so many bytes were taken. The caller must hold mutex_.
void BufferPool::count_taken(Bin& bin, std::uint64_t bytes) {
  in_use_ += bytes;
  peak_ = std::max(peak_, in_use_);
  bin.used_at = growths_;
}

void BufferPool::give(std::uint64_t capacity, std::byte* buffer) noexcept {
  const std::lock_guard lock(mutex_);
  if (has_pages(capacity)) in_use_ -= capacity;
  bins_.find(capacity)->second.free.push_back(buffer);
}

void BufferPool::take_some(std::uint64_t capacity, std::size_t count_max,
                           std::vector<std::byte*>& buffers) {
  const std::lock_guard lock(mutex_);
  const auto bin = bins_.find(capacity);
  if (bin == bins_.end()) return;
  std::vector<std::byte*>& free = bin->second.free;
  const auto first = free.end() - static_cast<std::ptrdiff_t>(std::min(count_max, free.size()));
  const auto taken = static_cast<std::uint64_t>(free.end() - first);
  buffers.insert(buffers.end(), first, free.end());
  free.erase(first, free.end());
  if (has_pages(capacity)) count_taken(bin->second, taken * capacity);
}

void BufferPool::give_some(std::uint64_t capacity, std::span<std::byte* const> buffers) noexcept {
  const std::lock_guard lock(mutex_);
  if (has_pages(capacity)) in_use_ -= capacity * buffers.size();
  std::vector<std::byte*>& free = bins_.find(capacity)->second.free;
  free.insert(free.end(), buffers.begin(), buffers.end());
}

std::uint64_t BufferPool::bytes_mapped() const {
  const std::lock_guard lock(mutex_);
  return bytes_mapped_;
}

std::uint64_t BufferPool::free_count(std::uint64_t capacity) const {
  const std::lock_guard lock(mutex_);
  const auto bin = bins_.find(capacity);
  return bin == bins_.end() ? 0 : bin->second.free.size();
}

// How many buffers to allocate where one is needed: of those that are some part of a huge page,
// more and more, until they fill one.
std::uint64_t BufferPool::next_growth(std::uint64_t capacity) const {
  if (capacity < small_mapping_bytes || 2 * capacity >= huge_page_bytes) return 1;
  const std::lock_guard lock(mutex_);
  const auto bin = bins_.find(capacity);
  const std::uint64_t made = bin == bins_.end() ? 0 : bin->second.made;
  return std::clamp<std::uint64_t>(made, 1, (huge_page_bytes + capacity - 1) / capacity);
}

// Allocates `count` buffers, or more if they are small. Returns false if `keep_going` did. The
// caller must hold growing_.
bool BufferPool::grow(std::uint64_t capacity, std::uint64_t count,
                      const std::function<bool()>& keep_going) {
  if (capacity < page_bytes) count = std::max(count, small_mapping_bytes / capacity);
  constexpr std::uint64_t part_bytes = 32 << 20;
  if (has_pages(capacity)) {
    {
      const std::lock_guard lock(mutex_);
      ++growths_;
    }
    const std::uint64_t at_once = std::max(part_bytes / capacity, std::uint64_t{1});
    while (const std::uint64_t again = populate_again(capacity, std::min(count, at_once))) {
      count -= again;
      if (keep_going && !keep_going()) return false;
    }
  }
  const std::uint64_t most = capacity >= huge_page_bytes ? 1
                             : has_own_mapping(capacity) ? part_bytes / capacity
                                                         : count;
  for (std::uint64_t made = 0; made < count; made += most) {
    const std::uint64_t per_mapping = std::min(most, count - made);
    const std::uint64_t bytes = per_mapping * capacity;
    std::byte* const start = map_memory(bytes);
    if (start == nullptr) throw not_mapped(bytes, usable_bytes_());
    for (std::uint64_t at = 0; at < bytes; at += part_bytes) {
      if (keep_going && !keep_going()) {
        munmap(start, bytes);
        return false;
      }
      touch_memory({start + at, std::min(part_bytes, bytes - at)});
    }
    pin(start, bytes, has_own_mapping(capacity) ? capacity : bytes);
    use_room(bytes);
    add(start, capacity, per_mapping);
  }
  return true;
}

// Adds new buffers side by side to those that are free.
void BufferPool::add(std::byte* start, std::uint64_t capacity, std::uint64_t count) {
  const std::uint64_t bytes = count * capacity;
  const std::uint64_t own_bytes = has_own_mapping(capacity) ? capacity : bytes;
  const std::lock_guard lock(mutex_);
  for (std::uint64_t at = 0; at < bytes; at += own_bytes) {
    mappings_.emplace(start + at, own_bytes);
  }
  bytes_mapped_ += bytes;
  Bin& bin = bins_[capacity];
  if (has_pages(capacity)) {
    mapped_ += bytes;
    bin.used_at = growths_;
  }
  bin.made += count;
  bin.free.reserve(bin.made);
  for (std::uint64_t i = 0; i < count; ++i) bin.free.push_back(start + i * capacity);
}

// The capacity nearest to this one of which a buffer is free and unused for long; 0: none is near.
std::uint64_t BufferPool::unused_capacity(std::uint64_t near) const {
  const auto distance = [&](std::uint64_t c) { return std::max(c, near) - std::min(c, near); };
  std::uint64_t nearest = 0;
  const std::lock_guard lock(mutex_);
  for (const auto& [c, bin] : bins_) {
    const bool is_unused = !bin.free.empty() && growths_ - bin.used_at >= growths_for_long;
    if (!is_unused || !has_own_mapping(c) || c == near || distance(c) > near / 2) continue;
    if (nearest == 0 || distance(c) < distance(nearest)) nearest = c;
  }
  return nearest;
}

// Where buffers would have to go for a new one of this capacity: makes it of one that would go, of
// which only the pages by which they differ come from the kernel, or go. Returns false if none
// would, or none is near. The caller must hold growing_.
bool BufferPool::resize_unused(std::uint64_t capacity) {
  if (!has_own_mapping(capacity) || is_pinned() || excess_with(capacity) == 0) return false;
  const std::uint64_t old_capacity = unused_capacity(capacity);
  if (old_capacity == 0) return false;
  const std::uint64_t more = capacity - std::min(capacity, old_capacity);
  if (more > 0 && more > room_for(more)) return false;
  std::byte* old = nullptr;
  {
    const std::lock_guard lock(mutex_);
    const auto bin = bins_.find(old_capacity);
    if (bin == bins_.end() || bin->second.free.empty()) return false;  // taken meanwhile
    old = bin->second.free.back();
    bin->second.free.pop_back();
    if (--bin->second.made == 0) bins_.erase(bin);
    mappings_.erase(old);
    bytes_mapped_ -= old_capacity;
    mapped_ -= old_capacity;
    ++growths_;
  }
  // Others have to go as well, unless it is for the little by which this one is larger.
  if (excess_with(capacity) > capacity / 2) make_way(capacity);
  std::byte* const start = resize_memory(old, old_capacity, capacity);
  if (start == nullptr) {
    add(old, old_capacity, 1);
    return false;
  }
  use_room(more);
  add(start, capacity, 1);
  return true;
}

// Gives pages to up to `count` buffers of this capacity that have lost theirs. Returns how many
// have got them. The caller must hold growing_.
std::uint64_t BufferPool::populate_again(std::uint64_t capacity, std::uint64_t count) {
  std::vector<std::byte*> buffers;
  {
    const std::lock_guard lock(mutex_);
    std::vector<std::byte*>& without_pages = bins_[capacity].without_pages;
    const auto first = without_pages.end() - static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(
                                                 count, without_pages.size()));
    buffers.assign(first, without_pages.end());
    without_pages.erase(first, without_pages.end());
  }
  for (std::byte* const buffer : buffers) touch_memory({buffer, capacity});
  use_room(buffers.size() * capacity);
  const std::lock_guard lock(mutex_);
  Bin& bin = bins_[capacity];
  bin.free.insert(bin.free.end(), buffers.begin(), buffers.end());
  bin.used_at = growths_;
  bytes_mapped_ += buffers.size() * capacity;
  mapped_ += buffers.size() * capacity;
  return buffers.size();
}

// Pins new memory in parts that can be returned by themselves. Returns it to the kernel if that
// fails.
void BufferPool::pin(std::byte* start, std::uint64_t bytes, std::uint64_t part_bytes) {
  if (!pinning_.pin) return;
  std::uint64_t pinned = 0;
  try {
    for (; pinned < bytes; pinned += part_bytes) pinning_.pin(start + pinned, part_bytes);
  } catch (...) {
    for (std::uint64_t at = 0; at < pinned; at += part_bytes) unmap(start + at, part_bytes);
    munmap(start + pinned, bytes - pinned);
    throw;
  }
}

// Buffers that are about to be needed count as if they were in use now.
void BufferPool::note_needs(std::span<const Need> needs) {
  const std::lock_guard lock(mutex_);
  std::uint64_t needed = 0;
  for (const Need& need : needs) {
    if (need.count == 0 || !has_pages(need.capacity)) continue;
    needed = add_sat(needed, mul_sat(need.count, need.capacity));
    if (const auto bin = bins_.find(need.capacity); bin != bins_.end()) {
      bin->second.used_at = growths_;
    }
  }
  peak_ = std::max(peak_, add_sat(in_use_, needed));
}

// Returns free buffers beyond `keep` to the kernel until `bytes` are released, first those of
// capacities that are unused for longest, but none of a capacity that was needed in the last
// `unused` growths. Returns whether any were. The caller must hold growing_.
bool BufferPool::trim(std::uint64_t bytes, std::span<const Need> keep, std::uint64_t unused) {
  struct Part {
    std::byte* start;
    std::uint64_t bytes;
  };
  std::vector<Part> parts;
  {
    const std::lock_guard lock(mutex_);
    std::vector<std::pair<std::uint64_t, std::uint64_t>> candidates;  // used_at, capacity
    for (const auto& [capacity, bin] : bins_) {
      const bool can_go = has_own_mapping(capacity) || (has_pages(capacity) && !pinning_.pin);
      if (!can_go || bin.free.empty() || growths_ - bin.used_at < unused) continue;
      candidates.emplace_back(bin.used_at, capacity);
    }
    std::sort(candidates.begin(), candidates.end());
    std::uint64_t given_up = 0;
    for (const auto& [used_at, capacity] : candidates) {
      Bin& bin = bins_[capacity];
      std::uint64_t kept = 0;
      for (const Need& need : keep) {
        if (need.capacity == capacity) kept += need.count;
      }
      while (given_up < bytes && bin.free.size() > kept) {
        std::byte* const buffer = bin.free.back();
        parts.push_back({buffer, capacity});
        if (has_own_mapping(capacity)) {
          mappings_.erase(buffer);
          --bin.made;
        } else {
          bin.without_pages.push_back(buffer);
        }
        bin.free.pop_back();
        given_up += capacity;
      }
      if (bin.made == 0) bins_.erase(capacity);
    }
    bytes_mapped_ -= given_up;
    mapped_ -= given_up;
  }
  for (const Part& part : parts) {
    // Linux frees a part of a huge page when it has split the page, which this makes it do.
    if (part.bytes < huge_page_bytes) madvise(part.start, part.bytes, MADV_FREE);
    if (has_own_mapping(part.bytes)) {
      unmap(part.start, part.bytes);
    } else {
      madvise(part.start, part.bytes, MADV_DONTNEED);
    }
  }
  return !parts.empty();
}

// How much all buffers would take too much if so many bytes were allocated: see the class.
std::uint64_t BufferPool::excess_with(std::uint64_t bytes) const {
  constexpr std::uint64_t never_too_much = 64 << 20;
  const std::lock_guard lock(mutex_);
  const std::uint64_t peak = std::max(peak_, add_sat(in_use_, bytes));
  const std::uint64_t after = add_sat(mapped_, bytes);
  return after - std::min(after, add_sat(mul_sat(peak, 2), never_too_much));
}

// Before so many bytes are allocated. The caller must hold growing_.
void BufferPool::make_way(std::uint64_t bytes) {
  const std::uint64_t excess = excess_with(bytes);
  if (excess > 0) trim(excess, {}, growths_for_long);
}

void BufferCache::flush() {
  for (Bin& bin : bins_) {
    if (bin.free.empty()) continue;
    pool_->give_some(bin.capacity, bin.free);
    bin.free.clear();
  }
}

BufferCache::Bin& BufferCache::bin(std::uint64_t capacity) {
  if (is_first(capacity)) return bins_.front();
  auto found = std::find_if(bins_.begin(), bins_.end(),
                            [&](const Bin& b) { return b.capacity == capacity; });
  if (found == bins_.end()) found = bins_.insert(bins_.end(), Bin{capacity, {}});
  std::swap(bins_.front(), *found);
  return bins_.front();
}

// Takes a buffer from any bin of the cache, else from the pool.
std::byte* BufferCache::find(std::uint64_t capacity) {
  if (capacity > capacity_max) return pool_->take(capacity);
  std::vector<std::byte*>& free = bin(capacity).free;
  if (free.empty()) pool_->take_some(capacity, refill_count, free);
  if (free.empty()) return pool_->take(capacity);
  std::byte* const buffer = free.back();
  free.pop_back();
  return buffer;
}

// Puts a buffer into its bin, or into the pool. A full bin first moves some buffers to the pool.
void BufferCache::keep(std::uint64_t capacity, std::byte* buffer) {
  if (capacity > capacity_max) return pool_->give(capacity, buffer);
  std::vector<std::byte*>& free = bin(capacity).free;
  free.push_back(buffer);
  if (free.size() <= buffers_max) return;
  pool_->give_some(capacity, std::span(free).first(refill_count));
  free.erase(free.begin(), free.begin() + refill_count);
}

}  // namespace troupe
