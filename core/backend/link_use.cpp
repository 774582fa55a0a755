#include "core/backend/link_use.hpp"

#include "core/base/units.hpp"

#include <atomic>
#include <cstddef>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace troupe {
namespace {

// Names the links whose copies between GPUs went this way.
void add_peer_note(std::vector<std::string>& notes, const Machine& machine,
                   std::span<const LinkUse> uses, std::atomic<bool> LinkUse::*way,
                   const char* how) {
  std::vector<std::string> names;
  for (std::size_t l = 0; l < uses.size(); ++l) {
    if (uses[l].*way) names.push_back(machine.links[l].name);
  }
  if (names.empty()) return;
  notes.push_back(fmt::format("{} copied {}.", fmt::join(names, ", "), how));
}

}  // namespace

std::vector<std::string> link_notes(const Machine& machine, std::span<const LinkUse> uses) {
  std::vector<std::string> notes;
  add_peer_note(notes, machine, uses, &LinkUse::copied_directly,
                "directly between the memories of the GPUs");
  add_peer_note(notes, machine, uses, &LinkUse::copied_via_host,
                "by way of the host's memory: the GPUs have no access to each other's");
  // Several links may lead to one GPU.
  std::vector<std::uint64_t> staged(machine.memories.size(), 0);
  for (std::size_t l = 0; l < uses.size(); ++l) {
    if (uses[l].staged_bytes == 0) continue;
    const Link& link = machine.links[l];
    const MemoryId target = owning_gpu(machine, link.b) != nullptr ? link.b : link.a;
    staged[target.index()] += uses[l].staged_bytes;
  }
  for (std::size_t m = 0; m < staged.size(); ++m) {
    if (staged[m] == 0) continue;
    notes.push_back(fmt::format("{} of pageable memory were copied to {} by way of pinned memory.",
                                format_bytes(staged[m]),
                                owning_gpu(machine, MemoryId::at(m))->name));
  }
  return notes;
}

}  // namespace troupe
