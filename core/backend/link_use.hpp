// How a link has copied in a run, beyond what the records of its transfers say. For the report.
#pragma once

#include "core/machine/machine.hpp"

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace troupe {

// The way of copies between the memories of two GPUs.
enum class PeerCopies : std::uint8_t {
  none,      // there were none
  direct,    // each GPU has access to the memory of the other
  via_host,  // by way of the host's memory
};

// As a value.
struct LinkUseFigures {
  std::uint64_t staged_bytes = 0;  // of pageable memory, by way of pinned memory
  PeerCopies peer_copies = PeerCopies::none;
};

// Written by the backend of the link, and read by any thread meanwhile.
struct LinkUse {
  std::atomic<std::uint64_t> staged_bytes = 0;
  std::atomic<PeerCopies> peer_copies = PeerCopies::none;

  LinkUseFigures figures() const { return {staged_bytes, peer_copies}; }
  // What the link has done besides, in another process.
  void add(const LinkUseFigures& more) {
    staged_bytes += more.staged_bytes;
    if (more.peer_copies != PeerCopies::none) peer_copies = more.peer_copies;
  }
};

// What the report says of the links of a machine, a sentence each. `uses`: by LinkId.
std::vector<std::string> link_notes(const Machine& machine, std::span<const LinkUse> uses);

}  // namespace troupe
