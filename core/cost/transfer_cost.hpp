// How long a transfer over one link takes, as a whole and chunk by chunk.
#pragma once

#include "core/base/time.hpp"

#include <cstdint>

namespace troupe {

struct TransferCost {
  Duration latency{0};  // paid once, by the first chunk
  Duration wire{0};     // for all bytes of the tensor

  Duration total() const { return latency + wire; }
  friend bool operator==(const TransferCost&, const TransferCost&) = default;
  // The time of chunk `i` of `chunks` equal chunks. `i` must be below `chunks`. The times of all
  // chunks add up to total() exactly.
  Duration chunk(std::uint32_t i, std::uint32_t chunks) const {
    const std::int64_t ns = wire.count();
    // ns * n / chunks, computed without overflow of the product.
    const auto first = [&](std::uint32_t n) { return ns / chunks * n + ns % chunks * n / chunks; };
    return Duration{first(i + 1) - first(i)} + (i == 0 ? latency : Duration{0});
  }
};

}  // namespace troupe
