#include "actors/nodes/control_connection.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <caf/binary_deserializer.hpp>
#include <caf/io/all.hpp>
#include <caf/io/basp/header.hpp>
#include <caf/io/basp_broker.hpp>
#include <caf/io/network/default_multiplexer.hpp>
#include <caf/io/network/stream_impl.hpp>
#include <caf/io/scribe.hpp>

namespace troupe {
namespace {

using caf::io::network::default_multiplexer;
using caf::io::network::native_socket;
using caf::io::network::rw_state;

// How CAF's stream reads and writes.
class Policy {
 public:
  explicit Policy(Connection connection) : connection_(std::move(connection)) {}

  rw_state read_some(std::size_t& count, native_socket, void* bytes, std::size_t size) {
    return state(connection_.read({static_cast<std::byte*>(bytes), size}), count);
  }
  rw_state write_some(std::size_t& count, native_socket, const void* bytes, std::size_t size) {
    if (size == 0) {
      count = 0;
      return rw_state::indeterminate;
    }
    return state(connection_.write({static_cast<const std::byte*>(bytes), size}), count);
  }
  // Whether as many bytes have come as CAF waits for: then the socket may never become readable.
  bool must_read_more(native_socket, std::size_t threshold) const {
    return connection_.pending() >= threshold;
  }

 private:
  static rw_state state(const Connection::Result& result, std::size_t& count) {
    using Outcome = Connection::Outcome;
    count = result.outcome == Outcome::done ? result.bytes : 0;
    return result.outcome == Outcome::closed || result.outcome == Outcome::failed
               ? rw_state::failure
               : rw_state::success;
  }

  Connection connection_;
};

// What CAF's broker has of a connection. Used by the middleman's thread.
class Scribe final : public caf::io::scribe {
 public:
  Scribe(default_multiplexer& multiplexer, native_socket socket, Connection connection)
      : caf::io::scribe(caf::io::network::conn_hdl_from_socket(socket)),
        beat_(caf::get_or(multiplexer.system().config(), "middleman.heartbeat-interval",
                          caf::timespan(0))),
        stream_(multiplexer, socket, std::move(connection)) {}

  // Headers and what follows them are read by turns.
  bool consume(caf::execution_unit* thread, const void* bytes, std::size_t size) override {
    if (!std::exchange(is_body_next_, false)) {
      Header header;
      caf::binary_deserializer read(thread, static_cast<const char*>(bytes), size);
      if (read(header) || !may_be_handled(header)) {
        io_failure(thread, caf::io::network::operation::read);
        return false;
      }
      is_body_next_ = header.payload_len > 0;
    }
    return caf::io::scribe::consume(thread, bytes, size);
  }
  void configure_read(caf::io::receive_policy::config config) override {
    stream_.configure_read(config);
    if (std::exchange(has_started_, true)) return;
    stream_.start(this);
  }
  void ack_writes(bool enable) override { stream_.ack_writes(enable); }
  std::vector<char>& wr_buf() override { return stream_.wr_buf(); }
  std::vector<char>& rd_buf() override { return stream_.rd_buf(); }
  void graceful_shutdown() override {
    stream_.graceful_shutdown();
    detach(&stream_.backend(), false);
  }
  // CAF calls it at every heartbeat, just before it looks which connections are silent.
  void flush() override {
    stream_.flush(this);
    forgive_own_silence();
  }
  std::string addr() const override {
    const auto address = caf::io::network::remote_addr_of_fd(stream_.fd());
    return address ? *address : std::string();
  }
  std::uint16_t port() const override {
    const auto number = caf::io::network::remote_port_of_fd(stream_.fd());
    return number ? *number : std::uint16_t{0};
  }
  void add_to_loop() override { stream_.activate(this); }
  void remove_from_loop() override { stream_.passivate(); }

 private:
  using Header = caf::io::basp::header;

  // CAF makes room for what a header announces before it comes, and reads a handshake even where
  // none follows. So each end begins with a handshake, which has a body, and a short one.
  bool may_be_handled(const Header& header) {
    constexpr std::uint32_t handshake_bytes_max = 1 << 16;
    if (!is_handshake(header)) return has_introduced_itself_;
    has_introduced_itself_ = true;
    return header.payload_len > 0 && header.payload_len <= handshake_bytes_max;
  }

  // While this process was stopped, it could not hear the other end, which may have been stopped
  // with it. So that time doesn't count as silence of the other end.
  void forgive_own_silence() {
    auto* const broker = dynamic_cast<caf::io::basp_broker*>(parent());
    if (broker == nullptr) return;
    const caf::actor_clock::time_point now = broker->clock().now();
    const auto asleep = now - std::exchange(awake_at_, now);
    const auto context = broker->ctx.find(hdl());
    if (asleep <= 2 * beat_ || context == broker->ctx.end()) return;
    caf::actor_clock::time_point& last_seen = context->second.last_seen;
    last_seen = std::min(now, last_seen + asleep);
  }

  const caf::timespan beat_;
  caf::actor_clock::time_point awake_at_ = caf::actor_clock::clock_type::now();
  bool has_started_ = false;
  bool has_introduced_itself_ = false;
  bool is_body_next_ = false;
  caf::io::network::stream_impl<Policy> stream_;
};

caf::io::scribe_ptr make_scribe(caf::actor_system& system, Connection connection) {
  auto& multiplexer = static_cast<default_multiplexer&>(system.middleman().backend());
  const native_socket socket = connection.release_socket();
  return caf::make_counted<Scribe>(multiplexer, socket, std::move(connection));
}

// The actor that speaks BASP.
caf::actor broker_of(caf::actor_system& system) {
  return system.middleman().named_broker<caf::io::basp_broker>(caf::atom("BASP"));
}

// What is served on a connection is found by a port, whichever was accepted.
constexpr std::uint16_t any_port = 1;

}  // namespace

caf::actor remote_actor(caf::actor_system& system, Connection connection, Duration timeout) {
  const caf::scoped_actor self(system);
  caf::actor actor;
  self->request(broker_of(system), caf::duration(timeout), caf::connect_atom::value,
                make_scribe(system, std::move(connection)), any_port)
      .receive(
          [&](const caf::node_id&, caf::strong_actor_ptr& served, const std::set<std::string>&) {
            actor = caf::actor_cast<caf::actor>(std::move(served));
          },
          [](const caf::error&) {});
  return actor;
}

void serve(const caf::actor& actor, Connection connection) {
  caf::actor_system& system = actor.home_system();
  caf::anon_send(broker_of(system), caf::publish_atom::value,
                 make_scribe(system, std::move(connection)), any_port,
                 caf::actor_cast<caf::strong_actor_ptr>(actor), system.message_types(actor));
}

}  // namespace troupe
