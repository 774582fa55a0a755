// The capture of streams into a graph, and graphs.
//
// Captured work is checked twice: against other work of its graph when it is captured, and, with
// the whole graph as one work of a stream, when the graph is launched. The parts of a launched
// graph run in an order drawn from the seed among those that the capture allows.
#pragma once

#include "tests/support/cuda/stand_in/stream.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

namespace troupe::testing {

class Engine;

struct GraphNode {
  Work work;
  VectorClock after;  // the nodes that must run before
  std::uint32_t stream = 0;
  std::uint64_t number = 0;
};

}  // namespace troupe::testing

// A node of a graph that wasn't captured. It ends with its graph.
struct CUgraphNode_st {
  std::size_t place = 0;  // among the nodes
  int device = 0;
};

struct CUgraph_st {
  static constexpr std::string_view kind = "graph";
  std::vector<troupe::testing::GraphNode> nodes;
  std::deque<CUgraphNode_st> handles;  // of nodes that were added one by one
};

struct CUgraphExec_st {
  static constexpr std::string_view kind = "executable graph";
  std::vector<troupe::testing::GraphNode> nodes;
};

namespace troupe::testing {

class Capture : public std::enable_shared_from_this<Capture> {
 public:
  explicit Capture(CUstream_st& origin) : origin_(&origin) {}

  void add(CUstream_st& stream, Work work, Engine& engine);
  // The stream waits for a captured moment, and so becomes a part of the capture.
  void join(CUstream_st& stream, const Moment& moment, Engine& engine);
  // For calls that mustn't be made on a stream that is being captured.
  [[noreturn]] void invalidate();
  bool is_valid() const { return is_valid_; }
  // Ends the capture. Returns the graph; throws if it isn't valid, or if `stream` isn't where the
  // capture began or doesn't wait for the others.
  std::shared_ptr<CUgraph_st> end(CUstream_st& stream);

 private:
  CUstream_st* origin_;
  std::vector<std::shared_ptr<CUstream_st>> joined_;
  std::map<std::uint32_t, std::uint64_t> numbers_;  // of the last node of each stream
  std::map<const std::byte*, AccessHistory> accesses_;
  std::vector<GraphNode> nodes_;
  bool is_valid_ = true;
};

// Runs the nodes, which must stay as they are, in an order that they allow.
void run_graph(const std::vector<GraphNode>& nodes, std::uint64_t random);

}  // namespace troupe::testing
