#include "core/machine/host_memory.hpp"

#include "core/base/error.hpp"
#include "tests/support/address_space.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

#include <boost/test/unit_test.hpp>
#include <sys/resource.h>

namespace troupe {
BOOST_AUTO_TEST_SUITE(host_memory_of_a_process)
namespace {

constexpr std::uint64_t kib = 1024;
constexpr std::uint64_t mib = 1024 * kib;

// A made-up / with 16 MiB of memory, 12 of them available.
class FakeRoot {
 public:
  FakeRoot() {
    std::string name = (std::filesystem::temp_directory_path() / "troupe-root-XXXXXX").string();
    BOOST_REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
    write("proc/meminfo", "MemTotal:       16384 kB\nMemFree: 1 kB\nMemAvailable:   12288 kB\n");
  }
  ~FakeRoot() { std::filesystem::remove_all(path_); }
  FakeRoot(const FakeRoot&) = delete;
  FakeRoot& operator=(const FakeRoot&) = delete;

  void write(std::string_view file, std::string_view text) {
    std::filesystem::create_directories((path_ / file).parent_path());
    std::ofstream(path_ / file) << text;
  }
  HostMemory memory() const { return host_memory(path_); }

 private:
  std::filesystem::path path_;
};

BOOST_FIXTURE_TEST_CASE(without_a_cgroup_it_is_the_hosts, FakeRoot) {
  BOOST_TEST(memory().total_bytes == 16 * mib);
  BOOST_TEST(memory().available_bytes == 12 * mib);
}

BOOST_FIXTURE_TEST_CASE(a_cgroup_of_version_2_limits_it, FakeRoot) {
  write("proc/self/cgroup", "0::/jobs/one\n");
  write("sys/fs/cgroup/jobs/one/memory.max", "8388608\n");
  write("sys/fs/cgroup/jobs/one/memory.current", "5242880\n");
  write("sys/fs/cgroup/jobs/one/memory.stat", "anon 1\ninactive_file 1048576\n");
  BOOST_TEST(memory().total_bytes == 8 * mib);
  BOOST_TEST(memory().available_bytes == 4 * mib);  // 8 less 5 in use, of which 1 would go
}

BOOST_FIXTURE_TEST_CASE(the_limit_of_an_ancestor_holds_too, FakeRoot) {
  write("proc/self/cgroup", "0::/jobs/one\n");
  write("sys/fs/cgroup/jobs/one/memory.max", "max\n");
  write("sys/fs/cgroup/jobs/memory.max", "4194304\n");
  write("sys/fs/cgroup/jobs/memory.current", "1048576\n");
  BOOST_TEST(memory().total_bytes == 4 * mib);
  BOOST_TEST(memory().available_bytes == 3 * mib);
}

BOOST_FIXTURE_TEST_CASE(a_cgroup_of_version_1_limits_it, FakeRoot) {
  write("proc/self/cgroup", "5:cpu,cpuacct:/x\n4:hugetlb,memory:/docker/abc\n0::/\n");
  // In a container the group's path is the host's; the mount shows the group itself.
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "2097152\n");
  write("sys/fs/cgroup/memory/memory.usage_in_bytes", "524288\n");
  BOOST_TEST(memory().total_bytes == 2 * mib);
  BOOST_TEST(memory().available_bytes == 3 * mib / 2);
}

BOOST_FIXTURE_TEST_CASE(a_cgroup_over_its_limit_has_nothing_available, FakeRoot) {
  write("proc/self/cgroup", "0::/\n");
  write("sys/fs/cgroup/memory.max", "1048576\n");
  write("sys/fs/cgroup/memory.current", "2097152\n");
  BOOST_TEST(memory().available_bytes == 0U);
}

BOOST_AUTO_TEST_CASE(a_limit_of_addresses_limits_it,
                     *boost::unit_test::precondition(testing::can_limit_addresses)) {
  const HostMemory before = host_memory();
  const testing::AddressSpaceLimit limit(100 * mib);
  const HostMemory limited = host_memory();
  BOOST_TEST(limited.available_bytes <= 100 * mib);
  BOOST_TEST(limited.available_bytes >= 50 * mib);
  BOOST_TEST(limited.total_bytes == std::min(before.total_bytes, limit.bytes()));
}

BOOST_AUTO_TEST_CASE(without_proc_it_is_a_run_error) {
  BOOST_CHECK_EXCEPTION(host_memory("/nowhere"), Error,
                        [](const Error& e) { return e.kind() == ErrorKind::failed; });
}

BOOST_AUTO_TEST_CASE(a_lack_of_descriptors_is_named_as_such) {
  rlimit before{};
  BOOST_REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
  BOOST_REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
  std::string said;
  try {
    host_memory();
  } catch (const Error& error) {
    said = error.what();
  }
  setrlimit(RLIMIT_NOFILE, &before);
  BOOST_TEST(said.find("(ulimit -n)") != std::string::npos, said);
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
