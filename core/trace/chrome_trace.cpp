// The timeline as Chrome trace JSON: the JSON object form of the Trace Event Format, which Perfetto
// (ui.perfetto.dev) and chrome://tracing open.
//
//   {"displayTimeUnit":"ns","otherData":{"machine":…,"mode":…,"seed":…},"traceEvents":[
//     {"ph":"M","pid":1,"name":"process_name","args":{"name":"1 Run on GPU"}}       a scenario
//     {"ph":"M","pid":1,"tid":2,"name":"thread_name","args":{"name":"gpu0"}}        a track
//     {"ph":"X","pid":1,"tid":2,"ts":0.000,"dur":30890.000,"name":"run[3]","cat":"task",
//      "args":{"op":"run[3]","task":"run"}}                                       an op or transfer
//     {"ph":"s","pid":1,"tid":2,"ts":30889.999,"id":7,"name":"needs","cat":"dependency"}
//     {"ph":"f","bp":"e","pid":1,"tid":3,"ts":30890.000,"id":7,"name":"needs","cat":"dependency"}
//   ]}
//
// The slice of a transfer lasts from its first chunk to its last, with the waits between them: what
// a link was busy for is in the report.
//
// Times are microseconds with three decimals, computed from integers. Viewers require the slices of
// a thread to be nested or disjoint. So if spans of one track overlap (flows of a fair link), the
// track becomes several threads, "pcie0 host→vram0 (2)" and so on. Thread ids continue over
// scenarios and differ from all process ids, because viewers treat a thread with the id of its
// process as the main thread. Only dependencies between different tracks have arrows; within a
// track the order shows them. An arrow belongs to the slice that is open on its thread at its time.
// So an arrow starts in the last nanosecond of its source, or, if the source was still delivering
// chunks, in the last one before the target began.
#include "core/trace/json_text.hpp"
#include "core/trace/writers.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <ostream>
#include <queue>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace troupe {
namespace {

// Buffers text and writes it to the stream in large pieces.
class Output {
 public:
  explicit Output(std::ostream& out) : out_(out) {}
  ~Output() { flush(); }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  template <class... Args>
  void write(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(buffer_), format, std::forward<Args>(args)...);
    if (buffer_.size() > flush_size) flush();
  }
  // Writes an event on a separate line.
  template <class... Args>
  void event(fmt::format_string<Args...> format, Args&&... args) {
    buffer_.append(std::string_view(first_ ? "\n" : ",\n"));
    first_ = false;
    write(format, std::forward<Args>(args)...);
  }

 private:
  static constexpr std::size_t flush_size = 1 << 16;

  void flush() {
    out_.write(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
    buffer_.clear();
  }

  std::ostream& out_;
  fmt::memory_buffer buffer_;
  bool first_ = true;
};

struct Microseconds {
  std::int64_t ns;
};

}  // namespace
}  // namespace troupe

template <>
struct fmt::formatter<troupe::Microseconds> {
  constexpr auto parse(format_parse_context& context) { return context.begin(); }
  template <class Context>
  auto format(troupe::Microseconds us, Context& context) const {
    const auto count = static_cast<std::uint64_t>(us.ns);
    const std::uint64_t ns = us.ns < 0 ? 0 - count : count;
    return fmt::format_to(context.out(), "{}{}.{:03}", us.ns < 0 ? "-" : "", ns / 1000, ns % 1000);
  }
};

namespace troupe {
namespace {

std::int64_t nanoseconds(Instant t) {
  return t.time_since_epoch().count();
}

// The threads of each track, and the thread on which each span is drawn.
struct Threads {
  std::vector<std::uint32_t> lane_of_span;
  std::vector<std::uint32_t> lanes_of_track;       // at least 1 each
  std::vector<std::uint32_t> first_lane_of_track;  // numbered over all tracks
};

Threads assign_threads(const Timeline& timeline) {
  const BigVector<Span>& spans = timeline.spans;
  std::vector<std::uint32_t> order(spans.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const Span& x = spans[a];
    const Span& y = spans[b];
    return std::tie(x.track, x.start, x.end, a) < std::tie(y.track, y.start, y.end, b);
  });

