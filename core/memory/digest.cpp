#include "core/memory/digest.hpp"

#include <algorithm>
#include <fstream>
#include <memory>
#include <new>
#include <vector>

#if defined(__x86_64__)
#include <xxh_x86dispatch.h>  // uses AVX2 or AVX-512 if the processor has them: 3 times as fast
#else
#include <xxhash.h>
#endif

namespace troupe {
namespace {

Digest from(const XXH128_hash_t& hash) {
  return {.low = hash.low64, .high = hash.high64};
}

struct Free {
  void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
};

}  // namespace

Digest digest_of(std::span<const std::byte> values) {
  return from(XXH3_128bits(values.data(), values.size()));
}

std::optional<Digest> digest_of_file(const std::filesystem::path& file, std::uint64_t bytes) {
  constexpr std::uint64_t part_bytes = 1 << 20;
  const std::unique_ptr<XXH3_state_t, Free> state(XXH3_createState());
  if (!state) throw std::bad_alloc();
  XXH3_128bits_reset(state.get());
  std::ifstream in(file, std::ios::binary);
  std::vector<char> part(std::min(bytes, part_bytes));
  while (bytes > 0) {
    const std::uint64_t n = std::min(bytes, part_bytes);
    if (!in.read(part.data(), static_cast<std::streamsize>(n))) return std::nullopt;
    XXH3_128bits_update(state.get(), part.data(), n);
    bytes -= n;
  }
  return from(XXH3_128bits_digest(state.get()));
}

}  // namespace troupe
