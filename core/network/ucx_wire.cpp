#include "core/network/ucx_wire.hpp"

#include "core/base/version.hpp"
#include "core/network/load_wire.hpp"
#include "core/network/polled_wire.hpp"
#include "core/network/ucx_work.hpp"

#include <string>

namespace troupe {

std::unique_ptr<Wire> make_ucx_wire(WireListener& listener, const UcxWireOptions& options) {
  return std::make_unique<PolledWire<UcxWork>>(listener, options, options.spin);
}

}  // namespace troupe

troupe::Wire* troupe_make_ucx_wire(const char* version, troupe::WireListener& listener,
                                   const troupe::UcxWireOptions& options) {
  if (troupe::version != version) return nullptr;
  return troupe::make_ucx_wire(listener, options).release();
}
