// Random graphs on random machines, in runs that are cut at any moment and go on from their last
// checkpoint: what is wanted is made, and equals the serial execution bit for bit.
#include "core/result/checkpoint.hpp"
#include "core/result/run_digest.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/node_case.hpp"
#include "tests/support/seeds.hpp"
#include "tests/support/temporary_directory.hpp"

#include <cstdint>
#include <filesystem>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(checkpoints)
namespace {

using testing::NodeCase;
using testing::seeds;
using testing::TemporaryDirectory;
namespace fs = std::filesystem;

struct CheckpointCase : NodeCase {
  explicit CheckpointCase(std::uint64_t seed)
      : NodeCase(seed),
        whole(perform({.mode = Mode::simulate, .seed = seed}).scenarios[0].makespan) {
    fs::create_directory(checkpoints);
  }

  Duration part_of_whole() {
    return Duration{1} +
           Duration{static_cast<Duration::rep>(random.unit() * static_cast<double>(whole.count()))};
  }
  CheckpointFolder open_folder() const {
    return CheckpointFolder(checkpoints, run_digest(graph, std::vector{scenario}, {}));
  }
  // Writes some checkpoints, and loses a node at a random moment.
  Report cut_run() {
    CheckpointFolder checkpoints = open_folder();
    return perform({.mode = Mode::rehearse,
                    .verify = false,
                    .losses = {{NodeId::at(random.below(machine.nodes.size())), part_of_whole()}},
                    .checkpoints = &checkpoints,
                    .checkpoint_interval = whole / 4 + part_of_whole() / 4});
  }

  const TemporaryDirectory folder;
  const fs::path checkpoints = folder.path() / "checkpoints";
  Duration whole;
};

void check_done(const Report& report, const CheckpointCase& c) {
  const ScenarioReport& s = report.scenarios[0];
  BOOST_TEST((s.outcome == Outcome::done), s.error);
  BOOST_TEST((s.verified == true), s.mismatch);
  BOOST_TEST(fs::is_empty(c.checkpoints));
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_run_that_is_resumed_makes_what_is_left_with_the_same_results) {
  std::uint64_t resumed = 0;
  std::uint64_t shorter = 0;
  for (std::uint64_t seed = 1; seed <= seeds(60); ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      CheckpointCase c(seed);
      c.cut_run();
      if (fs::is_empty(c.checkpoints)) continue;
      CheckpointFolder checkpoints = c.open_folder();
      const Checkpoint checkpoint = checkpoints.load(c.graph);
      const Report report = c.perform({.mode = Mode::rehearse,
                                       .seed = seed,
                                       .on_loss = OnLoss::replan,
                                       .losses = c.random_losses(c.whole),
                                       .checkpoints = &checkpoints,
                                       .checkpoint_interval = c.part_of_whole() + c.whole / 4,
                                       .resumed = &checkpoint});
      check_done(report, c);
      ++resumed;
      if (!checkpoint.tensors.empty()) ++shorter;
    }
  }
  BOOST_TEST(resumed > 0U);
  BOOST_TEST(shorter > 0U);
}

BOOST_AUTO_TEST_CASE(a_run_with_checkpoints_has_the_same_results_and_leaves_none) {
  for (std::uint64_t seed = 1; seed <= seeds(20); ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      CheckpointCase c(seed);
      CheckpointFolder checkpoints = c.open_folder();
      const Report report = c.perform({.mode = Mode::rehearse,
                                       .seed = seed,
                                       .checkpoints = &checkpoints,
                                       .checkpoint_interval = c.whole / 3});
      check_done(report, c);
    }
  }
}

BOOST_AUTO_TEST_CASE(nodes_may_be_lost_between_checkpoints_and_at_them) {
  for (std::uint64_t seed = 1; seed <= seeds(40); ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      CheckpointCase c(seed);
      CheckpointFolder checkpoints = c.open_folder();
      std::vector<NodeLoss> losses = c.random_losses(c.whole);
      if (seed % 2 == 0) losses.front().after = c.whole / 5;  // when the first one is written
      NodeCase::sort_by_time(losses);
      const Report report = c.perform({.mode = Mode::rehearse,
                                       .seed = seed,
                                       .on_loss = OnLoss::replan,
                                       .losses = losses,
                                       .checkpoints = &checkpoints,
                                       .checkpoint_interval = c.whole / 5});
      check_done(report, c);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_folder_has_the_checkpoints_of_one_run_at_a_time) {
  const CheckpointCase c(1);
  {
    const CheckpointFolder used = c.open_folder();
    testing::expect_error(ErrorKind::usage, "another run uses", [&] { c.open_folder(); });
  }
  c.open_folder();
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
