#include "core/base/prefault.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <span>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <sys/mman.h>
#include <unistd.h>

namespace troupe {
BOOST_AUTO_TEST_SUITE(prefault)
namespace {

using Clock = std::chrono::steady_clock;

// Fresh memory: the system has not populated any page of it.
class Fresh {
 public:
  explicit Fresh(std::size_t bytes)
      : bytes_(bytes),
        memory_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    BOOST_REQUIRE(memory_ != MAP_FAILED);
    madvise(memory_, bytes, MADV_NOHUGEPAGE);  // a huge page would populate its neighbours
  }
  ~Fresh() { munmap(memory_, bytes_); }
  Fresh(const Fresh&) = delete;
  Fresh& operator=(const Fresh&) = delete;

  std::span<std::byte> bytes() const { return {static_cast<std::byte*>(memory_), bytes_}; }
  std::size_t resident_pages() const {
    std::vector<unsigned char> pages(bytes_ / page());
    BOOST_REQUIRE(mincore(memory_, bytes_, pages.data()) == 0);
    return static_cast<std::size_t>(
        std::count_if(pages.begin(), pages.end(), [](unsigned char p) { return (p & 1) != 0; }));
  }
  static std::size_t page() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

 private:
  std::size_t bytes_;
  void* memory_;
};

// Whether `f` returns true within a minute.
template <class F>
bool comes_true(const F& f) {
  const auto end = Clock::now() + std::chrono::minutes(1);
  while (!f()) {
    if (Clock::now() > end) return false;
    usleep(1000);
  }
  return true;
}

constexpr std::size_t mib = std::size_t{1} << 20;

BOOST_AUTO_TEST_CASE(whole_pages_of_big_arrays_are_there_without_being_touched) {
  const Fresh a(16 * mib);
  const Fresh b(5 * mib);
  const std::size_t page = Fresh::page();
  const bool is_known = populate(a.bytes().first(page));
  {
    // The first and the last page lie only partly in the second array.
    const Prefault prefault({a.bytes(), b.bytes().subspan(1, b.bytes().size() - 2)});
    if (is_known) {
      BOOST_TEST(comes_true([&] { return a.resident_pages() == 16 * mib / page; }));
      BOOST_TEST(comes_true([&] { return b.resident_pages() == 5 * mib / page - 2; }));
    }
  }
  const std::span<const std::byte> all = b.bytes();
  BOOST_TEST(std::all_of(all.begin(), all.end(), [](std::byte v) { return v == std::byte{0}; }));
}

BOOST_AUTO_TEST_CASE(what_is_written_meanwhile_stays) {
  const Fresh fresh(32 * mib);
  const std::span<std::byte> bytes = fresh.bytes();
  {
    const Prefault prefault({bytes});
    for (std::size_t i = 0; i < bytes.size(); i += 512) bytes[i] = static_cast<std::byte>(i >> 9);
  }
  bool same = true;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    same = same && bytes[i] == (i % 512 == 0 ? static_cast<std::byte>(i >> 9) : std::byte{0});
  }
  BOOST_TEST(same);
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
