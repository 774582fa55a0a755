#include "core/base/unit_spelling.hpp"

#include <array>

#include <boost/test/unit_test.hpp>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(unit_spelling)
namespace {

constexpr std::array<std::string_view, 12> known = {
    "FLOP/s", "TFLOP/s", "B/s", "kB/s", "GB/s", "GiB/s", "MB", "MiB", "us", "ms", "s", "min"};

struct Case {
  std::string_view written;
  std::string_view meant;
};

}  // namespace

BOOST_AUTO_TEST_CASE(other_spellings_of_a_unit_are_known) {
  constexpr std::array cases = {
      Case{"TFLOPS", "TFLOP/s"},
      Case{"TFlops/s", "TFLOP/s"},
      Case{"tflop/s", "TFLOP/s"},
      Case{"TFLOP", "TFLOP/s"},
      Case{"FLOP/second", "FLOP/s"},
      Case{"GBps", "GB/s"},
      Case{"GB/sec", "GB/s"},
      Case{"GBytes/s", "GB/s"},
      Case{"GB", "GB/s"},
      Case{"MIB", "MiB"},
      Case{"mB", "MB"},
      Case{"Mbytes", "MB"},
      Case{"usec", "us"},
      Case{"msecs", "ms"},
      Case{"mSec", "ms"},
      Case{"Min", "min"},
      Case{"seconds", "s"},
      Case{"minutes", "min"},
  };
  for (const Case& c : cases) {
    BOOST_TEST_CONTEXT(c.written) BOOST_TEST(same_unit(c.written, known) == c.meant);
  }
}

// Each is near to a unit by its letters, and off by a factor.
BOOST_AUTO_TEST_CASE(a_unit_of_another_size_is_no_spelling_of_a_known_one) {
  for (const char* written :
       {"EB/s", "TB/s", "EFLOP/s", "TiB", "m", "h", "gig", "ks", "Ms", "MS", "Msec", "", "x"}) {
    BOOST_TEST_CONTEXT(written) BOOST_TEST(same_unit(written, known) == "");
  }
}

BOOST_AUTO_TEST_CASE(units_of_bits_have_one_of_bytes) {
  constexpr std::array cases = {
      Case{"Gb/s", "GB/s"},      Case{"Gbps", "GB/s"},    Case{"Gbit/s", "GB/s"},
      Case{"gb/s", "GB/s"},      Case{"Mbits/s", "MB/s"}, Case{"Kbit/sec", "kB/s"},
      Case{"b/s", "B/s"},        Case{"Gib/s", "GiB/s"},  Case{"kib", "KiB"},
      Case{"Tbit", "TB"},        Case{"b", "B"},          Case{"bits", "B"},
      Case{"Gb/second", "GB/s"},
  };
  for (const Case& c : cases) {
    BOOST_TEST_CONTEXT(c.written) BOOST_TEST(bytes_for_bits(c.written) == c.meant);
  }
}

BOOST_AUTO_TEST_CASE(units_of_bytes_are_no_units_of_bits) {
  for (const char* written : {"GB/s", "GBps", "KiB", "B", "xb", "Gxb", "", "s", "orb"}) {
    BOOST_TEST_CONTEXT(written) BOOST_TEST(bytes_for_bits(written) == "");
  }
}

BOOST_AUTO_TEST_SUITE_END()
