// A limit of the address space, which makes thread creation fail even for root: each thread takes
// some megabytes of addresses for its stack.
#pragma once

#include <cstdint>
#include <fstream>

#include <boost/test/unit_test.hpp>
#include <sys/resource.h>
#include <unistd.h>

namespace troupe::testing {

// Limits this process to `more_bytes` of addresses more than it has now, until destroyed.
class AddressSpaceLimit {
 public:
  explicit AddressSpaceLimit(std::uint64_t more_bytes) {
    std::uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    BOOST_REQUIRE(pages > 0);
    BOOST_REQUIRE(getrlimit(RLIMIT_AS, &before_) == 0);
    rlimit limit = before_;
    limit.rlim_cur = pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) + more_bytes;
    BOOST_REQUIRE(setrlimit(RLIMIT_AS, &limit) == 0);
    bytes_ = limit.rlim_cur;
  }
  ~AddressSpaceLimit() { setrlimit(RLIMIT_AS, &before_); }
  AddressSpaceLimit(const AddressSpaceLimit&) = delete;
  AddressSpaceLimit& operator=(const AddressSpaceLimit&) = delete;

  std::uint64_t bytes() const { return bytes_; }  // that the process may have in all

 private:
  rlimit before_{};
  std::uint64_t bytes_ = 0;
};

// A precondition for Boost.Test.
inline boost::test_tools::assertion_result can_limit_addresses(boost::unit_test::test_unit_id) {
#if defined(TROUPE_SANITIZE_ADDRESS)
  boost::test_tools::assertion_result result(false);
#else
  boost::test_tools::assertion_result result(true);
#endif
  result.message() << "AddressSanitizer itself doesn't survive a limit on addresses";
  return result;
}

}  // namespace troupe::testing
