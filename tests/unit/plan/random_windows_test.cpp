// Random graphs that are appended and planned in random windows.
#include "core/plan/planner.hpp"
#include "tests/support/random_case.hpp"
#include "tests/support/seeds.hpp"
#include "tests/support/share_view.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(random_windows)
namespace {

using testing::RandomCase;
using testing::successors_of;
using UnitEdges = std::multiset<std::pair<UnitId, UnitId>>;  // one for each reading
using OpEdges = std::set<std::pair<OpId, OpId>>;

// Plans a case's graph in windows of the given numbers of ops, and records all windows.
class Windows {
 public:
  Windows(const RandomCase& c, const std::vector<std::size_t>& sizes, bool forgets,
          std::uint64_t seed)
      : source_(c.graph),
        graph_(c.graph.kinds()),
        random_(seed),
        planner_(graph_, c.machine, {.cost = default_cost_model(c.machine)}) {
    for (const std::size_t size : sizes) plan_next(graph_.size() + size, forgets);
  }

  // The dependencies between units, from the shares.
  const UnitEdges& edges() const { return edges_; }
  // The inputs of units, except those that were forgotten before the unit was planned.
  const UnitEdges& wanted_edges() const { return wanted_; }
  // The dependencies between ops, from edges(). A tensor that a transfer brings counts as read from
  // its maker.
  OpEdges op_edges() const {
    OpEdges ops;
    for (const auto& [from, to] : edges_) {
      const OpId maker = units_[from.index()].op;
      const Unit& reader = units_[to.index()];
      if (reader.makes_result) {
        ops.emplace(maker, reader.op);
      } else {
        BOOST_TEST((maker == reader.op));  // a transfer moves its maker's tensor
      }
    }
    return ops;
  }

  // Every replica has the number of readers that its spec gives, and replicas are held exactly if
  // later windows may read them.
  void check_readers() const {
    std::vector<std::uint32_t> said;
    std::vector<std::uint32_t> counted(units_.size(), 0);
    for (const PlannedWindow& planned : windows_) {
      BOOST_TEST(planned.replicas.size() == planned.window.items);
      for (const ReplicaSpec& spec : planned.replicas) said.push_back(spec.readers);
      for (const ReplicaId r : planned.read_again) {
        BOOST_TEST((maker_of(r) < planned.window.first));
        ++said[r.index()];
      }
      for (const auto& [resource, share] : planned.window.shares) {
        for (const ReplicaId input : share.inputs) ++counted[input.index()];
      }
      for (const PlannedWindow::Hold& hold : planned.holds) {
        BOOST_TEST((hold.op == units_[hold.replica.index()].op));
        ++counted[hold.replica.index()];
      }
    }
    BOOST_TEST(said == counted, boost::test_tools::per_element());
    BOOST_TEST(std::count(said.begin(), said.end(), 0U) == 0);
  }

 private:
  // A window up to op `end`, or a little further: an op is appended with its further outputs.
  void plan_next(std::size_t end, bool forgets) {
    if (graph_.size() == source_.size()) return;
    while (graph_.size() < std::min(end, source_.size())) append(OpId::at(graph_.size()));
    const OpId keep_from = oldest_read_from(graph_.size());
    const std::uint32_t number = static_cast<std::uint32_t>(windows_.size());
    windows_.push_back(planner_.plan(keep_from));
    const PlannedWindow& planned = windows_.back();
    BOOST_TEST(planned.window.number == number);
    BOOST_TEST(planned.window.first.index() == units_.size());
    for (std::uint64_t u = 0; u < planned.window.items; ++u) {
      units_.push_back(planner_.plan().units[planned.window.first.index() + u]);
      window_of_.push_back(number);
    }
    check_holds(planned, keep_from);
    add_edges(planned);
    if (!forgets || random_.below(2) == 0) return;
    forgotten_ = std::max(forgotten_, static_cast<std::uint32_t>(random_.below(number + 2)));
    planner_.forget(forgotten_, oldest_kept(keep_from));
  }

  void append(OpId op) {
    const OpKind& kind = source_.kind(op);
    graph_.begin_group("op" + std::to_string(op.value));
    graph_.append({.kind = source_.kind_id(op),
                   .inputs = source_.inputs(op),
                   .placement = source_.placement(op),
                   .attrs = source_.attrs(op),
                   .declared = kind.declares_type ? source_.type(op) : TensorType{}});
  }
  // The oldest op that is read by ops that aren't appended yet.
  OpId oldest_read_from(std::size_t begin) const {
    OpId oldest = OpId::at(begin);
    for (std::size_t op = begin; op < source_.size(); ++op) {
      for (const OpId input : source_.inputs(OpId::at(op))) oldest = std::min(oldest, input);
    }
    return oldest;
  }
  // The oldest replica of windows that aren't done, or that may be read later.
  ReplicaId oldest_kept(OpId keep_from) const {
    for (std::size_t u = 0; u < units_.size(); ++u) {
      if (window_of_[u] >= forgotten_ || units_[u].op >= keep_from) return ReplicaId::at(u);
    }
    return ReplicaId::at(units_.size());
  }

