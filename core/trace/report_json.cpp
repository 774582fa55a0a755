// The JSON report, as docs/report.md describes it.
#include "core/trace/json_text.hpp"
#include "core/trace/writers.hpp"

#include <cmath>
#include <ostream>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace troupe {
namespace {

std::string json_seconds(Duration d) {
  const bool negative = d.count() < 0;
  const auto count = static_cast<std::uint64_t>(d.count());
  const std::uint64_t ns = negative ? 0 - count : count;
  return fmt::format("{}{}.{:09}", negative ? "-" : "", ns / 1'000'000'000, ns % 1'000'000'000);
}

std::string json_ratio(double ratio) {
  return std::isfinite(ratio) ? fmt::format("{:.6f}", ratio) : "null";
}

// Writes members and elements, each on its own line, with commas in between.
class JsonWriter {
 public:
  explicit JsonWriter(std::ostream& out) : out_(out) {}

  void open(char bracket) {
    out_ << bracket;
    indent_ += 2;
    first_ = true;
  }
  void close(char bracket) {
    indent_ -= 2;
    if (!first_) out_ << '\n' << std::string(indent_, ' ');
    out_ << bracket;
    first_ = false;
  }
  void next() {
    out_ << (first_ ? "\n" : ",\n") << std::string(indent_, ' ');
    first_ = false;
  }
  void key(std::string_view name) {
    next();
    out_ << '"' << name << "\": ";
  }
  void member(std::string_view name, std::string_view value) {
    key(name);
    out_ << value;
  }

 private:
  std::ostream& out_;
  std::size_t indent_ = 0;
  bool first_ = true;
};

void write_resource(JsonWriter& json, const ResourceUse& use) {
  json.next();
  json.open('{');
  json.member("name", json_string(use.name));
  json.member("kind", use.kind == ResourceUse::Kind::device ? "\"device\"" : "\"link\"");
  json.member("lanes", std::to_string(use.streams));
  json.member("busy_s", json_seconds(use.busy));
  json.member("utilisation", json_ratio(use.utilisation));
  json.close('}');
}

void write_scenario(JsonWriter& json, const ScenarioReport& s) {
  json.next();
  json.open('{');
  json.member("name", json_string(s.name));
  json.member("outcome", json_string(outcome_name(s.outcome)));
  if (s.outcome == Outcome::failed) json.member("error", json_string(s.error));
  json.member("ops", std::to_string(s.ops));
  json.member("transfers", std::to_string(s.transfers));
  json.member("planned", std::to_string(s.planned));
  json.member("serial_s", json_seconds(s.serial));
  json.member("lower_bound_s", json_seconds(s.lower_bound));
  json.member("bound_by", json_string(s.bound_by));
  json.member("makespan_s", json_seconds(s.makespan));
  json.member("speedup", s.is_rated() ? json_ratio(s.speedup()) : "null");
  json.member("overlap_efficiency", s.is_rated() ? json_ratio(s.overlap_efficiency()) : "null");
  json.member("verified", s.verified ? (*s.verified ? "true" : "false") : "null");
  if (s.verified && !*s.verified) json.member("mismatch", json_string(s.mismatch));
  json.key("resources");
  json.open('[');
  for (const ResourceUse& use : s.resources) write_resource(json, use);
  json.close(']');
  json.close('}');
}

}  // namespace

void write_report_json(const Report& report, std::ostream& out) {
  JsonWriter json(out);
  json.open('{');
  json.member("machine", json_string(report.machine));
  json.member("mode", json_string(report.mode));
  json.member("seed", std::to_string(report.seed));
  if (report.interrupted) json.member("interrupted", "true");
  json.key("notes");
  json.open('[');
  for (const std::string& note : report.notes) {
    json.next();
    out << json_string(note);
  }
  json.close(']');
  json.key("scenarios");
  json.open('[');
  for (const ScenarioReport& s : report.scenarios) write_scenario(json, s);
  json.close(']');
  json.close('}');
  out << '\n';
}

}  // namespace troupe
