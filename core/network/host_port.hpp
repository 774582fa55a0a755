// Addresses that users write, such as 10.0.0.2:7420.
#pragma once

#include "core/base/time.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

struct HostPort {
  std::string host;
  std::uint16_t port = 0;
};

// Reads "host:port" or "[::1]:port". Throws a usage Error if the text isn't that.
HostPort read_host_port(std::string_view text);

// The addresses of a list with commas, without blanks; what is missing between two commas is empty.
std::vector<std::string> split_addresses(std::string_view list);

// A non-blocking socket that is connected to this address. Throws a run Error unless the host is
// found, and something takes connections there, within `timeout`. Blocks.
int connect_to(const HostPort& address, Duration timeout);

// A non-blocking socket that is being connected to this address, whose host is given in numbers.
// Throws a run Error if that can't begin.
int begin_connecting(const HostPort& address);

// Whether only this host can reach the address. Throws a usage Error if there is no such host.
bool is_loopback(const std::string& host);

// The IPv4 address of a network interface of this host: "10.0.0.2". Throws a usage Error if `host`
// has none, or stands for all interfaces.
std::string interface_address(const std::string& host);

}  // namespace troupe
