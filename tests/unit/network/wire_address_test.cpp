#include "core/network/wire_address.hpp"

#include "tests/support/expect_error.hpp"

#include <string>

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(wire_address)
namespace {

using namespace troupe;
using troupe::testing::expect_error;

void expect_refusal(const std::string& text, const std::string& message) {
  expect_error(ErrorKind::failed, message, [&] { parse_address_text(text, "tcp"); });
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_address_keeps_transport_and_place) {
  const std::string text = new_address_text({.transport = "tcp", .place = "127.0.0.1:40000"});
  const WireAddress address = parse_address_text(text, "tcp");
  BOOST_TEST(address.transport == "tcp");
  BOOST_TEST(address.place == "127.0.0.1:40000");
}

BOOST_AUTO_TEST_CASE(two_addresses_of_one_place_differ) {
  const WireAddress address{.transport = "tcp", .place = "127.0.0.1:40000"};
  BOOST_TEST(new_address_text(address) != new_address_text(address));
}

BOOST_AUTO_TEST_CASE(what_is_no_address_is_refused) {
  for (const std::string text : {"", " ", "127.0.0.1:40000", "a b c d e", "a b c d e f"}) {
    expect_refusal(text, "is not the address of a node");
  }
}

BOOST_AUTO_TEST_CASE(a_damaged_address_is_refused) {
  const std::string good = new_address_text({.transport = "tcp", .place = "127.0.0.1:40000"});
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = bad[i] == '7' ? '8' : '7';
    BOOST_CHECK_THROW(parse_address_text(bad, "tcp"), Error);
    BOOST_CHECK_THROW(parse_address_text(good.substr(0, i), "tcp"), Error);
  }
}

BOOST_AUTO_TEST_CASE(an_address_of_another_version_is_refused) {
  std::string text = new_address_text({.transport = "tcp", .place = "127.0.0.1:40000"});
  text.replace(0, text.find(' '), "troupe-wire-0");
  expect_refusal(text, "of the format troupe-wire-0");
}

BOOST_AUTO_TEST_CASE(an_address_of_another_transport_is_refused) {
  expect_refusal(new_address_text({.transport = "shared_memory", .place = "00"}),
                 "a node uses the transport shared_memory, this one uses tcp");
}

BOOST_AUTO_TEST_CASE(any_bytes_can_be_written_as_digits) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  BOOST_TEST(to_hex(bytes).size() == 512U);
  BOOST_TEST((from_hex(to_hex(bytes)) == bytes));
  for (const std::string digits : {"0", "0g", "-1", " 1"}) {
    BOOST_CHECK_THROW(from_hex(digits), Error);
  }
}

BOOST_AUTO_TEST_SUITE_END()
