#include "core/network/host_port.hpp"

#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/base/units.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace troupe {
namespace {

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

using Clock = std::chrono::steady_clock;

struct Answer {
  int error = 0;  // of getaddrinfo()
  Addresses addresses{nullptr, &freeaddrinfo};
};

// `flags`: of getaddrinfo().
Answer ask_for(const HostPort& address, int flags) {
  addrinfo hints{};
  hints.ai_flags = flags;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(address.port);
  const int error = getaddrinfo(address.host.c_str(), port.c_str(), &hints, &found);
  return {.error = error, .addresses = Addresses(found, &freeaddrinfo)};
}

// Returns nothing if there is no answer within `timeout`. Nothing ends a question before its time,
// so a thread of its own waits, and is left behind. (getaddrinfo_a() has threads for that, but
// ThreadSanitizer doesn't know them, and crashes.) Addresses in numbers need none.
std::optional<Answer> ask_for(const HostPort& address, int flags, Duration timeout) {
  Answer in_numbers = ask_for(address, flags | AI_NUMERICHOST);
  if (in_numbers.error == 0) return in_numbers;
  std::packaged_task<Answer()> question([address, flags] { return ask_for(address, flags); });
  std::future<Answer> answer = question.get_future();
  try {
    std::thread(std::move(question)).detach();
  } catch (const std::system_error& error) {
    throw run_error(fmt::format("no thread to look '{}' up: {}", address.host, error.what()),
                    "raise the limit of threads (ulimit -u), or give its address in numbers");
  }
  if (answer.wait_for(timeout) != std::future_status::ready) return {};
  return answer.get();
}

// Throws an Error of this kind if there is no such host, or if that isn't known within `timeout`.
// `flags`: of getaddrinfo().
Addresses look_up(const HostPort& address, ErrorKind kind, int flags = 0,
                  std::optional<Duration> timeout = {}) {
  std::optional<Answer> answer =
      timeout ? ask_for(address, flags, *timeout) : ask_for(address, flags);
  if (!answer) {
    throw Error(kind, SourcePlace{},
                fmt::format("who has the name '{}' was not known within {}", address.host,
                            format_duration(*timeout)),
                "give its address in numbers, or see whether its name server answers");
  }
  if (answer->error == 0) return std::move(answer->addresses);
  if ((flags & AI_NUMERICHOST) != 0) {
    throw Error(kind, SourcePlace{}, fmt::format("'{}' is no address in numbers", address.host),
                "start all nodes with the same version of Troupe");
  }
  throw Error(kind, SourcePlace{},
              fmt::format("there is no host '{}': {}", address.host, gai_strerror(answer->error)),
              "check its name");
}

// Returns a socket, where `error` is 0 or EINPROGRESS, or -1.
int begin_connecting(const addrinfo& to, int& error) {
  const int fd = socket(to.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  error = fd >= 0 && connect(fd, to.ai_addr, to.ai_addrlen) == 0 ? 0 : errno;
  if (fd < 0 || error == 0 || error == EINPROGRESS) return fd;
  close(fd);
  return -1;
}

// Blocks until the socket has connected, or has failed to. False: not in this time. Signals don't
// end it.
bool wait_for_connection(int fd, Duration timeout) {
  const auto deadline = Clock::now() + timeout;
  pollfd ready{.fd = fd, .events = POLLOUT, .revents = 0};
  int count = 0;
  do {
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    count = poll(&ready, 1, static_cast<int>(std::max<std::int64_t>(ms, 0)));
  } while (count < 0 && errno == EINTR);
  return count > 0;
}

// Returns a socket, or -1 and sets `error`.
int try_to_connect(const addrinfo& to, Duration timeout, int& error) {
  const int fd = begin_connecting(to, error);
  if (fd < 0) return -1;
  if (error == EINPROGRESS) {
    socklen_t size = sizeof error;
    if (!wait_for_connection(fd, timeout)) {
      error = ETIMEDOUT;
    } else {
      getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
    }
  }
  if (error == 0) return fd;
  close(fd);
  return -1;
}

}  // namespace

HostPort read_host_port(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  HostPort address;
  std::string_view why;
  if (colon != std::string_view::npos && colon > 0) {
    std::string_view host = text.substr(0, colon);
    if (host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
    const std::string_view port = text.substr(colon + 1);
    const char* const end = port.data() + port.size();
    const auto [rest, status] = std::from_chars(port.data(), end, address.port);
    if (status == std::errc{} && rest == end && !port.empty()) {
      address.host = host;
      return address;
    }
    if (status == std::errc::result_out_of_range) why = ": its port is beyond 65535";
  }
  throw usage_error(fmt::format("'{}' is not the address of a node{}", text, why),
                    "write HOST:PORT, for example 10.0.0.2:7420");
}

std::vector<std::string> split_addresses(std::string_view list) {
  std::vector<std::string> addresses;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t comma = std::min(list.find(',', begin), list.size());
    addresses.emplace_back(trimmed(list.substr(begin, comma - begin)));
    begin = comma + 1;
  }
  return addresses;
}

int connect_to(const HostPort& address, Duration timeout) {
  const Clock::time_point deadline = Clock::now() + timeout;
  const Addresses found = look_up(address, ErrorKind::failed, 0, timeout);
  int rest = 0;  // addresses
  for (const addrinfo* to = found.get(); to != nullptr; to = to->ai_next) ++rest;
  int error = 0;
  bool has_ipv4 = false;
  for (const addrinfo* to = found.get(); to != nullptr; to = to->ai_next, --rest) {
    const int fd = try_to_connect(*to, (deadline - Clock::now()) / rest, error);
    if (fd >= 0) return fd;
    has_ipv4 = has_ipv4 || to->ai_family == AF_INET;
  }
  if (!has_ipv4) {
    throw run_error(
        fmt::format("it has no IPv4 address, and can't be reached: {}", system_message(error)),
        "give its IPv4 address: nodes listen on that");
  }
  throw run_error(error == ETIMEDOUT
                      ? fmt::format("it has not answered for {}", format_duration(timeout))
                      : fmt::format("it can't be reached: {}", system_message(error)),
                  "check the address, and whether `troupe node` runs there");
}

int begin_connecting(const HostPort& address) {
  const Addresses found = look_up(address, ErrorKind::failed, AI_NUMERICHOST);
  int error = 0;
  const int fd = begin_connecting(*found, error);
  if (fd < 0) throw run_error(system_message(error));
  return fd;
}

bool is_loopback(const std::string& host) {
  const Addresses found = look_up({.host = host, .port = 1}, ErrorKind::usage);
  for (const addrinfo* a = found.get(); a != nullptr; a = a->ai_next) {
    if (a->ai_family == AF_INET) {
      const auto* const in = reinterpret_cast<const sockaddr_in*>(a->ai_addr);
      if ((ntohl(in->sin_addr.s_addr) >> 24) != IN_LOOPBACKNET) return false;
    } else if (a->ai_family == AF_INET6) {
      const auto* const in = reinterpret_cast<const sockaddr_in6*>(a->ai_addr);
      if (!IN6_IS_ADDR_LOOPBACK(&in->sin6_addr)) return false;
    }
  }
  return true;
}

std::string interface_address(const std::string& host) {
  const Addresses found = look_up({.host = host, .port = 1}, ErrorKind::usage);
  for (const addrinfo* a = found.get(); a != nullptr; a = a->ai_next) {
    if (a->ai_family != AF_INET) continue;
    const in_addr address = reinterpret_cast<const sockaddr_in*>(a->ai_addr)->sin_addr;
    if (address.s_addr == htonl(INADDR_ANY)) break;
    char text[INET_ADDRSTRLEN];
    return inet_ntop(AF_INET, &address, text, sizeof text);
  }
  throw usage_error(
      fmt::format("'{}' is not the IPv4 address of a network interface of this host", host),
      "name the one that the other nodes reach: `ip -4 address` lists them");
}

}  // namespace troupe
