// Hosts with a slow, lossy network between them: network namespaces, and a switch in this process.
// Does in user space what `tc netem` does, which many kernels lack, and needs TUN instead.
#pragma once

#include "tests/support/program.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe::testing {

// Of each direction of each host's cable to the switch.
struct CableQuality {
  double latency_s = 0;         // from the switch to the host
  double loss = 0;              // the share of frames that get lost, from 0 to 1
  double bytes_per_second = 0;  // from the host to the switch; 0: any
};

// Runs a command of the shell. Blocks. Its errors are in `out`, too.
Finished in_shell(const std::string& command);

// Preconditions for Boost.Test: of hosts in namespaces, and of a SlowNetwork.
boost::test_tools::assertion_result can_make_hosts(boost::unit_test::test_unit_id);
boost::test_tools::assertion_result can_make_slow_network(boost::unit_test::test_unit_id);

// Requires can_make_slow_network().
class SlowNetwork {
 public:
  // Makes `hosts` hosts. The seed decides which frames get lost.
  SlowNetwork(std::size_t hosts, const CableQuality& quality, std::uint64_t seed);
  ~SlowNetwork();
  SlowNetwork(const SlowNetwork&) = delete;
  SlowNetwork& operator=(const SlowNetwork&) = delete;

  // The words of a command that runs another one on this host; hosts count from 0.
  std::vector<std::string> on(std::size_t host) const;
  static std::string address(std::size_t host) { return "10.98.0." + std::to_string(host + 1); }
  // Both ends believe that the cable is there, but nothing arrives. Thread-safe.
  void cut_cable(std::size_t host);
  void mend_cable(std::size_t host);
  // Frames that were lost by chance so far. Thread-safe.
  std::uint64_t lost_frames() const;

 private:
  class Switch;
  std::vector<std::string> names_;
  std::unique_ptr<Switch> switch_;
};

}  // namespace troupe::testing
