// Stands in for CAF's printer.
#pragma once

#include <caf/all.hpp>

namespace troupe {

// Drops what CAF says of dying actors: the coordinator tells it better, and a printer that didn't
// understand would be told that for ever. A class because CAF 0.17, asked to spawn a function
// without arguments, binds a reference to a null pointer.
class SilentPrinter final : public caf::event_based_actor {
 public:
  using caf::event_based_actor::event_based_actor;

  caf::behavior make_behavior() override {
    set_default_handler(caf::drop);
    // NOLINTNEXTLINE(performance-unnecessary-value-param): an empty struct
    return {[](caf::unit_t) {}};
  }
};

}  // namespace troupe
