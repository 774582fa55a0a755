// Work that a signal must not end halfway, as it would leave something behind.
#pragma once

namespace troupe {

// While such an object lives, the end of the process by a signal is postponed. Thread-safe. Relies
// on signal handlers that call postpone_end(); SIGKILL can't be postponed.
class PostponedEnd {
 public:
  PostponedEnd();
  // Raises the latest signal that was postponed, if this is the last such object.
  ~PostponedEnd();
  PostponedEnd(const PostponedEnd&) = delete;
  PostponedEnd& operator=(const PostponedEnd&) = delete;
};

// For the handler of a signal that ends the process. True: the handler must return, and will be
// called again when the work has ended. Async-signal-safe.
bool postpone_end(int signal) noexcept;

}  // namespace troupe