  Threads threads{std::vector<std::uint32_t>(spans.size()),
                  std::vector<std::uint32_t>(timeline.tracks.size(), 1),
                  {}};
  using Busy = std::pair<Instant, std::uint32_t>;  // end of the last span, lane
  std::priority_queue<Busy, std::vector<Busy>, std::greater<>> busy;
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> free;
  std::uint32_t track = 0;
  std::uint32_t lanes = 0;
  for (const std::uint32_t i : order) {
    const Span& s = spans[i];
    if (s.track != track) {
      busy = {};
      free = {};
      track = s.track;
      lanes = 0;
    }
    while (!busy.empty() && busy.top().first <= s.start) {
      free.push(busy.top().second);
      busy.pop();
    }
    if (free.empty()) free.push(lanes++);
    threads.lane_of_span[i] = free.top();
    busy.emplace(s.end, free.top());
    free.pop();
    threads.lanes_of_track[track] = std::max(threads.lanes_of_track[track], lanes);
  }
  threads.first_lane_of_track.resize(timeline.tracks.size());
  std::exclusive_scan(threads.lanes_of_track.begin(), threads.lanes_of_track.end(),
                      threads.first_lane_of_track.begin(), 0U);
  return threads;
}

// A dependency between different tracks; `edge` is its index in Timeline::predecessors.
struct Arrow {
  std::uint32_t edge;
  std::uint32_t target;
};

bool is_drawn(const Span& source, const Span& target) {
  return source.track != target.track && source.start <= target.start;
}

// The arrows that leave each span: arrows[k] for k in first[i] … first[i+1]-1.
struct Arrows {
  std::vector<std::uint32_t> first;
  std::vector<Arrow> arrows;
};

Arrows arrows_by_source(const Timeline& timeline) {
  const std::size_t n = timeline.spans.size();
  Arrows result{std::vector<std::uint32_t>(n + 1), {}};
  if (timeline.first_predecessor.empty()) return result;
  const auto for_each = [&](const auto& f) {
    for (std::uint32_t i = 0; i < n; ++i) {
      for (std::uint32_t k = timeline.first_predecessor[i]; k < timeline.first_predecessor[i + 1];
           ++k) {
        const std::uint32_t source = timeline.predecessors[k];
        if (is_drawn(timeline.spans[source], timeline.spans[i])) f(source, Arrow{k, i});
      }
    }
  };
  for_each([&](std::uint32_t source, Arrow) { ++result.first[source + 1]; });
  std::partial_sum(result.first.begin(), result.first.end(), result.first.begin());
  result.arrows.resize(result.first.back());
  std::vector<std::uint32_t> next(result.first.begin(), result.first.end() - 1);
  for_each([&](std::uint32_t source, Arrow a) { result.arrows[next[source]++] = a; });
  return result;
}

class ScenarioWriter {
 public:
  ScenarioWriter(const Timeline& timeline, std::size_t pid, std::uint64_t first_tid,
                 std::uint64_t first_arrow, Output& out)
      : timeline_(timeline),
        threads_(assign_threads(timeline)),
        arrows_(arrows_by_source(timeline)),
        pid_(pid),
        first_tid_(first_tid),
        first_arrow_(first_arrow),
        out_(out) {
    for (const std::string& label : timeline.labels) {
      const std::string quoted = json_string(label);
      labels_.push_back(quoted.substr(1, quoted.size() - 2));
    }
  }

  void write_names(const std::string& scenario) {
    const std::string name = fmt::format("{} {}", pid_, scenario);
    out_.event(R"({{"ph":"M","pid":{},"name":"process_name","args":{{"name":{}}}}})", pid_,
               json_string(name));
    out_.event(R"({{"ph":"M","pid":{},"name":"process_sort_index","args":{{"sort_index":{}}}}})",
               pid_, pid_);
    std::uint64_t tid = first_tid_;
    for (std::size_t t = 0; t < timeline_.tracks.size(); ++t) {
      for (std::uint32_t lane = 0; lane < threads_.lanes_of_track[t]; ++lane, ++tid) {
        std::string track = timeline_.tracks[t].name;
        if (lane > 0) track += fmt::format(" ({})", lane + 1);
        out_.event(R"({{"ph":"M","pid":{},"tid":{},"name":"thread_name","args":{{"name":{}}}}})",
                   pid_, tid, json_string(track));
        out_.event(R"({{"ph":"M","pid":{},"tid":{},"name":"thread_sort_index",)"
                   R"("args":{{"sort_index":{}}}}})",
                   pid_, tid, tid);
      }
    }
  }

