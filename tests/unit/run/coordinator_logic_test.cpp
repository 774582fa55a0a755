#include "core/run/coordinator_logic.hpp"

#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
namespace {

using Names = std::vector<std::string>;
using Sizes = std::vector<CoordinatorLogic::WindowSize>;

constexpr ResourceId r0{0};
constexpr ResourceId r1{1};

struct NameOf {
  std::string operator()(const CoordinatorLogic::SendWindow& c) const {
    return "send " + std::to_string(c.window);
  }
  std::string operator()(CoordinatorLogic::StopAll) const { return "stop"; }
  std::string operator()(CoordinatorLogic::CollectAll) const { return "collect"; }
  std::string operator()(CoordinatorLogic::Finish) const { return "finish"; }
};

// A coordinator of two resources, checked after every event; each says what commands it gave.
class Coordinator {
 public:
  explicit Coordinator(Sizes windows) : logic_(2, std::move(windows)) {}

  Names begin(int at = 0) {
    return after([&] { logic_.on_begin(Instant{Duration{at}}); });
  }
  Names progress(ResourceId r, std::uint32_t window, std::uint64_t done, int at = 0) {
    return after([&] { logic_.on_progress(r, window, done, Instant{Duration{at}}); });
  }
  Names fail(const std::string& cause) {
    return after([&] { logic_.on_failure(cause); });
  }
  Names interrupt() {
    return after([&] { logic_.on_interrupt(); });
  }
  Names records(ResourceId r) {
    return after([&] { logic_.on_records(r); });
  }
  Names statuses(const CoordinatorLogic::Status& a, const CoordinatorLogic::Status& b) {
    return statuses(std::vector{a, b});
  }
  Names statuses(const std::vector<CoordinatorLogic::Status>& all) {
    return after([&] {
      logic_.on_all_statuses(all, [](const CoordinatorLogic::Status& s) {
        return "unit " + std::to_string(s.pending.value) + " waits for " +
               std::to_string(s.missing);
      });
    });
  }
  const CoordinatorLogic& logic() const { return logic_; }

 private:
  template <class Event>
  Names after(const Event& event) {
    event();
    logic_.check_invariants();
    Names names;
    for (const auto& c : std::exchange(logic_.commands(), {})) {
      names.push_back(std::visit(NameOf{}, c));
    }
    return names;
  }

