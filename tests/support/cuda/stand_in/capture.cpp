#include "tests/support/cuda/stand_in/capture.hpp"

#include "tests/support/cuda/stand_in/engine.hpp"

#include <utility>

namespace troupe::testing {

void Capture::add(CUstream_st& stream, Work work, Engine& engine) {
  if (!is_valid_) throw CudaFailure{cudaErrorStreamCaptureInvalidated};
  Order& order = stream.captured_order;
  if (work.is_host_function) invalidate();  // when it runs, the host would learn nothing
  if (work.marks != nullptr) {              // a record is no node
    *work.marks = {.order = order, .is_reached = true, .capture = shared_from_this()};
    return;
  }
  const std::uint64_t number = ++numbers_[stream.index];
  const WorkId id{work.what, stream.index, number};
  for (const Access& access : work.accesses) {
    const Allocation* place = engine.memory.expect(access.begin, access.bytes, work.what);
    if (place == nullptr) throw CudaFailure{cudaErrorInvalidValue};
    accesses_[place->begin].check(access, order, id, "in a captured graph " + place->text(), true,
                                  engine.control);
  }
  for (const Access& access : work.accesses) {
    accesses_[engine.memory.find(access.begin)->begin].add(access, order, id);
  }
  nodes_.push_back({std::move(work), order.all, stream.index, number});
  order.set(stream.index, number);
}

void Capture::join(CUstream_st& stream, const Moment& moment, Engine& engine) {
  if (!is_valid_) throw CudaFailure{cudaErrorStreamCaptureInvalidated};
  if (stream.capture == nullptr) {
    stream.capture = shared_from_this();
    stream.captured_order = {};
    joined_.push_back(engine.handles.find(&stream));
  } else if (stream.capture.get() != this) {
    throw CudaFailure{cudaErrorStreamCaptureMerge};
  }
  stream.captured_order.join(moment.order);
}

void Capture::invalidate() {
  is_valid_ = false;
  throw CudaFailure{cudaErrorStreamCaptureUnsupported};
}

std::shared_ptr<CUgraph_st> Capture::end(CUstream_st& stream) {
  if (&stream != origin_) throw CudaFailure{cudaErrorStreamCaptureUnmatched};
  const auto self = shared_from_this();
  const Order last = std::exchange(stream.captured_order, {});
  stream.capture = nullptr;
  for (const auto& joined : joined_) joined->capture = nullptr;
  if (!is_valid_) throw CudaFailure{cudaErrorStreamCaptureInvalidated};
  for (const auto& [index, number] : numbers_) {
    if (!last.all.contains(index, number)) throw CudaFailure{cudaErrorStreamCaptureUnjoined};
  }
  auto graph = std::make_shared<CUgraph_st>();
  graph->nodes = std::move(nodes_);
  return graph;
}

void run_graph(const std::vector<GraphNode>& nodes, std::uint64_t random) {
  VectorClock done;
  std::vector<bool> has_run(nodes.size());
  for (std::size_t left = nodes.size(); left > 0; --left) {
    std::size_t next = random % nodes.size();
    while (has_run[next] || !done.contains(nodes[next].after)) next = (next + 1) % nodes.size();
    const GraphNode& node = nodes[next];
    if (node.work.run) node.work.run();
    has_run[next] = true;
    done.set(node.stream, node.number);
    random = random * 6364136223846793005U + 1442695040888963407U;
  }
}

}  // namespace troupe::testing
