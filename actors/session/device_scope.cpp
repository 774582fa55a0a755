#include "actors/session/device_scope.hpp"

#include "actors/session.hpp"

namespace troupe {
namespace {

struct Scope {
  std::uint64_t session = 0;  // its number; 0: none
  DeviceId device = {};
};
thread_local Scope scope;

}  // namespace

Placement scope_of(const SessionCore& session) {
  if (scope.session != session.number()) return {};
  return {.device = scope.device};
}

MemoryId memory_of_scope(const SessionCore& session) {
  const DeviceId device = scope_of(session).device;
  return device ? session.machine().device(device).memory : MemoryId{0};
}

DeviceScope::DeviceScope(std::uint64_t session, DeviceId device)
    : session_before_(scope.session), device_before_(scope.device) {
  scope = {session, device};
}

DeviceScope::~DeviceScope() {
  if (is_open_) scope = {session_before_, device_before_};
}

}  // namespace troupe
