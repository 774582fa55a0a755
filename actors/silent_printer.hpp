// An actor that takes the place of CAF's printer and prints nothing.
#pragma once

#include <caf/all.hpp>

namespace troupe {

// Drops CAF's messages about dying actors: the coordinator reports these with more detail. A
// printer without a handler for them would send error messages to itself for ever. It is a class
// because CAF 0.17 binds a reference to a null pointer when it spawns a function without arguments.
class SilentPrinter final : public caf::event_based_actor {
 public:
  using caf::event_based_actor::event_based_actor;

  caf::behavior make_behavior() override {
    set_default_handler(caf::drop);
    return {[](caf::unit_t) {}};
  }
};

}  // namespace troupe
