#include "core/result/results.hpp"

#include "core/memory/digest.hpp"

#include <cstring>

namespace troupe {

bool StoredResults::is_equal(ReplicaId result, bool is_kept, std::span<const std::byte> values) {
  if (!is_kept) return store_.digest(result) == digest_of(values);
  return std::memcmp(this->values(result).data(), values.data(), values.size()) == 0;
}

std::span<const std::byte> StoredResults::values(ReplicaId result) {
  if (store_.is_host_visible(result)) {
    return {store_.data(result), store_.type(result).bytes()};
  }
  store_.read(result, from_file_);
  return from_file_;
}

}  // namespace troupe
