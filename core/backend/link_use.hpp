// How a link has copied in a run, beyond what the records of its transfers say. For the report.
#pragma once

#include "core/machine/machine.hpp"

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace troupe {

// As a value.
struct LinkUseFigures {
  std::uint64_t staged_bytes = 0;  // of pageable memory, by way of pinned memory
  // Between the memories of two GPUs: each has access to that of the other; or by way of the
  // host's. Both, if another node has taken the place of the first one.
  bool copied_directly = false;
  bool copied_via_host = false;
};

// Written by the backend of the link, and read by any thread meanwhile.
struct LinkUse {
  std::atomic<std::uint64_t> staged_bytes = 0;
  std::atomic<bool> copied_directly = false;
  std::atomic<bool> copied_via_host = false;

  LinkUseFigures figures() const { return {staged_bytes, copied_directly, copied_via_host}; }
  // What the link has done besides, in another process.
  void add(const LinkUseFigures& more) {
    staged_bytes += more.staged_bytes;
    if (more.copied_directly) copied_directly = true;
    if (more.copied_via_host) copied_via_host = true;
  }
};

// What the report says of the links of a machine, a sentence each. `uses`: by LinkId.
std::vector<std::string> link_notes(const Machine& machine, std::span<const LinkUse> uses);

}  // namespace troupe
