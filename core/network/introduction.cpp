#include "core/network/introduction.hpp"

#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/base/units.hpp"
#include "core/base/version.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <span>
#include <string_view>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

namespace troupe {
namespace {

constexpr std::string_view control_word = "troupe-control-2";
constexpr std::string_view tensors_word = "troupe-tensors-2";
constexpr std::string_view server_name = "troupe ";  // its version follows, and spaces

template <std::size_t size>
std::array<char, size> word(std::string_view text) {
  std::array<char, size> bytes{};
  bytes.fill(' ');
  std::copy(text.begin(), text.end(), bytes.begin());
  return bytes;
}

}  // namespace

Introduction::Introduction(Connection connection)
    : connection_(std::move(connection)),
      side_(Connection::Side::server),
      receives_first_(false),
      stage_(Stage::handshake),
      out_(word<word_bytes>(fmt::format("{}{}", server_name, version))) {
  static_assert(server_name.size() + version.size() <= word_bytes);
}

Introduction::Introduction(Connection connection, Purpose purpose, bool uses_tls)
    : connection_(std::move(connection)),
      side_(Connection::Side::client),
      receives_first_(uses_tls),
      purpose_(purpose),
      stage_(Stage::connecting),
      out_(word<word_bytes>(purpose == Purpose::control ? control_word : tensors_word)) {
  static_assert(control_word.size() == word_bytes && tensors_word.size() == word_bytes);
}

// Both sides send and receive one thing each.
bool Introduction::is_last() const {
  return (stage_ == Stage::sending) == receives_first_;
}

Introduction::Outcome Introduction::step() {
  while (true) {
    Outcome outcome = Outcome::done;
    switch (stage_) {
      case Stage::connecting:
        outcome = check_connected();
        break;
      case Stage::handshake:
        outcome = connection_.shake_hands();
        break;
      case Stage::sending:
        outcome = send();
        break;
      case Stage::receiving:
        outcome = receive();
        break;
    }
    if (outcome == Outcome::closed || outcome == Outcome::failed) {
      if (failure_.empty()) failure_ = connection_.failure();
      return outcome;
    }
    if (outcome != Outcome::done) return outcome;
    if (stage_ == Stage::connecting) {
      stage_ = Stage::handshake;
    } else if (stage_ == Stage::handshake) {
      stage_ = receives_first_ ? Stage::receiving : Stage::sending;
    } else if (is_last()) {
      return Outcome::done;
    } else {
      stage_ = receives_first_ ? Stage::sending : Stage::receiving;
    }
  }
}

Introduction::Outcome Introduction::check_connected() {
  pollfd ready{.fd = socket(), .events = POLLOUT, .revents = 0};
  if (poll(&ready, 1, 0) == 0) return Outcome::wants_write;
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(socket(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error == 0) return Outcome::done;
  failure_ = system_message(error);
  return Outcome::failed;
}

Introduction::Outcome Introduction::send() {
  while (sent_ < word_bytes) {
    const std::span<const char> left(out_.data() + sent_, word_bytes - sent_);
    const Connection::Result result = connection_.write(std::as_bytes(left));
    if (result.outcome != Outcome::done) return result.outcome;
    sent_ += result.bytes;
  }
  return Outcome::done;
}

Introduction::Outcome Introduction::receive() {
  while (received_ < word_bytes) {
    const std::span<char> left(in_.data() + received_, word_bytes - received_);
    const Connection::Result result = connection_.read(std::as_writable_bytes(left));
    if (result.outcome != Outcome::done) return result.outcome;
    received_ += result.bytes;
    const Outcome outcome = understand();
    if (outcome != Outcome::done) return outcome;
  }
  return Outcome::done;
}

// What has come so far. A stranger is recognised by the first byte.
Introduction::Outcome Introduction::understand() {
  const std::string_view heard(in_.data(), received_);
  if (side_ == Connection::Side::client) return understand_server(heard);
  if (control_word.starts_with(heard)) {
    purpose_ = Purpose::control;
  } else if (tensors_word.starts_with(heard)) {
    purpose_ = Purpose::tensors;
  } else {
    failure_ =
        "it doesn't speak as this version of Troupe does, or speaks TLS, which this node "
        "doesn't expect";
    return Outcome::failed;
  }
  return Outcome::done;
}

Introduction::Outcome Introduction::understand_server(std::string_view heard) {
  if (!server_name.starts_with(heard.substr(0, server_name.size()))) {
    failure_ = "it doesn't answer as a node of Troupe does; it may expect TLS";
    return Outcome::failed;
  }
  if (heard.size() < word_bytes) return Outcome::done;
  heard.remove_prefix(server_name.size());
  const std::string_view theirs = heard.substr(0, heard.find(' '));
  if (theirs == version) return Outcome::done;
  failure_ = fmt::format("it is of version {}, and this is {}", visible(theirs), version);
  return Outcome::failed;
}

Connection open_connection(const HostPort& address, Purpose purpose, const TlsContext* tls,
                           Duration timeout, const std::atomic<bool>* interrupted) {
  const auto begun = std::chrono::steady_clock::now();
  const auto end = begun + timeout;
  const auto begin = [&] {
    return Introduction(Connection(connect_to(address, timeout), Connection::Side::client, tls),
                        purpose, tls != nullptr);
  };
  auto introduction = std::make_optional(begin());
  while (true) {
    const Introduction::Outcome outcome = introduction->step();
    if (outcome == Introduction::Outcome::done) return introduction->take_connection();
    // A node that gets very many connections may drop this one.
    constexpr std::chrono::seconds patience_with_closing{1};
    if (outcome == Introduction::Outcome::closed &&
        std::chrono::steady_clock::now() < begun + patience_with_closing) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      introduction.emplace(begin());
      continue;
    }
    const bool has_failed = outcome == Introduction::Outcome::failed;
    if (outcome == Introduction::Outcome::closed || has_failed) {
      throw Error(has_failed && introduction->is_refused() ? ErrorKind::usage : ErrorKind::failed,
                  SourcePlace{}, introduction->failure(),
                  tls == nullptr ? "start `troupe node` there, of the same version; if it runs "
                                   "with --tls-cert, so must the leader"
                                 : "start `troupe node` there, of the same version, with "
                                   "--tls-cert, --tls-key and --tls-ca from the same set as here");
    }
    if (std::chrono::steady_clock::now() > end || (interrupted != nullptr && *interrupted)) {
      throw run_error(fmt::format("it has not answered for {}", format_duration(timeout)),
                      "check the address, and whether `troupe node` runs there");
    }
    constexpr int patience_ms = 50;
    pollfd ready{.fd = introduction->socket(),
                 .events = static_cast<short>(
                     outcome == Introduction::Outcome::wants_write ? POLLOUT : POLLIN),
                 .revents = 0};
    poll(&ready, 1, patience_ms);
  }
}

}  // namespace troupe
