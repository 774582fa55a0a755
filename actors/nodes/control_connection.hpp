// Control messages over a Connection: CAF's protocol BASP.
#pragma once

#include "core/base/time.hpp"
#include "core/network/connection.hpp"

#include <caf/all.hpp>

namespace troupe {

// CAF's own ports take any connection and keep it for ever, and whoever connects may make them
// allocate 4 GiB; those of its OpenSSL module read certificates from files for each connection, and
// end the process if that fails. So connections are made and accepted elsewhere (acceptor.hpp), and
// CAF gets them when the other end is known. They get the heartbeats of the system's middleman.

// The other end of a connection that this process has opened will serve an actor: returns the
// actor, or null if it hasn't come within `timeout`. Blocks.
caf::actor remote_actor(caf::actor_system& system, Connection connection, Duration timeout);

// Serves `actor` to whoever has opened the connection. Thread-safe; doesn't block.
void serve(const caf::actor& actor, Connection connection);

}  // namespace troupe
