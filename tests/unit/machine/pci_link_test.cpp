#include "core/machine/pci_link.hpp"

#include "tests/support/temporary_directory.hpp"

#include <string>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(pci_link)
namespace {

// As the kernel writes them.
double bandwidth_of(const std::string& speed, const std::string& width) {
  const testing::TemporaryDirectory folder;
  folder.write("max_link_speed", speed + '\n');
  folder.write("current_link_width", width + '\n');
  return pci_link_bandwidth(folder.path());
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_rate_is_what_packets_have_of_all_lanes) {
  const auto near = boost::test_tools::tolerance(0.001);
  BOOST_TEST(bandwidth_of("32.0 GT/s PCIe", "16") == 54.82e9, near);
  BOOST_TEST(bandwidth_of("16.0 GT/s PCIe", "16") == 27.41e9, near);
  BOOST_TEST(bandwidth_of("16.0 GT/s PCIe", "8") == 13.71e9, near);
  BOOST_TEST(bandwidth_of("5.0 GT/s PCIe", "4") == 1.74e9, near);
}

BOOST_AUTO_TEST_CASE(a_rate_that_the_kernel_does_not_know_is_zero) {
  BOOST_TEST(bandwidth_of("Unknown", "16") == 0);
  BOOST_TEST(bandwidth_of("32.0 GT/s PCIe", "0") == 0);
  BOOST_TEST(bandwidth_of("32.0 GT/s PCIe", "255") == 0);
  BOOST_TEST(bandwidth_of("", "") == 0);
  BOOST_TEST(pci_link_bandwidth("/nowhere") == 0);
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
