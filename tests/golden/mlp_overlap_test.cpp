// A training step of the chapter's figure on its machine, simulated: what overlaps.
#include "examples/mlp/network.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

using namespace troupe;

namespace {

// The spans of a track, in the order of the calls.
std::vector<Span> spans_of(const ScenarioReport& report, const std::string& track) {
  std::vector<Span> spans;
  for (const Span& span : report.timeline.spans) {
    if (report.timeline.tracks[span.track].name == track) spans.push_back(span);
  }
  std::sort(spans.begin(), spans.end(),
            [](const Span& a, const Span& b) { return a.index < b.index; });
  return spans;
}

const mlp::Devices devices{"cpu", {"gpu0", "gpu1"}};

struct Simulated {
  Session session{TROUPE_SOURCE_DIR "/config/machines/everything.yaml", {.mode = Mode::simulate}};
  const ScenarioReport& report = mlp::measure_step(session, devices);
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(mlp_overlap, Simulated)

//   gpu:  h, relu, o, o's gradient | w2's gradient | gradients of relu's output, h and w1
//   link:                                          | push w2         … push w1
//   cpu:                                             update w1, update w2: add and axpy each
BOOST_AUTO_TEST_CASE(layer_2_is_pushed_and_updated_during_the_backward_pass_of_layer_1) {
  const std::vector<Span> server = spans_of(report, "cpu");
  BOOST_REQUIRE(server.size() == 4U);
  const Span& update_begin = server[2];
  const Span& update_end = server[3];
  const std::array pushes = {"pcie0 vram0→host", "pcie1 vram1→host"};
  for (std::size_t k = 0; k < 2; ++k) {
    const std::vector<Span> worker = spans_of(report, devices.workers[k]);
    BOOST_REQUIRE(worker.size() == 8U);
    const Span& w2_gradient = worker[4];
    const Span& backward_begin = worker[5];
    const Span& backward_end = worker[7];
    const std::vector<Span> pushed = spans_of(report, pushes[k]);
    BOOST_REQUIRE(pushed.size() == 2U);
    BOOST_TEST((pushed[1].start >= w2_gradient.end));
    BOOST_TEST((pushed[1].start < backward_end.end));
    BOOST_TEST((update_begin.start < backward_end.end));
    BOOST_TEST((update_end.end > backward_begin.start));
  }
}

BOOST_AUTO_TEST_CASE(a_step_takes_little_longer_than_its_lower_bound) {
  BOOST_TEST(report.overlap_efficiency() >= 0.95);
}

BOOST_AUTO_TEST_SUITE_END()
