// Random programs on nodes that are in one process, under virtual time, and talk with each other as
// real ones do: what they read equals what they read without nodes. Some nodes die.
#include "actors/tensor_ops.hpp"
#include "core/base/error.hpp"
#include "core/base/random.hpp"
#include "tests/support/seeds.hpp"
#include "tests/support/virtual_session.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(random_sessions)
namespace {

using testing::seeds;
using testing::session_node;
using testing::VirtualSession;

constexpr std::uint64_t elements = 16;

// A program, which does the same on each machine, but for where its ops run.
class Program {
 public:
  explicit Program(std::uint64_t seed) : random_(seed) {}

  // What it reads. Throws what the session throws.
  std::vector<std::vector<float>> run(Session& session) {
    live_ = {session.uniform({elements}, 1)};
    for (std::uint64_t step = 0; step < 150; ++step) {
      if (random_.below(50) == 0) {
        session.measure("part", [&] {
          const Tensor y = live_[0] + live_[0];
          relu(y).to(memory(session, 0));
        });
      } else if (const std::uint64_t where = random_.below(1 << 20); where % 2 == 0) {
        const DeviceScope on = session.on(device(session, where / 2));
        act(session);
      } else {
        act(session);
      }
      while (live_.size() > 6) drop();
    }
    for (const Tensor& tensor : live_) read_.push_back(tensor.read<float>());
    session.wait_all();
    return read_;
  }

 private:
  Tensor any() { return live_[random_.below(live_.size())]; }
  void drop() {
    live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(random_.below(live_.size())));
  }
  static std::string memory(const Session& session, std::uint64_t number) {
    std::vector<std::string> names;
    for (const Memory& m : session.machine().memories) {
      if (m.kind != MemoryKind::network) names.push_back(m.name);
    }
    return names[number % names.size()];
  }
  static std::string device(const Session& session, std::uint64_t number) {
    return session.machine().devices[number % session.machine().devices.size()].name;
  }

  // The same draws, whatever the machine.
  void act(Session& session) {
    const std::uint64_t what = random_.below(20);
    const std::uint64_t where = random_.below(1 << 20);
    const Tensor x = any();
    const Tensor y = any();
    switch (what) {
      case 0:
        return live_.push_back(session.uniform({elements}, static_cast<std::int64_t>(where)));
      case 1: {
        const std::vector<float> values(elements, static_cast<float>(where % 7));
        return live_.push_back(session.tensor(values, {elements}));
      }
      case 2:
      case 3:
      case 4:
        return live_.push_back(x.to(memory(session, where)));
      case 5:
        return x.wait();
      case 6:
        return session.wait(device(session, where));
      case 7:
        return read_.push_back(x.read<float>());
      case 8:
        if (live_.size() > 1) drop();
        return;
      case 9:
        return static_cast<void>(axpy(0.5, x, y));  // nobody has its result
      case 10:
        return live_.push_back(relu(x));
      default:
        return live_.push_back(axpy(-0.5, x, y));
    }
  }

  Random random_;
  std::vector<Tensor> live_;
  std::vector<std::vector<float>> read_;
};

std::vector<std::vector<float>> read_without_nodes(std::uint64_t seed) {
  Session session(session_node(1, 1 << 20), {.mode = Mode::rehearse});
  return Program(seed).run(session);
}

// Two to four nodes of one or two devices. Their memories may be small, or have room for some
// tensors only.
std::vector<Machine> random_nodes(Random& random) {
  constexpr std::uint64_t sizes[] = {512, 4 << 10, 1 << 20, 1 << 20};
  const std::uint64_t memory_bytes = sizes[random.below(std::size(sizes))];
  const std::uint64_t count = 2 + random.below(3);
  std::vector<Machine> nodes;
  while (nodes.size() < count) nodes.push_back(session_node(1 + random.below(2), memory_bytes));
  return nodes;
}

VirtualSession session_on(std::uint64_t seed, const std::vector<Machine>& nodes) {
  return {seed, nodes, builtin_ops(), VirtualSession::node_timeout / 2};
}

BOOST_AUTO_TEST_CASE(programs_on_nodes_read_what_they_read_without_them) {
  for (std::uint64_t seed = testing::first_seed(); seed <= seeds(40); ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      Random random(seed);
      VirtualSession session = session_on(seed, random_nodes(random));
      BOOST_TEST((Program(seed).run(*session) == read_without_nodes(seed)));
    }
  }
}

// The program doesn't hang, whatever it waits for.
BOOST_AUTO_TEST_CASE(a_program_whose_node_dies_reads_the_right_values_or_gets_an_error) {
  std::size_t errors = 0;
  for (std::uint64_t seed = testing::first_seed(); seed <= seeds(40); ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      Random random(seed);
      const std::vector<Machine> nodes = random_nodes(random);
      VirtualSession session = session_on(seed, nodes);
      const std::uint64_t lost = random.below(nodes.size());
      const Duration when = session.nodes().network().random_duration(std::chrono::milliseconds(2));
      session.nodes().kill(lost, when, random.below(2) == 0);
      try {
        BOOST_TEST((Program(seed).run(*session) == read_without_nodes(seed)));
      } catch (const Error& error) {
        ++errors;
        const std::string what = error.what();
        BOOST_TEST(what.find("node n" + std::to_string(lost)) != std::string::npos, what);
      }
    }
  }
  BOOST_TEST(errors > 0);
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
