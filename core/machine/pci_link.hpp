// How fast a PCI Express device is linked with its host.
#pragma once

#include <filesystem>

namespace troupe {

// Bytes per second each way, without those that the protocol takes, of a device that the kernel
// describes in this folder, such as /sys/bus/pci/devices/0000:01:00.0: from the speed that the
// device can have and the lanes that it has now (it may slow down while it is idle). 0 if the
// kernel doesn't say, as in some virtual machines.
//
// The encoding of a lane's bits is that of the PCI Express Base Specification: 8 of 10 up to
// 5 GT/s, 128 of 130 from 8 GT/s on. Of the rest 87 % are left to packets of 256 bytes with their
// headers and acknowledgements: copies of an H200 have 55 GB/s of 63.
double pci_link_bandwidth(const std::filesystem::path& folder);

}  // namespace troupe
