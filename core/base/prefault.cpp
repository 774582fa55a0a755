#include "core/base/prefault.hpp"

#include "core/base/huge_pages.hpp"

#include <algorithm>
#include <cstdint>
#include <system_error>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

namespace troupe {
namespace {

// Bytes populated by one system call.
constexpr std::size_t part_bytes = huge_page_bytes;

std::uintptr_t round_up(std::uintptr_t address, std::uintptr_t unit) {
  return (address + unit - 1) / unit * unit;
}

}  // namespace

bool populate(std::span<const std::byte> memory) {
#ifdef MADV_POPULATE_WRITE
  static const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
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
