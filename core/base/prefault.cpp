#include "core/base/prefault.hpp"

#include <algorithm>
#include <cstdint>
#include <system_error>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

namespace troupe {
namespace {

constexpr std::size_t huge_page_bytes = std::size_t{1} << 21;
// Bytes populated by one system call.
constexpr std::size_t part_bytes = huge_page_bytes;

std::uintptr_t round_up(std::uintptr_t address, std::uintptr_t unit) {
  return (address + unit - 1) / unit * unit;
}

// Gives the kernel this advice on the pages of `page_bytes` that lie wholly within `memory`.
bool advise(std::span<const std::byte> memory, std::uintptr_t page_bytes, int advice) {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory.data());
  const std::uintptr_t first = round_up(begin, page_bytes);
  const std::uintptr_t last = (begin + memory.size()) / page_bytes * page_bytes;
  if (first >= last) return true;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): addresses of pages
  return madvise(reinterpret_cast<void*>(first), last - first, advice) == 0;
}

}  // namespace

void use_huge_pages(std::span<const std::byte> memory) {
  advise(memory, huge_page_bytes, MADV_HUGEPAGE);
}

bool populate(std::span<const std::byte> memory) {
#ifdef MADV_POPULATE_WRITE
  static const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  return advise(memory, page, MADV_POPULATE_WRITE);
#else
  return memory.empty();
#endif
}

Prefault::Prefault(std::vector<Bytes> arrays) : arrays_(std::move(arrays)) {
  std::size_t bytes = 0;
  for (const Bytes array : arrays_) bytes += array.size();
  // Populating so many takes about ten times as long as starting a thread.
  constexpr std::size_t bytes_min = 4 * part_bytes;
  if (bytes < bytes_min) return;
  try {
    thread_ = std::thread([this] { work(); });
  } catch (const std::system_error&) {  // the process has reached its limit of threads
  }
}

Prefault::~Prefault() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
}

// Each round populates the same fraction of every array. Parts end at the ends of huge pages.
void Prefault::work() const {
  std::size_t longest = 0;
  for (const Bytes array : arrays_) longest = std::max(longest, array.size());
  const std::size_t rounds = (longest + part_bytes - 1) / part_bytes;
  for (std::size_t round = 0; round < rounds; ++round) {
    for (const Bytes array : arrays_) {
      const auto begin = reinterpret_cast<std::uintptr_t>(array.data());
      const auto end_of = [&](std::size_t r) {
        const std::uintptr_t end = round_up(begin + array.size() * (r + 1) / rounds, part_bytes);
        return std::min<std::size_t>(end - begin, array.size());
      };
      const std::size_t from = round == 0 ? 0 : end_of(round - 1);
      if (stop_ || !populate(array.subspan(from, end_of(round) - from))) return;
    }
  }
}

}  // namespace troupe