  CoordinatorLogic logic_;
};

CoordinatorLogic::Status status(ResourceId r, std::uint32_t in_flight, std::uint32_t window,
                                std::uint64_t done) {
  return {.resource = r, .in_flight = in_flight, .window = window, .done = done};
}

BOOST_AUTO_TEST_SUITE(coordinator_logic)

BOOST_AUTO_TEST_CASE(windows_go_out_one_after_the_other_then_records_come_in) {
  Coordinator c(Sizes{{.items = 3}, {.items = 1}});
  BOOST_TEST(c.begin() == Names{"send 0"});
  BOOST_TEST(c.progress(r0, 0, 1) == Names{});
  BOOST_TEST(c.progress(r1, 0, 1) == Names{});
  BOOST_TEST(c.logic().items_done() == 2U);
  BOOST_TEST(c.progress(r0, 0, 2) == Names{"send 1"});
  BOOST_TEST(c.progress(r1, 1, 1) == Names{"collect"});
  BOOST_TEST(c.records(r1) == Names{});
  BOOST_TEST(c.records(r0) == Names{"finish"});
  BOOST_TEST((c.logic().outcome() == Ending::done));
  BOOST_TEST(c.logic().items_done() == 4U);
}

BOOST_AUTO_TEST_CASE(the_clock_starts_with_the_first_timed_window_that_has_work) {
  Coordinator c(Sizes{{.items = 1, .timed = false}, {.items = 0}, {.items = 1}, {.items = 1}});
  BOOST_TEST(c.begin(5) == Names{"send 0"});
  BOOST_TEST(!c.logic().origin());
  BOOST_TEST(c.progress(r0, 0, 1, 7) == Names{"send 2"});
  BOOST_TEST((c.logic().origin() == Instant{Duration{7}}));
  c.progress(r0, 2, 1, 9);
  BOOST_TEST((c.logic().origin() == Instant{Duration{7}}));
}

BOOST_AUTO_TEST_CASE(empty_windows_are_passed_over) {
  Coordinator c(Sizes{{.items = 0}, {.items = 1}, {.items = 0}});
  BOOST_TEST(c.begin() == Names{"send 1"});
  BOOST_TEST(c.progress(r0, 1, 1) == Names{"collect"});
}

BOOST_AUTO_TEST_CASE(a_run_of_nothing_ends_at_once) {
  for (const std::size_t windows : {0U, 1U, 3U}) {
    Coordinator c{Sizes(windows)};
    BOOST_TEST(c.begin(4) == Names{"collect"});
    BOOST_TEST((c.logic().origin() == Instant{Duration{4}}));
    c.records(r0);
    BOOST_TEST(c.records(r1) == Names{"finish"});
    BOOST_TEST((c.logic().outcome() == Ending::done));
  }
}

BOOST_AUTO_TEST_CASE(progress_of_windows_gone_by_is_ignored) {
  Coordinator c(Sizes{{.items = 1}, {.items = 2}});
  c.begin();
  c.progress(r0, 0, 1);
  BOOST_TEST(c.progress(r0, 0, 1) == Names{});
  BOOST_TEST(c.progress(r1, 0, 7) == Names{});
  BOOST_TEST(c.logic().items_done() == 1U);
}

BOOST_AUTO_TEST_CASE(the_first_failure_ends_the_run) {
  Coordinator c(Sizes{{.items = 2}});
  c.begin();
  c.progress(r1, 0, 1);
  BOOST_TEST(c.fail("on gpu0: it broke") == (Names{"stop", "collect"}));
  BOOST_TEST(c.fail("on gpu1: broke too") == Names{});
  BOOST_TEST(c.interrupt() == Names{});
  BOOST_TEST(c.progress(r0, 0, 1) == Names{});
  c.records(r0);
  BOOST_TEST(c.records(r0) == Names{});
  BOOST_TEST(c.records(r1) == Names{"finish"});
  BOOST_TEST((c.logic().outcome() == Ending::failed));
  BOOST_TEST(c.logic().cause() == "on gpu0: it broke");
}

// A resource whose thread can't be set up is gone before anything was sent out.
BOOST_AUTO_TEST_CASE(a_failure_before_the_beginning_ends_the_run) {
  Coordinator c(Sizes{{.items = 2}});
  BOOST_TEST(c.fail("no thread for cpu0") == (Names{"stop", "collect"}));
  BOOST_TEST(c.records(r0) == Names{});
  BOOST_TEST(c.begin() == Names{});
  BOOST_TEST(c.records(r1) == Names{"finish"});
  BOOST_TEST((c.logic().outcome() == Ending::failed));
}

BOOST_AUTO_TEST_CASE(an_interrupt_before_the_beginning_ends_the_run) {
  Coordinator c(Sizes{{.items = 2}});
  BOOST_TEST(c.interrupt() == (Names{"stop", "collect"}));
  BOOST_TEST(c.begin() == Names{});
  c.records(r0);
  BOOST_TEST(c.records(r1) == Names{"finish"});
  BOOST_TEST((c.logic().outcome() == Ending::interrupted));
  BOOST_TEST(!c.logic().origin());
}

BOOST_AUTO_TEST_CASE(an_interrupt_while_running_ends_the_run_and_later_ones_do_not) {
  Coordinator c(Sizes{{.items = 2}});
  c.begin(3);
  BOOST_TEST(c.interrupt() == (Names{"stop", "collect"}));
  BOOST_TEST(c.interrupt() == Names{});
  c.records(r1);
  BOOST_TEST(c.records(r0) == Names{"finish"});
  BOOST_TEST(c.interrupt() == Names{});
  BOOST_TEST((c.logic().outcome() == Ending::interrupted));
  BOOST_TEST((c.logic().origin() == Instant{Duration{3}}));
}

BOOST_AUTO_TEST_CASE(an_interrupt_while_records_come_in_changes_nothing) {
  Coordinator c(Sizes{{.items = 1}});
  c.begin();
  c.progress(r0, 0, 1);
  BOOST_TEST(c.interrupt() == Names{});
  c.records(r0);
  BOOST_TEST(c.records(r1) == Names{"finish"});
  BOOST_TEST((c.logic().outcome() == Ending::done));
}

BOOST_AUTO_TEST_CASE(two_quiet_rounds_that_are_alike_mean_that_the_run_is_stuck) {
  Coordinator c(Sizes{{.items = 5}});
  c.begin();
  BOOST_TEST(c.statuses(status(r0, 0, 0, 2), status(r1, 0, 0, 1)) == Names{});
  BOOST_TEST(c.statuses(status(r0, 0, 0, 2), status(r1, 0, 0, 1)) == (Names{"stop", "collect"}));
  BOOST_TEST((c.logic().outcome() == Ending::failed));
  BOOST_TEST(c.logic().cause() == "nothing is in flight and 2 ops and transfers are pending");
}

BOOST_AUTO_TEST_CASE(the_verdict_names_up_to_three_pending_units_and_what_they_wait_for) {
  Coordinator c(Sizes{{.items = 9}, {.items = 9}});
  c.begin();
  c.progress(r0, 0, 9);
  std::vector<CoordinatorLogic::Status> all;
  for (std::uint32_t i = 0; i < 5; ++i) {
    // The second is still in the window before, and has nothing to say about this one.
    all.push_back({.resource = ResourceId{i},
                   .window = i == 1 ? 0U : 1U,
                   .done = 1,
                   .pending = UnitId{10 + i},
                   .missing = i});
  }
  for (int round = 0; round < 2; ++round) c.statuses(all);
  BOOST_TEST(c.logic().cause() ==
             "nothing is in flight and 5 ops and transfers are pending: unit 10 waits for 0; unit "
             "12 waits for 2; unit 13 waits for 3");
}

BOOST_AUTO_TEST_CASE(a_run_that_moves_between_rounds_is_not_stuck) {
  Coordinator c(Sizes{{.items = 5}});
  c.begin();
  const auto quiet = [&](std::uint64_t done) {
    return c.statuses(status(r0, 0, 0, done), status(r1, 0, 0, 0));
  };
  quiet(1);
  BOOST_TEST(quiet(2) == Names{});
  BOOST_TEST(c.statuses(status(r0, 1, 0, 2), status(r1, 0, 0, 0)) == Names{});
  BOOST_TEST(quiet(2) == Names{});
  BOOST_TEST(quiet(2) == (Names{"stop", "collect"}));
}

// r0 worked in window 0 only, and still says so in window 1.
BOOST_AUTO_TEST_CASE(what_was_done_in_earlier_windows_does_not_hide_a_stuck_run) {
  Coordinator c(Sizes{{.items = 7}, {.items = 3}});
  c.begin();
  c.progress(r0, 0, 7);
  for (int round = 0; round < 2; ++round) c.statuses(status(r0, 0, 0, 7), status(r1, 0, 1, 1));
  BOOST_TEST((c.logic().outcome() == Ending::failed));
  BOOST_TEST(c.logic().cause() == "nothing is in flight and 2 ops and transfers are pending");
}

BOOST_AUTO_TEST_CASE(a_new_window_forgets_that_the_last_one_was_quiet) {
  Coordinator c(Sizes{{.items = 2}, {.items = 2}});
  c.begin();
  c.statuses(status(r0, 0, 0, 1), status(r1, 0, 0, 0));
  c.progress(r0, 0, 2);
  BOOST_TEST(c.statuses(status(r0, 0, 1, 1), status(r1, 0, 0, 0)) == Names{});
}

BOOST_AUTO_TEST_CASE(statuses_after_the_end_are_ignored) {
  Coordinator c(Sizes{{.items = 1}});
  c.begin();
  c.progress(r0, 0, 1);
  for (int round = 0; round < 3; ++round) {
    BOOST_TEST(c.statuses(status(r0, 0, 0, 0), status(r1, 0, 0, 0)) == Names{});
  }
  BOOST_TEST((c.logic().outcome() == Ending::done));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
