// The active messages of a Wire over UCX.
#pragma once

#include "core/network/wire.hpp"

#include <cstdint>

namespace troupe::message {

constexpr unsigned chunk = 1;    // header: a ChunkHeader; data: its bytes
constexpr unsigned hello = 2;    // header: the address of the Wire that sends it
constexpr unsigned goodbye = 3;  // as hello: this Wire is about to be destroyed
constexpr unsigned probe = 4;    // as hello: from a Wire to itself
// A Wire lends chunks to those that can read the memory of its process: they copy them from there,
// and give them back.
constexpr unsigned reads = 5;  // as hello: this Wire can read the memory of the one it is sent to
constexpr unsigned loan = 6;   // header: a Loan
constexpr unsigned given_back = 7;  // header: Loan::number

struct Loan {
  ChunkHeader chunk;
  std::uint64_t address = 0;  // of its bytes, in the process that sends it
  std::uint64_t number = 0;   // among those of this Wire
};

}  // namespace troupe::message