  // Viewers keep the file's order of events of the same time. So the start of an arrow directly
  // follows its source in the file, and the end of an arrow its target: no other slice of the
  // thread opens in between.
  void write_spans() {
    for (std::uint32_t i = 0; i < timeline_.spans.size(); ++i) {
      write_slice(i);
      write_arrow_ends(i);
      write_arrow_starts(i);
    }
  }

  std::uint64_t threads() const {
    return std::accumulate(threads_.lanes_of_track.begin(), threads_.lanes_of_track.end(),
                           std::uint64_t{0});
  }

 private:
  std::uint64_t tid(std::uint32_t span) const {
    return first_tid_ + threads_.first_lane_of_track[timeline_.spans[span].track] +
           threads_.lane_of_span[span];
  }

  void write_slice(std::uint32_t i) {
    const Span& s = timeline_.spans[i];
    const std::string& label = labels_[s.label];
    name_.clear();
    name_ += label;
    if (s.index != Span::no_index) fmt::format_to(std::back_inserter(name_), "[{}]", s.index);
    out_.event(R"({{"ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"name":"{}","cat":"task",)"
               R"("args":{{"op":"{}","task":"{}"}}}})",
               pid_, tid(i), Microseconds{nanoseconds(s.start)},
               Microseconds{std::max<std::int64_t>((s.end - s.start).count(), 0)}, name_, name_,
               label);
  }

  void write_arrow_ends(std::uint32_t i) {
    if (timeline_.first_predecessor.empty()) return;
    const Span& target = timeline_.spans[i];
    for (std::uint32_t k = timeline_.first_predecessor[i]; k < timeline_.first_predecessor[i + 1];
         ++k) {
      if (!is_drawn(timeline_.spans[timeline_.predecessors[k]], target)) continue;
      out_.event(R"({{"ph":"f","bp":"e","pid":{},"tid":{},"ts":{},"id":{},)"
                 R"("name":"needs","cat":"dependency"}})",
                 pid_, tid(i), Microseconds{nanoseconds(target.start)}, first_arrow_ + k);
    }
  }

  void write_arrow_starts(std::uint32_t i) {
    const Span& source = timeline_.spans[i];
    for (std::uint32_t k = arrows_.first[i]; k < arrows_.first[i + 1]; ++k) {
      const Arrow& arrow = arrows_.arrows[k];
      const Instant leaves = std::min(source.end, timeline_.spans[arrow.target].start);
      const std::int64_t ns = std::max(nanoseconds(source.start), nanoseconds(leaves) - 1);
      out_.event(
          R"({{"ph":"s","pid":{},"tid":{},"ts":{},"id":{},"name":"needs","cat":"dependency"}})",
          pid_, tid(i), Microseconds{ns}, first_arrow_ + arrow.edge);
    }
  }

  const Timeline& timeline_;
  Threads threads_;
  Arrows arrows_;
  std::size_t pid_;
  std::uint64_t first_tid_;
  std::uint64_t first_arrow_;
  Output& out_;
  std::vector<std::string> labels_ = {};  // escaped, without quotes
  std::string name_ = {};
};

}  // namespace

void write_chrome_trace(const Report& report, std::ostream& stream) {
  Output out(stream);
  out.write(R"({{"displayTimeUnit":"ns","otherData":{{"machine":{},"mode":{},"seed":{}}},)",
            json_string(report.machine), json_string(report.mode), report.seed);
  out.write("\"traceEvents\":[");
  std::uint64_t next_tid = report.scenarios.size() + 1;
  std::uint64_t next_arrow = 1;
  for (std::size_t i = 0; i < report.scenarios.size(); ++i) {
    const ScenarioReport& s = report.scenarios[i];
    ScenarioWriter scenario(s.timeline, i + 1, next_tid, next_arrow, out);
    scenario.write_names(s.name);
    scenario.write_spans();
    next_tid += scenario.threads();
    next_arrow += s.timeline.predecessors.size();
  }
  out.write("\n]}}\n");
}

}  // namespace troupe
