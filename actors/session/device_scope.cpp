#include "actors/session/device_scope.hpp"

#include "actors/session.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace troupe {
namespace {

struct Scope {
  std::uint64_t number = 0;
  std::uint64_t session = 0;  // its number; 0: none
  DeviceId device = {};
};
thread_local std::uint64_t scopes_so_far = 0;
thread_local Scope scope;  // the youngest that hasn't ended
// Those that haven't ended, in the order of their beginnings. They may end in another one.
thread_local std::vector<Scope> open_scopes;

}  // namespace

Placement scope_of(const SessionCore& session) {
  if (scope.session != session.number()) return {};
  return {.device = scope.device};
}

MemoryId memory_of_scope(const SessionCore& session) {
  const DeviceId device = scope_of(session).device;
  return device ? session.machine().device(device).memory : MemoryId{0};
}

DeviceScope::DeviceScope(std::uint64_t session, DeviceId device) : number_(++scopes_so_far) {
  open_scopes.push_back({number_, session, device});
  scope = open_scopes.back();
}

DeviceScope::~DeviceScope() {
  if (number_ == 0) return;
  std::erase_if(open_scopes, [&](const Scope& s) { return s.number == number_; });
  scope = open_scopes.empty() ? Scope{} : open_scopes.back();
}

}  // namespace troupe
