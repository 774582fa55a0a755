#include "actors/nodes/cluster_nodes.hpp"

#include "actors/nodes/node_question.hpp"
#include "actors/nodes/stand_in.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace troupe {
namespace {

using Judge = caf::atom_constant<caf::atom("judge")>;

std::string in_brackets(const std::string& words) {
  return words.empty() ? words : fmt::format(" ({})", words);
}

}  // namespace

// Hears what nodes have to say.
class ClusterNodes::Leader final : public caf::event_based_actor {
 public:
  Leader(caf::actor_config& config, ClusterNodes* nodes)
      : caf::event_based_actor(config), nodes_(nodes) {
    set_down_handler([this](const caf::down_msg& down) { nodes_->on_down(down.source); });
  }
  caf::behavior make_behavior() override {
    return {
        Route<Progress>{*nodes_},
        Route<ShareDone>{*nodes_},
        Route<Ready>{*nodes_},
        Route<Status>{*nodes_},
        Route<Watched>{*nodes_},
        Route<Failure>{*nodes_},
        Route<LastRecords>{*nodes_},
        [this](const NodeSuspected& suspected) { nodes_->suspect(suspected); },
        [this](const StillThere& answer) { nodes_->on_answer(answer); },
        [this](Judge, std::uint32_t epoch) { nodes_->judge(epoch); },
        [this](const caf::actor& agent) { monitor(agent); },
    };
  }

 private:
  template <class Message>
  struct Route {
    ClusterNodes& nodes;
    void operator()(std::uint32_t run, ResourceId resource, const Message& message) const {
      nodes.route(run, resource, message);
    }
  };
  ClusterNodes* nodes_;
};

ClusterNodes::ClusterNodes(caf::actor_system& system)
    : leader_(system, system.spawn<Leader>(this)) {}

void ClusterNodes::join(std::vector<ConnectedNode> nodes) {
  {
    const std::lock_guard lock(mutex_);
    nodes_ = std::move(nodes);
    is_lost_.resize(nodes_.size());
    why_lost_.resize(nodes_.size());
  }
  for (const ConnectedNode& node : nodes_) caf::anon_send(leader(), node.agent);
}

void ClusterNodes::replace(std::size_t n, ConnectedNode node) {
  {
    const std::lock_guard lock(mutex_);
    nodes_[n] = std::move(node);
    is_lost_[n] = false;
    // The others may have connected again without it: it was lost again before the run began.
    is_disconnected_ = true;
  }
  caf::anon_send(leader(), nodes_[n].agent);
}

void ClusterNodes::lose(std::size_t n) {
  const std::lock_guard lock(mutex_);
  mark_lost(n, {});
}

std::vector<bool> ClusterNodes::lost() const {
  const std::lock_guard lock(mutex_);
  return is_lost_;
}

std::string ClusterNodes::why_lost(std::size_t n) const {
  const std::lock_guard lock(mutex_);
  return why_lost_[n];
}

std::size_t ClusterNodes::cuts() const {
  const std::lock_guard lock(mutex_);
  return cuts_;
}

std::string ClusterNodes::last_cut() const {
  const std::lock_guard lock(mutex_);
  return last_cut_;
}

std::string ClusterNodes::disconnection() const {
  const std::lock_guard lock(mutex_);
  return why_disconnected();
}

// `mutex_` is held.
std::string ClusterNodes::why_disconnected() const {
  if (is_cut_) return cut_of();  // what was lost before or after isn't why
  const auto lost = std::find(is_lost_.begin(), is_lost_.end(), true);
  if (!is_disconnected_ || lost == is_lost_.end()) return {};
  return loss_of(static_cast<std::size_t>(lost - is_lost_.begin()));
}

bool ClusterNodes::has_suspicion() const {
  const std::lock_guard lock(mutex_);
  return !is_disconnected_ && !suspicions_.empty();
}

std::optional<std::uint32_t> ClusterNodes::begin_epoch() {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(is_disconnected_, false)) return {};
  is_cut_ = false;
  suspicions_.clear();
  has_answered_.clear();
  return ++epoch_;
}

std::uint32_t ClusterNodes::begin_run(const Machine& machine) {
  const std::lock_guard lock(mutex_);
  running_ = &machine;
  stand_ins_.clear();
  return ++run_;
}

caf::actor ClusterNodes::spawn_stand_in(caf::actor_system& system, ResourceId resource,
                                        const caf::actor& coordinator, LinkUse* use) {
  const std::size_t node = resource_node(*running_, resource).index();
  caf::actor stand_in =
      troupe::spawn_stand_in(system, nodes_[node].agent, run_, resource, coordinator, use);
  const std::lock_guard lock(mutex_);
  stand_ins_[resource.value] = stand_in;
  if (is_lost_[node]) {
    caf::anon_send(stand_in, NodeLost{loss_of(node)});
  } else if (is_cut_ || (is_disconnected_ && is_network_link(*running_, resource))) {
    caf::anon_send(stand_in, Failure{resource, {}, why_disconnected()});
  }
  return stand_in;
}

void ClusterNodes::end_run() {
  {
    const std::lock_guard lock(mutex_);
    stand_ins_.clear();
    running_ = nullptr;
  }
  for (const ConnectedNode& node : nodes_) caf::send_as(leader(), node.agent, EndRun{});
}

template <class Message>
void ClusterNodes::route(std::uint32_t run, ResourceId resource, const Message& message) {
  const std::lock_guard lock(mutex_);
  if (run != run_) return;
  const auto to = stand_ins_.find(resource.value);
  if (to != stand_ins_.end()) caf::anon_send(to->second, message);
}

