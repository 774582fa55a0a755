// Random programs of kernels, events and waits on several streams. Whether there is a race follows
// from the definition: two works use the same buffer, one of them writes, and neither comes before
// the other. The stand-in must report exactly the programs that have one, and compute the values of
// a serial execution for all others.
#include "tests/support/seeds.hpp"
#include "tests/unit/cuda_stand_in/stand_in_fixture.hpp"
#include "tests/unit/cuda_stand_in/test_kernels.hpp"

#include <bitset>
#include <random>

#include <boost/test/unit_test.hpp>

namespace troupe::testing {

namespace {

constexpr std::size_t works_max = 64;
constexpr std::size_t elements = 16;

struct RandomWork {
  std::size_t reads = 0;  // a buffer
  std::size_t writes = 0;
  std::bitset<works_max> after = {};
};

bool conflict(const RandomWork& a, const RandomWork& b) {
  return a.writes == b.writes || a.writes == b.reads || a.reads == b.writes;
}

class RandomProgram {
 public:
  RandomProgram(StandInFixture& fixture, std::uint64_t seed) : fixture_(fixture), random_(seed) {
    const std::size_t buffers = 2 + below(5);
    for (std::size_t i = 0; i < buffers; ++i) {
      buffers_.push_back(fixture.device(elements * sizeof(float)));
      CHECK_CUDA(launch_fill(buffers_[i], static_cast<float>(i + 1), elements, fixture.a));
      values_.push_back(static_cast<float>(i + 1));
    }
    CHECK_CUDA(cudaStreamSynchronize(fixture.a));
    const std::size_t streams = 1 + below(4);
    for (std::size_t i = 0; i < streams; ++i) streams_.push_back(StandInFixture::stream());
    before_.resize(streams);
    careful_ = below(3) != 0;
  }
  ~RandomProgram() {
    for (const cudaStream_t stream : streams_) cudaStreamDestroy(stream);
  }
  RandomProgram(const RandomProgram&) = delete;
  RandomProgram& operator=(const RandomProgram&) = delete;

  void run() {
    for (std::size_t i = 0; i < works_max; ++i) add_work();
    CHECK_CUDA(cudaDeviceSynchronize());
  }
  bool has_race() const { return has_race_; }
  void check_values() const {
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      float value = 0;
      CHECK_CUDA(cudaMemcpy(&value, buffers_[i], sizeof value, cudaMemcpyDeviceToHost));
      BOOST_CHECK_EQUAL(value, values_[i]);
    }
  }

 private:
  std::size_t below(std::size_t n) { return random_() % n; }

  void wait_for(std::size_t stream, std::size_t work) {
    CHECK_CUDA(cudaStreamWaitEvent(streams_[stream], events_[work], 0));
    before_[stream] |= works_[work].after;
    before_[stream].set(work);
  }

  void add_work() {
    const std::size_t stream = below(streams_.size());
    RandomWork work{.reads = below(buffers_.size()), .writes = below(buffers_.size())};
    for (std::size_t i = 0; i < works_.size(); ++i) {
      const bool needed = conflict(works_[i], work) && !before_[stream].test(i) && !host_.test(i);
      // A careless program forgets one wait in 30.
      if (needed ? careful_ || below(30) != 0 : below(40) == 0) wait_for(stream, i);
    }
    work.after = before_[stream] | host_;
    for (std::size_t i = 0; i < works_.size(); ++i) {
      has_race_ = has_race_ || (conflict(works_[i], work) && !work.after.test(i));
    }
    const float factor = below(2) == 0 ? -1.0F : 0.5F;
    CHECK_CUDA(launch_scale(buffers_[work.reads], buffers_[work.writes], factor, elements,
                            streams_[stream]));
    values_[work.writes] = factor * values_[work.reads];
    events_.push_back(fixture_.event());
    CHECK_CUDA(cudaEventRecord(events_.back(), streams_[stream]));
    before_[stream] = work.after;
    before_[stream].set(works_.size());
    works_.push_back(work);
    if (below(15) == 0) {  // the host waits for a work, and so for all before it
      const std::size_t awaited = below(works_.size());
      CHECK_CUDA(cudaEventSynchronize(events_[awaited]));
      host_ |= works_[awaited].after;
      host_.set(awaited);
    }
  }

  StandInFixture& fixture_;
  std::mt19937_64 random_;
  std::vector<float*> buffers_;
  std::vector<float> values_;  // of each buffer's elements, as a serial execution has them
  std::vector<cudaStream_t> streams_;
  std::vector<std::bitset<works_max>> before_;  // the next work of each stream
  std::bitset<works_max> host_;                 // what the host knows to be finished
  std::vector<RandomWork> works_;
  std::vector<cudaEvent_t> events_;
  bool careful_ = true;  // no wait is forgotten
  bool has_race_ = false;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(stand_in_random_programs, StandInFixture)

BOOST_AUTO_TEST_CASE(races_are_reported_exactly_where_there_are_some) {
  std::uint64_t races = 0;
  const std::uint64_t programs = seeds(200);
  for (std::uint64_t seed = 0; seed < programs; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      stand_in.set("seed", static_cast<std::int64_t>(seed));
      RandomProgram program(*this, seed);
      program.run();
      if (program.has_race()) {
        ++races;
        BOOST_CHECK_NE(failures().find("race: "), std::string::npos);
      } else {
        BOOST_CHECK_EQUAL(failures(), "");
        program.check_values();
      }
    }
    free_everything();
  }
  stand_in.set("seed", 1);
  BOOST_CHECK_GT(races, programs / 10);
  BOOST_CHECK_LT(races, programs / 2);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::testing
