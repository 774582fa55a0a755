#include "core/backend/link_use.hpp"

#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(link_use)
namespace {

const std::string directly = "peer copied directly between the memories of the GPUs.";
const std::string via_host =
    "peer copied by way of the host's memory: the GPUs have no access to each other's.";

// vram0 ── peer ── vram1
struct TwoGpus {
  Machine machine{.name = "two", .devices = {}, .memories = {}, .links = {}};
  std::vector<LinkUse> uses = std::vector<LinkUse>(1);

  TwoGpus() {
    machine.memories = {{.name = "vram0"}, {.name = "vram1"}};
    machine.links = {{.name = "peer", .a = MemoryId{0}, .b = MemoryId{1}}};
  }
  void expect(const std::vector<std::string>& notes) const {
    BOOST_TEST(link_notes(machine, uses) == notes, boost::test_tools::per_element());
  }
};

BOOST_FIXTURE_TEST_CASE(a_link_that_has_not_copied_has_no_note, TwoGpus) {
  uses[0].add({});
  expect({});
}

BOOST_FIXTURE_TEST_CASE(a_link_that_has_copied_both_ways_in_other_processes_says_both, TwoGpus) {
  uses[0].add({.copied_directly = true});
  expect({directly});
  uses[0].add({.copied_via_host = true});
  expect({directly, via_host});
  uses[0].add({});
  expect({directly, via_host});
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
