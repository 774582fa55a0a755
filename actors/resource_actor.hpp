// The actor around a device or a link: forwards events to its logic, executes the logic's decisions
// through a backend, and sends notices to other actors.
#pragma once

#include "actors/actor_threads.hpp"
#include "actors/clock.hpp"
#include "actors/crash_reasons.hpp"
#include "actors/messages.hpp"
#include "core/backend/backend.hpp"
#include "core/base/error.hpp"
#include "core/base/relax.hpp"
#include "core/run/lookahead.hpp"
#include "core/run/share_progress.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <caf/all.hpp>

namespace troupe {

// Sends the completions of a backend to the actor as messages. Thread-safe.
class MailboxCompletions final : public Completions {
 public:
  void deliver_to(caf::actor resource) { resource_ = std::move(resource); }
  void completed(std::uint32_t slot) override { caf::anon_send(resource_, SlotDone{.slot = slot}); }
  void completed_and_lend(std::uint32_t slot) override {
    const ActorThreads::Loan loan;
    completed(slot);
  }
  void completed(std::uint32_t slot, Instant start, Instant end) override {
    caf::anon_send(resource_, SlotDone{.slot = slot, .start = start, .end = end});
  }
  void completed(std::span<const Ended> all) override {
    if (all.size() == 1) return completed(all[0].slot, all[0].start, all[0].end);
    caf::anon_send(resource_, SlotsDone{{all.begin(), all.end()}});
  }
  void failed(std::uint32_t slot, std::string cause) override {
    caf::anon_send(resource_, SlotFailed{slot, std::move(cause)});
  }

