// A ShareProgress for tests: records its calls to the sink, and checks invariants after every
// event.
#pragma once

#include "core/run/share_progress.hpp"
#include "tests/support/share_maker.hpp"
#include "tests/support/share_view.hpp"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe::testing {

struct ProgressFixture {
  static constexpr ResourceId self{0};
  static constexpr ResourceId other{1};

  ShareProgress progress{self};
  // Calls to the sink, in order.
  std::vector<std::uint32_t> ready;
  std::vector<std::uint32_t> ready_windows;  // of the items that are ready
  std::vector<std::uint32_t> chunks;
  std::vector<WindowItem> notices;

  struct Sink {
    ProgressFixture& test;
    void ready(ActiveShare& part, std::uint32_t item) {
      test.ready.push_back(item);
      test.ready_windows.push_back(part.share.window);
    }
    void chunk(ActiveShare&, std::uint32_t item) { test.chunks.push_back(item); }
    void notice(const WindowItem& to) { test.notices.push_back(to); }
  };

  static Share make_share(const std::vector<Item>& items, std::uint32_t window = 0,
                          bool timed = true, std::uint32_t first_unit = 0) {
    return testing::make_share(self, items, window, timed, first_unit);
  }
  void load(Share share) {
    progress.load(std::move(share), Sink{*this});
    progress.check_invariants();
  }
  void notify(std::uint32_t window, std::uint32_t item) {
    progress.notify(window, item, Sink{*this});
    progress.check_invariants();
  }
  // The share of the oldest window; there must be one.
  ActiveShare& part() {
    BOOST_TEST_REQUIRE(!progress.parts().empty());
    return *progress.parts().front();
  }
  std::uint32_t waits_for(std::uint32_t item) { return part().share.items[item].waits_for; }
  void complete(std::uint32_t item, bool skip_first = false) { complete(part(), item, skip_first); }
  void complete_in(std::uint32_t window, std::uint32_t item) {
    for (const auto& part : progress.parts()) {
      if (part->share.window == window) return complete(*part, item, false);
    }
    BOOST_FAIL("window " << window << " is not under way");
  }
  // Takes a complete share; there must be one.
  Share take() {
    std::optional<Share> share = progress.take_complete();
    progress.check_invariants();
    BOOST_TEST_REQUIRE(share.has_value());
    return std::move(*share);
  }

 private:
  void complete(ActiveShare& in, std::uint32_t item, bool skip_first) {
    in.share.items[item].end = Instant{};
    progress.complete(in, item, skip_first, Sink{*this});
    progress.check_invariants();
  }
};

}  // namespace troupe::testing
