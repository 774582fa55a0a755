#include "actors/session/device_scope.hpp"

#include "actors/session.hpp"

#include <cstdint>

namespace troupe {

struct OpenScope {
  std::uint64_t session;  // its number
  DeviceId device;
  OpenScope** thread;  // the youngest of the thread that began it
  OpenScope* older;
};

namespace {

// Not a container: a scope in a static object ends when those of its thread are gone.
thread_local OpenScope* youngest = nullptr;

}  // namespace

Placement scope_of(const SessionCore& session) {
  if (youngest == nullptr || youngest->session != session.number()) return {};
  return {.device = youngest->device};
}

MemoryId memory_of_scope(const SessionCore& session) {
  const DeviceId device = scope_of(session).device;
  return device ? session.machine().device(device).memory : MemoryId{0};
}

DeviceScope::DeviceScope(std::uint64_t session, DeviceId device)
    : open_(new OpenScope{session, device, &youngest, youngest}) {
  youngest = open_;
}

DeviceScope::~DeviceScope() {
  if (open_ == nullptr || open_->thread != &youngest) return;  // another thread's list uses it
  OpenScope** at = &youngest;
  while (*at != nullptr && *at != open_) at = &(*at)->older;
  if (*at == open_) *at = open_->older;
  delete open_;
}

}  // namespace troupe
