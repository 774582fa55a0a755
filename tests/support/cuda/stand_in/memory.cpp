#include "tests/support/cuda/stand_in/memory.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include <sys/mman.h>

namespace troupe::testing {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t alignment = 512;
constexpr std::size_t zone = 512;
constexpr std::size_t unusable_max = 1000;
constexpr int fresh = 0xff;
// What is larger begins so: to fill the workspaces of all streams took most of the time of tests.
constexpr std::size_t fresh_max = 1 << 20;
constexpr int forbidden = 0xa5;

std::size_t round_up(std::size_t bytes, std::size_t to) {
  return (bytes + to - 1) / to * to;
}

std::byte* map_memory(std::size_t bytes, int protection, void* at = nullptr) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (at != nullptr ? MAP_FIXED : 0);
  void* mapped = mmap(at, bytes, protection, flags, -1, 0);
  if (mapped == MAP_FAILED) std::abort();
  return static_cast<std::byte*>(mapped);
}

// The element of `map`, which is ordered by address, whose range holds the address.
template <class Map>
auto holding(Map& map, const std::byte* address) {
  auto found = map.upper_bound(address);
  if (found == map.begin()) return map.end();
  --found;
  return address < found->first + found->second.bytes ? found : map.end();
}

}  // namespace

std::string Allocation::text() const {
  const std::string_view where = kind == MemoryKind::device   ? "memory of device "
                                 : kind == MemoryKind::pinned ? "pinned memory of device "
                                                              : "registered memory of device ";
  return "allocation " + std::to_string(number) + " (" + std::string(where) +
         std::to_string(device) + ", " + std::to_string(bytes) + " bytes)";
}

Arena::Arena(std::size_t addresses) : addresses_(round_up(addresses, page)) {
  std::byte* base = map_memory(2 * addresses_, PROT_NONE);
  mprotect(base + addresses_, addresses_, PROT_READ | PROT_WRITE);
  base_ = base;
}

const std::byte* Arena::allocate(std::size_t bytes) {
  const std::size_t size = round_up(bytes, alignment) + zone;
  // Two rounds: from the last allocation to the end, then from the beginning.
  for (int round = 0; round < 2; ++round) {
    std::size_t offset = next_;
    auto after = taken_.lower_bound(offset);
    while (after != taken_.end() && after->first - offset < size) {
      offset = after->first + after->second.size;
      ++after;
    }
    if (offset + size <= addresses_) {
      taken_[offset] = {.bytes = bytes, .size = size};
      next_ = offset + size;
      std::byte* at = twin(base_ + offset);
      std::memset(at, fresh, std::min(bytes, fresh_max));
      std::memset(at + bytes, forbidden, size - bytes);
      return base_ + offset;
    }
    next_ = 0;
  }
  return nullptr;
}

bool Arena::release(const std::byte* begin) {
  const auto found = taken_.find(static_cast<std::size_t>(begin - base_));
  std::byte* at = twin(begin);
  const auto [bytes, size] = found->second;
  const bool is_untouched = std::all_of(
      at + bytes, at + size, [](std::byte b) { return b == static_cast<std::byte>(forbidden); });
  // Whole pages return to the system.
  const auto offset = static_cast<std::size_t>(at - base_);
  const std::size_t first = round_up(offset, page);
  const std::size_t last = (offset + size) / page * page;
  if (last > first) madvise(at + (first - offset), last - first, MADV_DONTNEED);
  taken_.erase(found);
  return is_untouched;
}

Allocation* Memory::add(Allocation allocation) {
  allocation.number = ++allocated_;
  ++control_.allocations;
  // What was freed at these addresses can't be told from the new allocation any more.
  const std::byte* end = allocation.begin + allocation.bytes;
  auto stale = holding(freed_, allocation.begin);
  if (stale == freed_.end()) stale = freed_.lower_bound(allocation.begin);
  while (stale != freed_.end() && stale->first < end) stale = freed_.erase(stale);
  const std::byte* begin = allocation.begin;
  return &live_.insert_or_assign(begin, std::move(allocation)).first->second;
}

bool Memory::take(int device, std::size_t bytes) {
  if (used_[device] + bytes > capacity()) return false;
  used_[device] += bytes;
  return true;
}