void ClusterNodes::on_down(const caf::actor_addr& agent) {
  const std::lock_guard lock(mutex_);
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    if (nodes_[n].agent.address() != agent) continue;
    mark_lost(n, {});
    why_lost_[n].clear();  // it has ended: no wonder that others could not reach it
  }
}

void ClusterNodes::suspect(const NodeSuspected& suspected) {
  const std::lock_guard lock(mutex_);
  const bool is_known =
      suspected.by.index() < nodes_.size() && suspected.node.index() < nodes_.size();
  if (!is_known || is_disconnected_ || suspected.epoch != epoch_) return;
  if (is_lost_[suspected.by.index()] || is_lost_[suspected.node.index()]) return;  // it's known
  if (suspicions_.empty()) {
    has_answered_.assign(nodes_.size(), false);
    judge_later();
  }
  suspicions_.push_back(suspected);
  for (const NodeId node : {suspected.by, suspected.node}) {
    has_answered_[node.index()] = false;  // it may have ended since
    caf::send_as(leader(), nodes_[node.index()].agent, StillThere{.epoch = epoch_, .node = node});
  }
}

void ClusterNodes::on_answer(const StillThere& answer) {
  const std::lock_guard lock(mutex_);
  if (answer.epoch != epoch_ || answer.node.index() >= has_answered_.size()) return;
  has_answered_[answer.node.index()] = true;
}

void ClusterNodes::judge_later() {
  caf::delayed_anon_send(leader(), suspicion_time, Judge::value, epoch_);
}

// Nodes that don't answer are waited for until they do or are lost. When all have answered, all
// live, and are connected anew. When two are cut off from each other again, one of them is given
// up: the one that is cut off from more nodes, else the one that was not reached. Nodes that have
// closed their connections miss each other.
void ClusterNodes::judge(std::uint32_t epoch) {
  const std::lock_guard lock(mutex_);
  if (is_disconnected_ || epoch != epoch_) return;
  for (const NodeSuspected& suspected : suspicions_) {
    if (!has_answered_[suspected.by.index()] || !has_answered_[suspected.node.index()]) {
      return judge_later();
    }
  }
  const NodeSuspected* again = nullptr;
  for (const NodeSuspected& suspected : suspicions_) {
    if (is_cut_pair(suspected) && again == nullptr) again = &suspected;
  }
  for (const NodeSuspected& suspected : suspicions_) {
    if (!is_cut_pair(suspected)) cut_pairs_.emplace_back(std::minmax(suspected.by, suspected.node));
  }
  if (again == nullptr) return cut(suspicions_.front());
  const auto cut_off_from = [&](NodeId n) {
    return std::count_if(cut_pairs_.begin(), cut_pairs_.end(),
                         [&](const auto& p) { return p.first == n || p.second == n; });
  };
  const bool is_accuser = cut_off_from(again->by) > cut_off_from(again->node);
  const char* const what =
      is_accuser ? "it could not reach other nodes: " : "another node could not reach it: ";
  mark_lost((is_accuser ? again->by : again->node).index(), what + again->cause);
}

bool ClusterNodes::is_cut_pair(const NodeSuspected& suspected) const {
  const std::pair<NodeId, NodeId> pair = std::minmax(suspected.by, suspected.node);
  return std::find(cut_pairs_.begin(), cut_pairs_.end(), pair) != cut_pairs_.end();
}

// `mutex_` is held.
void ClusterNodes::cut(const NodeSuspected& suspected) {
  is_disconnected_ = is_cut_ = true;
  ++cuts_;
  last_cut_ = fmt::format("{} could not reach {} ({})", nodes_[suspected.by.index()].label(),
                          nodes_[suspected.node.index()].label(), suspected.cause);
  disconnect(last_cut_);
  for (const auto& [resource, stand_in] : stand_ins_) {
    caf::anon_send(stand_in, Failure{ResourceId{resource}, {}, cut_of()});
  }
}

// The run can't go on: the others must not wait for tensors of this node. `why`: empty if it has
// ended or is silent. `mutex_` is held.
void ClusterNodes::mark_lost(std::size_t n, std::string why) {
  if (n >= nodes_.size() || is_lost_[n]) return;
  is_lost_[n] = is_disconnected_ = true;
  why_lost_[n] = std::move(why);
  has_ever_lost_ = true;
  std::erase_if(cut_pairs_, [id = NodeId::at(n)](const auto& pair) {
    return pair.first == id || pair.second == id;
  });
  disconnect(loss_of(n), n);
  for (const auto& [number, stand_in] : stand_ins_) {
    const ResourceId resource{number};
    if (resource_node(*running_, resource).index() == n) {
      caf::anon_send(stand_in, NodeLost{loss_of(n)});
    } else if (is_network_link(*running_, resource)) {
      // What this link has sent when connections are closed may never arrive: the run has failed
      // then, though nothing of it may be on the node that was lost.
      caf::anon_send(stand_in, Failure{resource, {}, loss_of(n)});
    }
  }
}

void ClusterNodes::disconnect(const std::string& cause, std::size_t but) {
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    if (n != but) caf::send_as(leader(), nodes_[n].agent, Disconnect{cause});
  }
}

std::string ClusterNodes::cut_of() const {
  return last_cut_ + "; see that the network lets each node reach the others";
}

std::string ClusterNodes::loss_of(std::size_t n) const {
  return fmt::format("{} was lost{}; {}", nodes_[n].label(), in_brackets(why_lost_[n]),
                     NodeQuestion::check_node);
}

}  // namespace troupe
