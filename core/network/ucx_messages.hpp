// The active messages of a Wire over UCX.
#pragma once

namespace troupe::message {

constexpr unsigned chunk = 1;    // header: a ChunkHeader; data: its bytes
constexpr unsigned hello = 2;    // header: the address of the Wire that sends it
constexpr unsigned goodbye = 3;  // as hello: this Wire is about to be destroyed
constexpr unsigned probe = 4;    // as hello: from a Wire to itself

}  // namespace troupe::message
