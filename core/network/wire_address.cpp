#include "core/network/wire_address.hpp"

#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/network/random_number.hpp"

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>

#include <fmt/format.h>

namespace troupe {
namespace {

constexpr std::string_view format = "troupe-wire-2";

Error malformed(std::string_view text) {
  return run_error(fmt::format("\"{}\" is not the address of a node", shortened(text)),
                   "pass on, unchanged, the address that the node gives");
}

// FNV-1a, with 64 bits.
std::uint64_t checksum(std::string_view text) {
  std::uint64_t sum = 0xcbf29ce484222325U;
  for (const char c : text) {
    sum = (sum ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  }
  return sum;
}

// "troupe-wire-2 tcp 0123456789abcdef 127.0.0.1:40000 0123456789abcdef"
constexpr std::size_t fields = 5;

std::array<std::string_view, fields> split(std::string_view text) {
  std::array<std::string_view, fields> found;
  std::string_view rest = text;
  for (std::size_t i = 0; i < fields; ++i) {
    const std::size_t end = rest.find(' ');
    if ((end == std::string_view::npos) != (i == fields - 1)) throw malformed(text);
    found[i] = rest.substr(0, end);
    if (end != std::string_view::npos) rest.remove_prefix(end + 1);
  }
  return found;
}

}  // namespace

std::string new_address_text(const WireAddress& address) {
  std::string text =
      fmt::format("{} {} {:016x} {}", format, address.transport, random_number(), address.place);
  return text + fmt::format(" {:016x}", checksum(text));
}

WireAddress parse_address_text(std::string_view text, std::string_view transport) {
  const auto [version, name, number, place, sum] = split(text);
  if (version != format) {
    if (!version.starts_with("troupe-wire-")) throw malformed(text);
    throw run_error(fmt::format("the address of a node is of the format {}, not {}",
                                shortened(version), format),
                    "run the same version of Troupe on all nodes");
  }
  const std::string_view summed = text.substr(0, text.size() - sum.size() - 1);
  if (sum != fmt::format("{:016x}", checksum(summed))) throw malformed(text);
  if (name != transport) {
    throw run_error(
        fmt::format("a node uses the transport {}, this one uses {}", shortened(name), transport),
        "let all nodes use the same transport");
  }
  return {.transport = std::string(name), .place = std::string(place)};
}

std::string to_hex(std::string_view bytes) {
  std::string digits;
  digits.reserve(2 * bytes.size());
  for (const char c : bytes) digits += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return digits;
}

std::string from_hex(std::string_view digits) {
  if (digits.size() % 2 != 0) throw malformed(digits);
  std::string bytes;
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    unsigned char byte = 0;
    const char* const end = digits.data() + i + 2;
    const auto [stop, problem] = std::from_chars(digits.data() + i, end, byte, 16);
    if (problem != std::errc{} || stop != end) throw malformed(digits);
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

}  // namespace troupe
