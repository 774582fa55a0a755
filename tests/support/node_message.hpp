// Values as the messages between nodes carry them.
#pragma once

#include <cstddef>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <caf/all.hpp>

namespace troupe::testing {

template <class T>
std::vector<char> written(T value) {
  std::vector<char> bytes;
  caf::binary_serializer sink(nullptr, bytes);
  BOOST_TEST_REQUIRE(!sink(value));
  return bytes;
}
template <class T>
bool read(const std::vector<char>& bytes, T& value) {
  caf::binary_deserializer source(nullptr, bytes);
  return !source(value) && source.remaining() == 0;
}
template <class T>
T received(const T& sent) {
  T value;
  BOOST_TEST_REQUIRE(read(written(sent), value));
  return value;
}

// A message with flat bytes: their number, in the byte order of networks, and the bytes. Returns
// one whose bytes end after `size`.
inline std::vector<char> cut(std::vector<char> message, std::size_t size) {
  message.resize(8 + size);
  for (std::size_t i = 0; i < 8; ++i) {
    message[i] = static_cast<char>(size >> (8 * (7 - i)));
  }
  return message;
}

}  // namespace troupe::testing