  void check_holds(const PlannedWindow& planned, OpId keep_from) const {
    std::set<ReplicaId> read;
    for (const auto& [resource, share] : planned.window.shares) {
      read.insert(share.inputs.begin(), share.inputs.end());
    }
    std::vector<ReplicaId> wanted;
    for (std::size_t u = planned.window.first.index(); u < units_.size(); ++u) {
      const ReplicaId r = ReplicaId::at(u);
      if (units_[u].op >= keep_from || !read.contains(r)) wanted.push_back(r);
    }
    std::vector<ReplicaId> held;
    for (const PlannedWindow::Hold& hold : planned.holds) held.push_back(hold.replica);
    BOOST_TEST((held == wanted));
  }

  void add_edges(const PlannedWindow& planned) {
    const auto find = [](const PlannedWindow& in, ResourceId resource) -> const Share& {
      return std::find_if(in.window.shares.begin(), in.window.shares.end(),
                          [&](const auto& s) { return s.first == resource; })
          ->second;
    };
    const auto add = [&](const Share& from, std::uint32_t item, ItemRef to) {
      const UnitId reader = find(planned, to.resource).items[to.item].unit;
      edges_.emplace(from.items[item].unit, reader);
    };
    std::map<UnitId, std::uint32_t> waits;
    for (const auto& [resource, share] : planned.window.shares) {
      for (std::uint32_t i = 0; i < share.size(); ++i) {
        BOOST_TEST((units_[share.items[i].unit.index()].ref == ItemRef{resource, i}));
        waits[share.items[i].unit] = share.items[i].waits_for;
        for (const ItemRef& next : successors_of(resource, share, i)) {
          const Share& there = find(planned, next.resource);
          if (next.item < there.size()) {
            add(share, i, next);
            continue;
          }
          for (const std::uint32_t item : there.items_of_arrival(next.item - there.size())) {
            add(share, i, {next.resource, item});
          }
        }
        for (const ReplicaId input : share.inputs_of(i)) {
          if (window_of_[input.index()] < forgotten_) continue;
          wanted_.emplace(maker_of(input), share.items[i].unit);
        }
      }
      // A late edge is in the share of the resource that makes the tensor.
      for (const Share::LateEdge& edge : share.late) {
        BOOST_TEST_REQUIRE(edge.window < planned.window.number);
        BOOST_TEST(edge.window >= forgotten_);
        add(find(windows_[edge.window], resource), edge.item, edge.to);
      }
    }
    for (const auto& [from, to] : edges_) {
      if (to >= planned.window.first) --waits[to];
    }
    for (const auto& [unit, left] : waits) BOOST_TEST(left == 0U);
  }

  const Graph& source_;
  Graph graph_;
  Random random_;
  WindowPlanner planner_;
  std::vector<PlannedWindow> windows_;
  std::vector<Unit> units_;
  std::vector<std::uint32_t> window_of_;  // by unit
  std::uint32_t forgotten_ = 0;           // windows before it are forgotten
  UnitEdges edges_;
  UnitEdges wanted_;
};

std::vector<std::size_t> random_split(Random& random, std::size_t ops) {
  std::vector<std::size_t> sizes;
  const std::size_t ops_max = 1 + random.below(ops);
  while (ops > 0) {
    sizes.push_back(1 + random.below(std::min(ops_max, ops)));
    ops -= sizes.back();
  }
  return sizes;
}

OpEdges read_in(const Graph& graph) {
  OpEdges edges;
  for (std::size_t op = 0; op < graph.size(); ++op) {
    for (const OpId input : graph.inputs(OpId::at(op))) edges.emplace(input, OpId::at(op));
  }
  return edges;
}

BOOST_AUTO_TEST_CASE(windows_of_any_size_have_the_dependencies_of_the_whole_graph) {
  for (std::uint64_t seed = 1; seed <= testing::usual_seeds(300); ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      RandomCase c(seed);
      const Windows whole(c, {c.graph.size()}, false, seed);
      BOOST_TEST((whole.op_edges() == read_in(c.graph)));
      for (int split = 0; split < 3; ++split) {
        const Windows parts(c, random_split(c.random, c.graph.size()), false, seed);
        BOOST_TEST((parts.op_edges() == whole.op_edges()));
        BOOST_TEST((parts.edges() == parts.wanted_edges()));
        parts.check_readers();
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(units_wait_for_their_inputs_in_windows_that_are_not_done) {
  std::size_t with_fewer = 0;
  for (std::uint64_t seed = 1; seed <= testing::usual_seeds(300); ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      RandomCase c(seed);
      const Windows parts(c, random_split(c.random, c.graph.size()), true, seed);
      BOOST_TEST((parts.edges() == parts.wanted_edges()));
      parts.check_readers();
      if (parts.op_edges() != read_in(c.graph)) ++with_fewer;
    }
  }
  BOOST_TEST(with_fewer > 0U);
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
