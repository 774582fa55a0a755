// A question to the agent of a node.
#pragma once

#include "actors/nodes/node_protocol.hpp"
#include "actors/waiting.hpp"
#include "core/base/error.hpp"
#include "core/base/steady_now.hpp"
#include "core/base/time.hpp"
#include "core/base/units.hpp"

#include <atomic>
#include <chrono>
#include <optional>
#include <utility>

#include <caf/all.hpp>
#include <fmt/format.h>

namespace troupe {

// For use by one thread. The objects referred to must outlive the question.
class NodeQuestion {
 public:
  static constexpr const char* check_node = "see what has become of it, and start it again";

  // Asks. No answer is waited for any more when `interrupted` (may be null) becomes true.
  template <class Request>
  NodeQuestion(caf::actor_system& system, const caf::actor& agent, Request request,
               const std::atomic<bool>* interrupted)
      : self_(system), interrupted_(interrupted) {
    self_->monitor(agent);
    self_->send(agent, std::move(request));
  }

  // Blocks. Throws an Error if the node refuses, is lost, or takes longer than `patience`.
  template <class Answer>
  Answer answer(Duration patience) {
    std::optional<Answer> answer;
    std::optional<Error> refusal;
    const Instant begun = steady_now();
    while (!answer && !refusal) {
      self_->receive([&](Answer& a) { answer = std::move(a); },
                     [&](const Refusal& r) { refusal = r.error.unpack(); },
                     [&](const caf::down_msg&) {
                       is_node_lost_ = true;
                       refusal = run_error("it was lost", check_node);
                     },
                     caf::after(time_to_block(self_->system(), std::chrono::milliseconds(20))) >>
                         [&] {
                           let_pass(self_->system());
                           if (interrupted_ != nullptr && *interrupted_) {
                             refusal = run_error("it was waited for no longer");
                           } else if (steady_now() - begun >= patience) {
                             refusal = run_error(fmt::format("it has not answered for {}",
                                                             format_duration(patience)),
                                                 check_node);
                           }
                         });
    }
    if (answer) return std::move(*answer);
    throw std::move(*refusal);
  }
  bool is_node_lost() const { return is_node_lost_; }

 private:
  const caf::scoped_actor self_;
  const std::atomic<bool>* const interrupted_;
  bool is_node_lost_ = false;
};

}  // namespace troupe
