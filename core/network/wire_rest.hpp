// What the thread of a Wire sleeps for.
#pragma once

#include <array>

#include <poll.h>

namespace troupe {

struct WireRest {
  std::array<int, 2> readable{-1, -1};  // descriptors; -1: none
  int most_ms = 0;                      // -1: for ever

  // Blocks until one of them is readable, or for so long.
  void wait() const {
    if (most_ms == 0) return;
    std::array<pollfd, 2> events{{{.fd = readable[0], .events = POLLIN, .revents = 0},
                                  {.fd = readable[1], .events = POLLIN, .revents = 0}}};
    poll(events.data(), events.size(), most_ms);
  }
};

}  // namespace troupe
