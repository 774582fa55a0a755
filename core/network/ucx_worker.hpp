// A context and a worker of UCX, set up for a Wire.
#pragma once

#include "core/base/error.hpp"
#include "core/network/wire_rest.hpp"

#include <string>
#include <string_view>

#include <ucp/api/ucp.h>

namespace troupe {

// All functions but wake() are for one thread at a time.
class UcxWorker {
 public:
  // Throws as make_ucx_wire does.
  UcxWorker();
  ~UcxWorker() { stop(); }
  UcxWorker(const UcxWorker&) = delete;
  UcxWorker& operator=(const UcxWorker&) = delete;

  ucp_worker_h handle() const { return worker_; }
  // Packed; to be sent to others as it is.
  std::string address() const;

  // Active messages of this number go to `handler`, with `argument`. Throws a run Error if UCX
  // refuses.
  void set_handler(unsigned message, ucp_am_recv_callback_t handler, void* argument);

  // True if something has happened.
  bool progress() {
    const bool has_worked = ucp_worker_progress(worker_) != 0;
    if (has_worked) busy_in_vain_ = 0;
    return has_worked;
  }
  // What to wait for: that there is something to progress, or a wake() since; or that `also` is
  // readable, a descriptor or -1. If something has happened since the last progress(), there is no
  // rest. Others may use the worker during the wait, but must not stop it.
  WireRest rest(int also);
  void wake() { ucp_worker_signal(worker_); }  // thread-safe
  // Ends what is under way; the other functions must not be called any more. May be repeated.
  void stop();

 private:
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  int busy_in_vain_ = 0;  // calls of rest() without progress in between
  int events_ = -1;       // becomes readable when there is something to progress
};

Error ucx_error(std::string_view what, ucs_status_t status);
// Throws a run Error unless UCX has succeeded.
void check_ucx(ucs_status_t status, std::string_view what);

}  // namespace troupe
