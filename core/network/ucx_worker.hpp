// A context and a worker of UCX, set up for a Wire.
#pragma once

#include "core/base/error.hpp"
#include "core/network/ucx_wire.hpp"

#include <string>
#include <string_view>

#include <ucp/api/ucp.h>

namespace troupe {

// All functions but wake() are for the thread that has made the worker.
class UcxWorker {
 public:
  // Throws as make_ucx_wire does.
  explicit UcxWorker(const UcxWireOptions& options);
  ~UcxWorker() { stop(); }
  UcxWorker(const UcxWorker&) = delete;
  UcxWorker& operator=(const UcxWorker&) = delete;

  ucp_worker_h handle() const { return worker_; }
  // Packed; to be sent to others as it is.
  std::string address() const;

  // True if something has happened.
  bool progress() {
    const bool has_worked = ucp_worker_progress(worker_) != 0;
    if (has_worked) busy_in_vain_ = 0;
    return has_worked;
  }
  // Blocks until there is something to progress, or until wake() is called. A wake() since the last
  // progress() counts; or until `also` is readable, a descriptor or -1.
  void wait(int also);
  void wake() { ucp_worker_signal(worker_); }  // thread-safe
  // Ends what is under way; the other functions must not be called any more. May be repeated.
  void stop();

 private:
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  int busy_in_vain_ = 0;  // calls of wait() without progress in between
  int events_ = -1;       // becomes readable when there is something to progress
};

std::string_view to_string(UcxWireOptions::Transport transport);

Error ucx_error(std::string_view what, ucs_status_t status);
// Throws a run Error unless UCX has succeeded.
void check_ucx(ucs_status_t status, std::string_view what);

}  // namespace troupe