Allocation* Memory::allocate_device(int device, std::size_t bytes) {
  if (control_.is_out_of_memory()) return nullptr;
  if (used_[device] + bytes > capacity()) return nullptr;
  // Many more addresses than memory, so that those of freed memory aren't used again soon.
  const std::size_t addresses = std::max(16 * capacity(), std::size_t{4} << 30U);
  Arena& arena = arenas_.try_emplace(device, addresses).first->second;
  const std::byte* begin = arena.allocate(bytes);
  if (begin == nullptr) return nullptr;
  used_[device] += bytes;
  return add({.kind = MemoryKind::device, .device = device, .begin = begin, .bytes = bytes});
}

Allocation* Memory::allocate_pinned(int device, std::size_t bytes) {
  if (control_.is_out_of_memory()) return nullptr;
  std::byte* begin = map_memory(round_up(bytes, page), PROT_READ | PROT_WRITE);
  std::memset(begin, fresh, std::min(bytes, fresh_max));
  return add({.kind = MemoryKind::pinned, .device = device, .begin = begin, .bytes = bytes});
}

Allocation* Memory::register_host(int device, void* begin, std::size_t bytes) {
  const auto* first = static_cast<const std::byte*>(begin);
  const auto next = live_.lower_bound(first);
  if (find(first) != nullptr || (next != live_.end() && next->first < first + bytes)) {
    return nullptr;
  }
  return add({.kind = MemoryKind::registered, .device = device, .begin = first, .bytes = bytes});
}

void Memory::forget(Allocation& allocation, const WorkId& by) {
  const std::byte* begin = allocation.begin;
  freed_[begin] = {.bytes = allocation.bytes,
                   .kind = allocation.kind,
                   .text = allocation.text() + ", which " + by.text() + " freed"};
  if (allocation.kind == MemoryKind::device) used_[allocation.device] -= allocation.bytes;
  live_.erase(begin);
}

void Memory::recycle(const std::byte* begin) {
  const auto found = freed_.find(begin);
  if (found == freed_.end()) return;
  const Freed& freed = found->second;
  if (freed.kind == MemoryKind::registered) {
    freed_.erase(found);
  } else if (freed.kind == MemoryKind::pinned) {
    map_memory(round_up(freed.bytes, page), PROT_NONE, const_cast<std::byte*>(begin));
    unusable_.push_back(begin);
    if (unusable_.size() > unusable_max) {  // a process may have about 65,000 mappings
      const auto oldest = freed_.find(unusable_.front());
      munmap(const_cast<std::byte*>(oldest->first), round_up(oldest->second.bytes, page));
      freed_.erase(oldest);
      unusable_.pop_front();
    }
  } else {
    for (auto& [device, arena] : arenas_) {
      if (arena.holds(begin) && !arena.release(begin)) {
        control_.fail("out of bounds: something wrote behind the end of " + freed.text);
      }
    }
  }
}

Allocation* Memory::find(const void* address) {
  const auto found = holding(live_, static_cast<const std::byte*>(address));
  return found == live_.end() ? nullptr : &found->second;
}

Allocation* Memory::expect(const void* address, std::size_t bytes, std::string_view what) {
  const auto* begin = static_cast<const std::byte*>(address);
  if (Allocation* found = find(address); found != nullptr) {
    if (begin + bytes <= found->begin + found->bytes) return found;
    control_.fail("out of bounds: " + std::string(what) + " uses " + std::to_string(bytes) +
                  " bytes from byte " + std::to_string(begin - found->begin) + " of " +
                  found->text());
  } else if (const auto freed = holding(freed_, begin); freed != freed_.end()) {
    control_.fail("use of freed memory: " + std::string(what) + " uses " + freed->second.text);
  } else if (is_device(address)) {
    control_.fail("use of freed memory: " + std::string(what) +
                  " uses memory of a device that isn't allocated");
  } else {
    control_.fail("pageable memory: " + std::string(what) +
                  " needs device memory or pinned memory of the host");
  }
  return nullptr;
}

bool Memory::is_device(const void* address) const {
  return std::any_of(arenas_.begin(), arenas_.end(), [address](const auto& entry) {
    return entry.second.holds(static_cast<const std::byte*>(address));
  });
}

std::byte* Memory::bytes_at(const void* address) const {
  const auto* begin = static_cast<const std::byte*>(address);
  for (const auto& [device, arena] : arenas_) {
    if (arena.holds(begin)) return arena.twin(begin);
  }
  return const_cast<std::byte*>(begin);
}

std::size_t Memory::used(int device) const {
  const auto found = used_.find(device);
  return found == used_.end() ? 0 : found->second;
}

}  // namespace troupe::testing
