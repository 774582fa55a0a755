#include "core/network/acceptor.hpp"

#include "core/base/error.hpp"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <iterator>
#include <list>
#include <thread>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

namespace troupe {
namespace {

using Clock = std::chrono::steady_clock;
using Outcome = Introduction::Outcome;

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return number_; }

 private:
  const int number_;
};

Error can_not_listen(const AcceptorOptions& options, int error) {
  const std::string what = fmt::format("can't listen on {}:{}: {}", options.address, options.port,
                                       system_message(error));
  if (error == EADDRNOTAVAIL) {
    return usage_error(what, "give an address of this host (`ip -4 address` lists them)");
  }
  if (error == EADDRINUSE) {
    return usage_error(what, "the port is in use: give another one, or 0 for any that is free");
  }
  return usage_error(what, "give another address or port");
}

void listen_on(int socket, const AcceptorOptions& options) {
  const int yes = 1;
  setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(options.port);
  inet_pton(AF_INET, options.address.c_str(), &address.sin_addr);
  if (socket < 0 ||
      bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(socket, SOMAXCONN) != 0) {
    throw can_not_listen(options, errno);
  }
}

std::uint16_t port_of(int socket) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

}  // namespace

class Acceptor::Impl {
 public:
  Impl(const AcceptorOptions& options, Accepted accepted, Refused refused)
      : options_(options),
        accepted_(std::move(accepted)),
        refused_(std::move(refused)),
        socket_(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)),
        end_(eventfd(0, EFD_CLOEXEC)) {
    if (end_.get() < 0) throw can_not_listen(options, errno);
    listen_on(socket_.get(), options);
    port_ = port_of(socket_.get());
    thread_ = std::thread([this] { run(); });
  }
  ~Impl() {
    eventfd_write(end_.get(), 1);
    thread_.join();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  std::uint16_t port() const { return port_; }

 private:
  struct Pending {
    Introduction introduction;
    Clock::time_point deadline;
    Outcome wants = Outcome::wants_read;
  };

  void run() {
    std::vector<pollfd> watched;
    while (true) {
      watched.assign({{.fd = end_.get(), .events = POLLIN, .revents = 0},
                      {.fd = rests_ ? -1 : socket_.get(), .events = POLLIN, .revents = 0}});
      for (const Pending& pending : pending_) {
        const short events = pending.wants == Outcome::wants_write ? POLLOUT : POLLIN;
        watched.push_back({.fd = pending.introduction.socket(), .events = events, .revents = 0});
      }
      poll(watched.data(), watched.size(), patience_ms());
      if (watched[0].revents != 0) return;
      go_on(watched);
      rests_ = false;
      if (watched[1].revents != 0) accept_all();
    }
  }

  // Until the oldest one must have introduced itself; -1: for ever.
  int patience_ms() const {
    constexpr int rest_ms = 50;
    if (rests_) return rest_ms;
    if (pending_.empty()) return -1;
    using std::chrono::milliseconds;
    const auto left =
        std::chrono::ceil<milliseconds>(pending_.front().deadline - Clock::now()).count();
    return static_cast<int>(std::max<std::int64_t>(left, 0));
  }

  // Those that are ready; `watched` has them from its third element on.
  void go_on(const std::vector<pollfd>& watched) {
    const Clock::time_point now = Clock::now();
    auto ready = watched.begin() + 2;
    for (auto pending = pending_.begin(); pending != pending_.end(); ++ready) {
      const auto current = pending++;
      if (ready->revents != 0) {
        step(current);
      } else if (current->deadline <= now) {
        pending_.erase(current);
      }
    }
  }

  void step(std::list<Pending>::iterator pending) {
    Introduction& introduction = pending->introduction;
    pending->wants = introduction.step();
    if (pending->wants == Outcome::done) {
      accepted_(introduction.purpose(), introduction.take_connection());
    } else if (pending->wants == Outcome::failed) {
      refused_(introduction.peer(), introduction.failure());
    } else if (pending->wants != Outcome::closed) {
      return;
    }
    pending_.erase(pending);
  }

  void accept_all() {
    // Others are served in between.
    for (std::size_t i = 0; i < options_.pending_max; ++i) {
      const int connected = accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (connected < 0) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) give_way();
        return;
      }
      if (pending_.size() >= options_.pending_max) pending_.pop_front();
      try {
        pending_.push_back({Introduction(Connection(connected, Connection::Side::server,
                                                    options_.tls ? &*options_.tls : nullptr)),
                            Clock::now() + options_.patience});
      } catch (const std::exception&) {  // there is no memory
        return give_way();
      }
      step(std::prev(pending_.end()));
    }
  }

  // There are too many sockets, or too little memory.
  void give_way() {
    if (!pending_.empty()) pending_.pop_front();
    rests_ = true;
  }

  const AcceptorOptions options_;
  const Accepted accepted_;
  const Refused refused_;
  const Descriptor socket_;
  const Descriptor end_;  // becomes readable
  std::uint16_t port_ = 0;
  std::list<Pending> pending_;  // oldest first
  bool rests_ = false;          // takes no connection for a moment
  std::thread thread_;
};

Acceptor::Acceptor(const AcceptorOptions& options, Accepted accepted, Refused refused)
    : impl_(std::make_unique<Impl>(options, std::move(accepted), std::move(refused))) {}
Acceptor::~Acceptor() = default;

std::uint16_t Acceptor::port() const {
  return impl_->port();
}

}  // namespace troupe
