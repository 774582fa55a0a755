#include "core/machine/pci_link.hpp"

#include <fstream>

namespace troupe {
namespace {

// The first number in the file; 0 if there is none.
double first_number(const std::filesystem::path& path) {
  std::ifstream file(path);
  double number = 0;
  return file >> number ? number : 0;
}

}  // namespace

double pci_link_bandwidth(const std::filesystem::path& folder) {
  const double transfers = first_number(folder / "max_link_speed") * 1e9;  // "32.0 GT/s PCIe"
  const double lanes = first_number(folder / "current_link_width");
  constexpr double slowest_with_long_blocks = 8e9;
  constexpr double lanes_max = 32;
  if (transfers <= 0 || lanes <= 0 || lanes > lanes_max) return 0;  // 255: not known
  const double encoded = transfers < slowest_with_long_blocks ? 8.0 / 10 : 128.0 / 130;
  constexpr double packets = 0.87;
  return transfers * lanes / 8 * encoded * packets;
}

}  // namespace troupe
