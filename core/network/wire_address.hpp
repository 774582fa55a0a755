// The text by which other nodes find a Wire.
#pragma once

#include <string>
#include <string_view>

namespace troupe {

struct WireAddress {
  std::string transport;  // "tcp"
  // Where the Wire is, in the words of the transport: printable, without spaces.
  std::string place;
};

// One line of printable characters: the format's version, the transport, a random number, the
// place, and a checksum. The random number makes the texts of two Wires differ that were at the
// same place one after the other.
std::string new_address_text(const WireAddress& address);

// Throws a run Error if `text` is damaged, of another version, or of a transport other than
// `transport`.
WireAddress parse_address_text(std::string_view text, std::string_view transport);

// Bytes as hexadecimal digits, for a place.
std::string to_hex(std::string_view bytes);
// Throws a run Error if `digits` aren't pairs of hexadecimal digits.
std::string from_hex(std::string_view digits);

}  // namespace troupe
