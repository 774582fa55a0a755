#include "core/network/network_device.hpp"

#include "core/base/error.hpp"
#include "core/base/text.hpp"

#include <cerrno>
#include <memory>
#include <string_view>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace troupe {
namespace {

using Interfaces = std::unique_ptr<ifaddrs, decltype(&freeifaddrs)>;

Interfaces interfaces() {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) {
    throw run_error("the network interfaces can't be listed: " + system_message(errno));
  }
  return {first, &freeifaddrs};
}

const sockaddr_in* ipv4_of(const ifaddrs& interface) {
  if (interface.ifa_addr == nullptr || interface.ifa_addr->sa_family != AF_INET) return nullptr;
  return reinterpret_cast<const sockaddr_in*>(interface.ifa_addr);
}

}  // namespace

std::string network_device_with(const std::string& address) {
  in_addr wanted{};
  if (inet_pton(AF_INET, address.c_str(), &wanted) != 1) {
    throw usage_error(fmt::format("\"{}\" is not an IPv4 address", shortened(address)),
                      "write the address of a network interface, such as 127.0.0.1");
  }
  const Interfaces list = interfaces();
  std::string known;
  for (const ifaddrs* i = list.get(); i != nullptr; i = i->ifa_next) {
    const sockaddr_in* const has = ipv4_of(*i);
    if (has == nullptr) continue;
    if (has->sin_addr.s_addr == wanted.s_addr) return i->ifa_name;
    char text[INET_ADDRSTRLEN] = {};
    inet_ntop(AF_INET, &has->sin_addr, text, sizeof text);
    known += (known.empty() ? "" : ", ") + std::string(text);
  }
  throw usage_error(fmt::format("no network interface of this host has the address {}", address),
                    fmt::format("use one of these: {}", known));
}

}  // namespace troupe
