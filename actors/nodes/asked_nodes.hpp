// The nodes of a run, as its leader asks them and tells them.
#pragma once

#include "actors/nodes/cluster_nodes.hpp"
#include "actors/nodes/node_question.hpp"
#include "core/base/error.hpp"
#include "core/base/time.hpp"

#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include <caf/all.hpp>

namespace troupe {

// For use by one thread. The objects referred to must outlive it.
class AskedNodes {
 public:
  // No answer is waited for any more when `interrupted` (may be null) becomes true.
  AskedNodes(caf::actor_system& system, ClusterNodes& nodes, const std::atomic<bool>* interrupted)
      : system_(system), nodes_(nodes), interrupted_(interrupted) {}

  std::size_t size() const { return nodes_.size(); }
  const ConnectedNode& operator[](std::size_t n) const { return nodes_[n]; }

  // Blocks. Throws an Error that names the node if it refuses or is lost.
  template <class Answer, class Request>
  Answer ask(std::size_t n, Request request) {
    return answer_of<Answer>(*question(n, std::move(request)), n);
  }
  // Asks all nodes that aren't lost, at the same time, and returns their answers by node. Blocks
  // and throws likewise.
  template <class Answer, class RequestOf>
  std::vector<Answer> ask_all(const RequestOf& request_of) {
    std::vector<std::unique_ptr<NodeQuestion>> questions(nodes_.size());
    const std::vector<bool> lost = nodes_.lost();
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      if (!lost[n]) questions[n] = question(n, request_of(n));
    }
    std::vector<Answer> answers(nodes_.size());
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      if (questions[n]) answers[n] = answer_of<Answer>(*questions[n], n);
    }
    return answers;
  }
  // Asks a node `count` questions in turn, several before the first is answered, and gives `take`
  // the answers in their order. Blocks and throws likewise.
  template <class Answer, class RequestOf, class Take>
  void ask_in_turn(std::size_t n, std::size_t count, const RequestOf& request_of,
                   const Take& take) {
    constexpr std::size_t ahead_max = 8;
    std::deque<std::unique_ptr<NodeQuestion>> questions;
    for (std::size_t asked = 0, answered = 0; answered < count; ++answered) {
      for (; asked < count && questions.size() < ahead_max; ++asked) {
        questions.push_back(question(n, request_of(asked)));
      }
      take(answered, answer_of<Answer>(*questions.front(), n));
      questions.pop_front();
    }
  }
  // Doesn't wait. What a node is told and asked by one thread comes in this order.
  template <class Message>
  void tell(std::size_t n, Message message) {
    caf::anon_send(nodes_[n].agent, std::move(message));
  }

 private:
  template <class Request>
  std::unique_ptr<NodeQuestion> question(std::size_t n, Request request) {
    return std::make_unique<NodeQuestion>(system_, nodes_[n].agent, std::move(request),
                                          interrupted_);
  }
  template <class Answer>
  Answer answer_of(NodeQuestion& question, std::size_t n) {
    try {
      return question.answer<Answer>(longest_duration);
    } catch (const Error& error) {
      if (question.is_node_lost()) nodes_.lose(n);
      throw Error(error.kind(), SourcePlace{}, nodes_[n].label() + ": " + error.problem(),
                  error.remedy());
    }
  }

  caf::actor_system& system_;
  ClusterNodes& nodes_;
  const std::atomic<bool>* const interrupted_;
};

}  // namespace troupe
