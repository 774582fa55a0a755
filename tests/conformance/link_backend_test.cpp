// What every link backend must do.
#include "core/backend/registry.hpp"
#include "core/base/random.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/waiting_completions.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(link_backend)
namespace {

using testing::TemporaryDirectory;
using testing::WaitingCompletions;

constexpr std::array directions{Direction::forward, Direction::backward};
constexpr Duration expected{6'789};

//   vram ──pcie── host ──copy── host1
//                 │  │
//           to_disk  from_disk (with its ends exchanged)
//                 │  │
//                 disk ──ssd── disk1
Machine all_kinds_of_link(const std::filesystem::path& directory) {
  Machine m;
  m.memories = {
      {.name = "host", .size_bytes = 512 << 20},
      {.name = "host1", .size_bytes = 512 << 20},
      {.name = "vram", .size_bytes = 512 << 20},
      {.name = "disk", .kind = MemoryKind::storage, .directory = directory},
      {.name = "disk1", .kind = MemoryKind::storage, .directory = directory},
  };
  m.devices = {{.name = "gpu", .kind = DeviceKind::gpu, .memory = m.find_memory("vram")}};
  const auto add = [&](std::string name, std::string_view a, std::string_view b) {
    Link link;
    link.name = std::move(name);
    link.a = m.find_memory(a);
    link.b = m.find_memory(b);
    link.bandwidth[0] = link.bandwidth[1] = 1e9;
    m.links.push_back(std::move(link));
  };
  add("copy", "host", "host1");
  add("to_disk", "host", "disk");
  add("from_disk", "disk", "host");
  add("pcie", "host", "vram");
  add("ssd", "disk", "disk1");
  return m;
}

// A link's backend with a tensor at each end of each direction.
class Bench {
 public:
  Bench(const LinkBackendEntry& entry, const Machine& machine, LinkId link)
      : entry_(entry),
        link_(machine.link(link)),
        store_(machine,
               computes_values(entry.mode) ? MemoryStore::Backing::buffers
                                           : MemoryStore::Backing::accounted,
               MemoryStore::Counting::acquired, {},
               [&entry](const Machine& m, MemoryId id) { return choose_space(entry.mode, m, id); }),
        depth_(entry.issue_depth != nullptr ? entry.issue_depth(machine, link) : 0),
        backend_(entry.make(
            {.machine = machine, .ops = builtin_ops(), .store = store_, .completions = told_},
            link)) {}

  LinkBackend& backend() { return *backend_; }
  WaitingCompletions& told() { return told_; }
  ReplicaId from(Direction d) const { return ReplicaId{2 * static_cast<std::uint32_t>(d)}; }
  ReplicaId to(Direction d) const { return ReplicaId{2 * static_cast<std::uint32_t>(d) + 1}; }

  // Makes new tensors of `elements` float32 elements. The values of the sources depend on the
  // direction.
  void install(std::int64_t elements) {
    store_.clear();
    const std::array types{TensorType{DType::f32, Shape{elements}}};
    std::vector<ReplicaSpec> replicas;
    for (const Direction d : directions) {
      replicas.push_back({.memory = link_.source(d), .type = 0, .readers = 1});
      replicas.push_back({.memory = link_.target(d), .type = 0, .readers = 1});
    }
    store_.install(replicas, types);
    for (std::size_t i = 0; i < replicas.size(); ++i) store_.acquire(ReplicaId::at(i));
    if (!computes_values(entry_.mode)) return;
    for (const Direction d : directions) fill(from(d), static_cast<std::uint64_t>(d));
  }

  std::uint64_t bytes() const { return store_.type(from(Direction::forward)).bytes(); }

  // The first slot of a direction.
  bool issues_ahead() const { return depth_ > 0; }
  std::uint32_t slot_of(Direction d) const {
    return static_cast<std::uint32_t>(d) * std::max(depth_, 1U);
  }

  Started start(Direction d, std::uint64_t offset, std::uint64_t count) {
    Issue issue;
    return backend_->start(d, {.from = from(d),
                               .to = to(d),
                               .offset = offset,
                               .bytes = count,
                               .first = offset == 0,
                               .last = offset + count == bytes(),
                               .expected = expected,
                               .issue = issues_ahead() ? &issue : nullptr,
                               .slot = slot_of(d)});
  }

  // Moves the whole tensor of a direction, one chunk after another.
  void move(Direction d, std::uint64_t chunk) {
    for (std::uint64_t at = 0; at < bytes(); at += chunk) {
      const Started started = start(d, at, std::min(chunk, bytes() - at));
      if (has_virtual_time(entry_.mode)) {
        BOOST_TEST((started.state == Started::State::after));
        BOOST_TEST((started.after == expected));
      }
      if (started.state != Started::State::pending) continue;
      const WaitingCompletions::Told told = told_.wait();
      BOOST_TEST(told.slot == slot_of(d));
      BOOST_TEST(!told.cause.has_value());
    }
  }

  bool arrived(Direction d) const {
    if (!computes_values(entry_.mode)) return true;
    std::vector<std::byte> sent;
    std::vector<std::byte> received;
    store_.read(from(d), sent);
    store_.read(to(d), received);
    return sent == received;
  }

 private:
  void fill(ReplicaId r, std::uint64_t seed) {
    std::vector<char> values(bytes());
    Random random(seed);
    for (char& v : values) v = static_cast<char>(random.next());
    store_.write(r, std::as_bytes(std::span(values)));
  }

  const LinkBackendEntry& entry_;
  const Link& link_;
  MemoryStore store_;
  const std::uint32_t depth_;
  WaitingCompletions told_;
  std::unique_ptr<LinkBackend> backend_;
};

void for_each_fit(const std::function<void(Bench&)>& f) {
  const TemporaryDirectory directory;
  const Machine machine = all_kinds_of_link(directory.path());
  for (const LinkBackendEntry& entry : link_backends()) {
    for (std::size_t l = 0; l < machine.links.size(); ++l) {
      if (!serves(entry, machine, LinkId::at(l))) continue;
      BOOST_TEST_CONTEXT(entry.name << " on " << machine.links[l].name) {
        Bench bench(entry, machine, LinkId::at(l));
        f(bench);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(links_that_a_backend_cannot_serve_are_reported_as_skipped) {
  const Machine machine = all_kinds_of_link("");
  for (const LinkBackendEntry& entry : link_backends()) {
    for (std::size_t l = 0; l < machine.links.size(); ++l) {
      if (serves(entry, machine, LinkId::at(l))) continue;
      std::cout << "skipped: " << entry.name << " on " << machine.links[l].name
                << " (it can't serve this link here)\n";
    }
  }
  BOOST_TEST(!link_backends().empty());
}

BOOST_AUTO_TEST_CASE(names_are_there_and_differ) {
  std::set<std::string_view> names;
  for (const LinkBackendEntry& entry : link_backends()) {
    BOOST_TEST(!entry.name.empty());
    BOOST_TEST(names.insert(entry.name).second);
  }
}

BOOST_AUTO_TEST_CASE(a_tensor_of_any_size_arrives_as_it_was_sent_in_both_directions) {
  for_each_fit([](Bench& bench) {
    for (const std::int64_t elements : {1, 1023, 1024, 1025, 262'147, 1'572'869}) {
      bench.install(elements);
      for (const Direction d : directions) {
        bench.move(d, bench.bytes());
        BOOST_TEST(bench.arrived(d));
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(a_tensor_arrives_as_it_was_sent_whatever_the_chunks) {
  for_each_fit([](Bench& bench) {
    constexpr std::array<std::pair<std::int64_t, std::uint64_t>, 5> cases{{
        {5, 1},                      // every byte alone
        {2'500, 4'096},              // a page
        {2'500, 999},                // neither aligned nor dividing
        {1'000'003, 1 << 20},        // large and aligned, the last one odd
        {1'000'003, (1 << 20) + 4},  // large, not aligned
    }};
    for (const auto& [elements, chunk] : cases) {
      bench.install(elements);
      for (const Direction d : directions) {
        bench.move(d, chunk);
        BOOST_TEST(bench.arrived(d));
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(both_directions_may_be_busy_at_once_and_each_end_is_told_once) {
  for_each_fit([](Bench& bench) {
    bench.install(500'000);
    const std::size_t told_before = bench.told().count();
    std::set<std::uint32_t> pending;
    for (const Direction d : directions) {
      if (bench.start(d, 0, bench.bytes()).state == Started::State::pending) {
        pending.insert(bench.slot_of(d));
      }
    }
    const std::size_t expected_count = pending.size();
    for (std::size_t i = 0; i < expected_count; ++i) {
      const WaitingCompletions::Told told = bench.told().wait();
      BOOST_TEST(!told.cause.has_value());
      BOOST_TEST(pending.erase(told.slot) == 1U);
    }
    for (const Direction d : directions) BOOST_TEST(bench.arrived(d));
    BOOST_TEST(bench.told().count() - told_before == expected_count);
  });
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
