#include "core/base/prefault.hpp"

#include <algorithm>
#include <cstdint>
#include <system_error>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

namespace troupe {
namespace {

// As much as is asked for at once: a huge page.
constexpr std::size_t part = std::size_t{1} << 21;

std::uintptr_t round_up(std::uintptr_t address, std::uintptr_t unit) {
  return (address + unit - 1) / unit * unit;
}

// The pages that lie between these whole. False where the system refuses.
bool populate(std::uintptr_t begin, std::uintptr_t end) {
  static const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::uintptr_t first = round_up(begin, page);
  const std::uintptr_t last = end / page * page;
  if (first >= last) return true;
  return madvise(reinterpret_cast<void*>(first), last - first, MADV_POPULATE_WRITE) == 0;
}

}  // namespace

Prefault::Prefault(std::vector<Bytes> arrays) : arrays_(std::move(arrays)) {
  std::size_t bytes = 0;
  for (const Bytes array : arrays_) bytes += array.size();
  constexpr std::size_t few = 4 * part;  // take some ten times what starting a thread does
  if (bytes < few) return;
  try {
    thread_ = std::thread([this] { work(); });
  } catch (const std::system_error&) {  // no thread left
  }
}

Prefault::~Prefault() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
}

void Prefault::work() const {
  std::size_t longest = 0;
  for (const Bytes array : arrays_) longest = std::max(longest, array.size());
  const std::size_t rounds = (longest + part - 1) / part;
  for (std::size_t round = 0; round < rounds; ++round) {
    for (const Bytes array : arrays_) {
      const auto begin = reinterpret_cast<std::uintptr_t>(array.data());
      const std::uintptr_t end = begin + array.size();
      const auto at = [&](std::size_t r) {
        return r == 0 ? begin : std::min(round_up(begin + array.size() * r / rounds, part), end);
      };
      if (stop_ || !populate(at(round), at(round + 1))) return;
    }
  }
}

}  // namespace troupe