 private:
  caf::actor resource_;
};

// `Logic` is DeviceLogic or LinkLogic. `Work` executes its decisions:
//   void enter_thread();
//   Started start(const Logic::Start&);                    may throw Error
//   const Issue* issued(const Logic::Start&);              right after start(); null: not ahead
//   void submit();                                         what was issued goes to the device
//   void finished(const Logic::Start&, Duration took);     releases the inputs; may throw Error
//   bool may_block(const Logic::Start&);                   for longer than a message takes
// Aligned so that two actors don't share a cache line: every op writes to its actor.
template <class Logic, class Work>
class alignas(64) ResourceActor final : public caf::event_based_actor,
                                        private ActorThreads::LeftOver,
                                        public TimerListener {
 public:
  // Calls `make_work` with this actor's Completions, which outlive the Work. `may_spin`: the actor
  // has its own thread, which may poll the mailbox for some microseconds.
  template <class MakeWork>
  ResourceActor(caf::actor_config& config, ResourceId self, caf::actor coordinator, Clock& clock,
                const std::atomic<bool>& interrupted, Logic logic, bool may_spin,
                MakeWork make_work)
      : caf::event_based_actor(config),
        logic_(std::move(logic)),
        self_(self),
        coordinator_(std::move(coordinator)),
        clock_(clock),
        interrupted_(interrupted),
        lookahead_(clock.lookahead()),
        work_(std::in_place, make_work(completions_)),
        may_spin_(may_spin) {
    set_exception_handler([this](std::exception_ptr& cause) { return crash_.take(cause); });
  }

  caf::behavior make_behavior() override {
    completions_.deliver_to(caf::actor_cast<caf::actor>(this));
    if (lookahead_ != nullptr) lookahead_->add(self_, *this);
    // CAF tries the handlers in this order: the two most frequent messages come first.
    return {
        [this](const Notice& notice) {
          logic_.on_notice(notice.window, notice.items());
          start_ready();
        },
        [this](const SlotDone& message) {
          if (message.end == Share::never) return on_timer(message.slot);
          const Completions::Ended ended{message.slot, message.start, message.end};
          on_ended({&ended, 1});
        },
        [this](const SlotsDone& message) { on_ended(message.all); },
        [this](Introduce& who) {
          resources_ = std::move(who.resources);
          try {
            work_->enter_thread();
          } catch (const std::exception& error) {
            // Work may be here already: a session doesn't wait for who joins late.
            logic_.on_stop();
            send(coordinator_, Failure{self_, {}, error.what()});
          }
          send(coordinator_, Ready{self_});
        },
        [this](AssignShare& message) {
          flush_notices();  // loading a large share takes long
          logic_.on_share(std::move(message.share));
          start_ready();
        },
        [this](const Watch& watch) {
          logic_.on_watch(watch.item.window, watch.item.ref.item);
          start_ready();
        },
        [this](const SlotFailed& failed) {
          if (!work_ || !logic_.is_busy(failed.slot)) return;  // as in on_timer()
          fail(failed.slot, failed.cause);
          start_ready();
          collect_if_idle();
        },
        [this](const Abandon& lost) {
          logic_.on_stop();
          abandon(*lost.units);
          collect_if_idle();
        },
        [this](Stop) {
          logic_.on_stop();
          start_ready();
        },
        [this](Collect) {
          collecting_ = true;
          start_ready();
          if (!logic_.is_idle()) return;  // see collect_if_idle()
          ShareProgress& progress = logic_.progress();
          send(coordinator_, Collected{self_, progress.done(), progress.take_all()});
          quit();
        },
        [this](const StatusRequest& ask) {
          start_ready();
          send(coordinator_, Status{ask.round, status()});
        },
    };
  }

  void on_timer(std::uint32_t slot) override {
    // The actor has quit while the work was running, or has abandoned it.
    if (!work_ || !logic_.is_busy(slot)) return;
    on_end(slot, now());
  }
  void before_finish(std::uint32_t slot, std::uint32_t step) override {
    // The last step reads the share, which is gone where the work was abandoned. The slot is in the
    // cache by then.
    if (step + 1 == steps && !logic_.is_busy(slot)) return;
    lookahead::fetch_for_finish(logic_.under_way(slot), step);
  }
  void before_notice(std::uint32_t item, std::uint32_t step) override {
    lookahead::fetch_for_notice(logic_.progress().parts(), item, step);
  }
  caf::strong_actor_ptr handle() override { return ctrl(); }

  void on_exit() override {
    if (lookahead_ != nullptr) lookahead_->remove(self_, *this);
    // References to actors would keep this one alive for ever.
    resources_.reset();
    coordinator_ = nullptr;
    // The work waits for its threads, of which this may be one.
    if (!ActorThreads::leave_if_lent(system(), *this)) clear_away();
  }

 private:
  using Decision = typename Logic::Start;

  void clear_away() override {
    const caf::strong_actor_ptr self(ctrl());
    work_.reset();
    completions_.deliver_to(nullptr);
  }

  void on_end(std::uint32_t slot, Instant end) {
    finish(slot, end);
    start_ready();
    collect_if_idle();
  }

  // Ends that the backend has reported. What issues ahead leaves it to the handlers of further
  // messages to start what is ready: so a device that has fallen behind gets several ops together.
  void on_ended(std::span<const Completions::Ended> all) {
    if (!work_) return;  // as in on_timer()
    for (const auto& [slot, start, end] : all) {
      if (!logic_.is_busy(slot)) continue;
      logic_.on_started(slot, start);
      finish(slot, end);
    }
    const bool is_behind = logic_.progress().ahead().is_on() && has_message();
    if (!is_behind) start_ready();
    collect_if_idle();
  }

  // Notices are held back so that several go in one message: for notice_delay_max at most, and
  // until no new one has come for notice_gap_max. Both were measured, see
  // docs/decisions/0017-when-notices-go.md.
  static constexpr Duration notice_gap_max = std::chrono::nanoseconds(800);
  static constexpr Duration notice_delay_max = std::chrono::microseconds(2);

  Instant now() const { return clock_.instant(); }

  // Starts all work that can start. If work has finished on this thread and a message has arrived,
  // returns early: a notice in it may have released more urgent work, and its handler calls
  // start_ready() again. Notices are then held back, too, while there is more work to start.
  // Otherwise two devices that depend much on each other would send every notice by itself.
  void start_ready() {
    now_ = now();
    bool goes_on = false;  // with the next message
    while (Decision* const start = next()) {
      if (!begin(*start)) continue;
      if (has_message()) {
        goes_on = logic_.expects_more_notices();
        break;
      }
      if (now_ - reported_at_ >= report_interval) report();
    }
    if (goes_on) {
      work_->submit();
    } else {
      flush_notices();
    }
    report();
    if (may_spin_) spin_for_message();
  }

  // In virtual time, a timer may come while CAF has marked the empty mailbox as blocked.
  bool has_message() { return !mailbox().blocked() && !mailbox().empty(); }

  Decision* next() {
    return interrupted_.load(std::memory_order_relaxed) ? nullptr : logic_.next();
  }

  // Polls the mailbox for a while: if a message arrives soon, that is cheaper than to sleep and be
  // woken.
  void spin_for_message() {
    if (!logic_.is_idle() || logic_.progress().parts().empty()) return;
    for (int spins = 0; spins < 100 && mailbox().empty(); ++spins) relax();
  }

  // Repeats Collect, which came while work was running, once the last work has ended.
  void collect_if_idle() {
    if (collecting_ && logic_.is_idle()) send(this, Collect{});
  }

  // Starts the work. Returns whether it has also finished, on this thread.
  bool begin(Decision& start) {
    // Notices are sent once they have waited long enough, and before work that takes longer than a
    // message.
    if (!logic_.notices().empty() &&
        (now_ - notices_latest_ > notice_gap_max || now_ - notices_since_ > notice_delay_max ||
         work_->may_block(start))) {
      flush_notices();
      now_ = now();
    }
    logic_.on_started(start.slot, now_);
    Started started;
    try {
      started = work_->start(start);
    } catch (const std::exception& error) {
      fail(start.slot, error.what());
      return false;
    }
    if (const Issue* const issue = work_->issued(start)) on_issued(start, started, *issue);
    switch (started.state) {
      case Started::State::finished:
        // The end is also the start of the next work, so that the time between them is counted.
        now_ = clock_.instant_after(now_);
        finish(start.slot, now_);
        return true;
      case Started::State::after:
        start.path = CompletionPath(*start.part, start.item);
        clock_.start_timer(started.after, *this, start.slot);
        return false;
      case Started::State::pending:
        now_ = now();
        return false;
    }
    return false;
  }

  void on_issued(const Decision& start, const Started& started, const Issue& issue) {
    if (started.state == Started::State::after) {
      logic_.on_started(start.slot, now_ + issue.begins);
    }
    const std::size_t notices = logic_.notices().size();
    logic_.on_issued(start.slot);
    note_notices(notices, now_);
  }

  void finish(std::uint32_t slot, Instant end) {
    try {
      const Decision& ending = logic_.under_way(slot);
      work_->finished(ending, end - ending.since);
    } catch (const std::exception& error) {
      fail(slot, error.what());
      return;
    }
    const std::size_t notices = logic_.notices().size();
    logic_.on_finished(slot, end);
    note_notices(notices, end);
  }

  // There were so many before this moment, at which more may have been released.
  void note_notices(std::size_t before, Instant moment) {
    if (logic_.notices().size() == before) return;
    if (before == 0) notices_since_ = moment;
    notices_latest_ = moment;
  }

  void fail(std::uint32_t slot, std::string cause) {
    const Decision& failed = logic_.under_way(slot);
    const UnitId unit = failed.part->share.items[failed.item].unit;
    logic_.on_failed(slot);
    logic_.on_stop();
    if (!cause.empty()) send(coordinator_, Failure{self_, unit, std::move(cause)});
  }

  // Timers of such work may still come: see on_timer().
  void abandon(const std::vector<UnitId>& lost) {
    for (std::uint32_t slot = 0; slot < logic_.slots(); ++slot) {
      if (!logic_.is_busy(slot)) continue;
      const Decision& start = logic_.under_way(slot);
      const UnitId unit = start.part->share.items[start.item].unit;
      if (std::binary_search(lost.begin(), lost.end(), unit)) logic_.on_failed(slot);
    }
  }

  // Sends all notices held back: one message for each actor and window, and one for each watch.
  // Their receivers may wait for what was issued.
  void flush_notices() {
    work_->submit();
    std::vector<WindowItem>& notices = logic_.notices();
    if (notices.empty()) return;
    group(notices);
    for (auto from = notices.begin(); from != notices.end();) {
      const WindowItem& first = *from;
      if (!first.ref.resource) {
        ++from;
        send(coordinator_, watched(first));
        continue;
      }
      Notice notice{.window = first.window, .item = {}};
      for (; from != notices.end() && !before(first, *from) && notice.count < Notice::items_max;
           ++from) {
        notice.item[notice.count++] = from->ref.item;
      }
      if (lookahead_ != nullptr) lookahead_->on_sent(first.ref.resource, notice.item[0]);
      caf::anon_send((*resources_)[first.ref.resource.index()], notice);
    }
    notices.clear();
    ActorThreads::poll_if_due();
  }

  Watched watched(const WindowItem& notice) const {
    const std::uint32_t item = notice.ref.item;
    Watched watched{.item = {notice.window, {self_, item}}};
    for (const auto& part : logic_.progress().parts()) {
      const Share& share = part->share;
      if (share.window != notice.window) continue;
      watched.start = share.items[item].start;
      watched.end = share.items[item].end;
      watched.track = share.items[item].track;
      if (!share.is_transfer()) continue;
      watched.busy = share.chunks[item].busy;
      watched.shortest_chunk_ns = share.chunks[item].shortest_ns;
    }
    return watched;
  }

  static bool before(const WindowItem& a, const WindowItem& b) {
    return a.ref.resource != b.ref.resource ? a.ref.resource < b.ref.resource : a.window < b.window;
  }

  // Sorts by actor and window; stable. Mostly there are few notices.
  static void group(std::vector<WindowItem>& notices) {
    constexpr std::size_t insertion_sort_max = 32;
    if (notices.size() > insertion_sort_max)
      return std::stable_sort(notices.begin(), notices.end(), before);
    for (auto next = notices.begin() + 1; next != notices.end(); ++next) {
      std::rotate(std::upper_bound(notices.begin(), next, *next, before), next, next + 1);
    }
  }

  // Progress is reported after so many items or so long.
  static constexpr std::uint64_t report_items = 4096;
  static constexpr Duration report_interval = std::chrono::milliseconds(100);

  // Sends complete shares back at once, and reports other progress when it is due.
  void report() {
    ShareProgress& progress = logic_.progress();
    while (std::optional<Share> share = progress.take_complete()) {
      reported_ = progress.done();
      send(coordinator_, ShareComplete{self_, reported_, std::move(*share)});
    }
    const std::uint64_t news = progress.done() - reported_;
    if (news == 0 || (news < report_items && now_ - reported_at_ < report_interval)) return;
    reported_ = progress.done();
    reported_at_ = now_;
    send(coordinator_, Progress{self_, reported_});
  }

  CoordinatorLogic::Status status() const {
    const ShareProgress& progress = logic_.progress();
    CoordinatorLogic::Status status{
        .resource = self_, .in_flight = logic_.busy_slots(), .done = progress.done()};
    if (progress.parts().empty()) return status;
    // Complete shares have been sent back, so the first share left has an unfinished item.
    const BigVector<Share::Item>& items = progress.parts().front()->share.items;
    const auto pending = std::find_if(items.begin(), items.end(),
                                      [](const Share::Item& item) { return !item.finished(); });
    status.pending = pending->unit;
    status.missing = pending->waits_for;
    return status;
  }

  Logic logic_;  // first, in the cache lines that announce_ahead() fetches with the TimerListener
  ResourceId self_;
  caf::actor coordinator_;
  Clock& clock_;
  const std::atomic<bool>& interrupted_;
  NoticeLookahead* const lookahead_;  // null in real time
  std::shared_ptr<const std::vector<caf::actor>> resources_;
  MailboxCompletions completions_;
  std::optional<Work> work_;  // until exit
  bool may_spin_;
  Instant now_{};             // current time, in start_ready()
  Instant notices_since_{};   // when the oldest notice held back was released
  Instant notices_latest_{};  // when the newest one was
  std::uint64_t reported_ = 0;
  Instant reported_at_{};
  bool collecting_ = false;
  CrashReasons crash_;
};

}  // namespace troupe
