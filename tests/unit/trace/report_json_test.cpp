#include "core/trace/writers.hpp"
#include "tests/support/contains.hpp"
#include "tests/unit/trace/samples.hpp"

#include <limits>
#include <sstream>

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

using namespace troupe;
using troupe::testing::contains;

BOOST_AUTO_TEST_SUITE(report_as_json)
namespace {

std::string written(const Report& report) {
  std::ostringstream out;
  write_report_json(report, out);
  return out.str();
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_key_is_there) {
  const auto json = nlohmann::json::parse(written(samples::one_gpu()));
  for (const char* key : {"machine", "mode", "seed", "notes", "scenarios"}) {
    BOOST_TEST(json.contains(key), key);
  }
  BOOST_TEST(json["scenarios"].size() == 3);
  for (const auto& scenario : json["scenarios"]) {
    for (const char* key :
         {"name", "outcome", "ops", "transfers", "planned", "serial_s", "lower_bound_s", "bound_by",
          "makespan_s", "speedup", "overlap_efficiency", "verified", "resources"}) {
      BOOST_TEST(scenario.contains(key), key);
    }
    BOOST_TEST(!scenario.contains("error"));
    for (const auto& resource : scenario["resources"]) {
      for (const char* key : {"name", "kind", "lanes", "busy_s", "utilisation"}) {
        BOOST_TEST(resource.contains(key), key);
      }
    }
  }
  BOOST_TEST(json["scenarios"][0]["verified"].is_null());
  BOOST_TEST(json["scenarios"][1]["verified"] == true);
}

BOOST_AUTO_TEST_CASE(what_did_not_finish_has_no_speedup) {
  Report report = samples::one_gpu();
  report.scenarios[0].outcome = Outcome::failed;
  report.scenarios[1].outcome = Outcome::interrupted;
  const auto json = nlohmann::json::parse(written(report));
  for (const std::size_t unfinished : {0, 1}) {
    BOOST_TEST(json["scenarios"][unfinished]["speedup"].is_null());
    BOOST_TEST(json["scenarios"][unfinished]["overlap_efficiency"].is_null());
  }
  BOOST_TEST(json["scenarios"][2]["speedup"].is_number());
}

BOOST_AUTO_TEST_CASE(what_took_no_time_has_no_speedup) {
  Report report = samples::one_gpu();
  report.scenarios[0].makespan = Duration{0};
  const auto json = nlohmann::json::parse(written(report));
  BOOST_TEST(json["scenarios"][0]["speedup"].is_null());
  BOOST_TEST(json["scenarios"][0]["overlap_efficiency"].is_null());
}

BOOST_AUTO_TEST_CASE(times_are_exact_to_the_nanosecond) {
  Report report;
  report.scenarios.resize(1);
  report.scenarios[0].serial = Duration{313'900'000};
  report.scenarios[0].makespan = Duration::max();
  report.scenarios[0].lower_bound = Duration{-1};
  const std::string text = written(report);
  BOOST_TEST(contains(text, "\"serial_s\": 0.313900000,"));
  BOOST_TEST(contains(text, "\"makespan_s\": 9223372036.854775807,"));
  BOOST_TEST(contains(text, "\"lower_bound_s\": -0.000000001,"));
}

BOOST_AUTO_TEST_CASE(the_same_report_gives_the_same_bytes) {
  BOOST_TEST(written(samples::one_gpu()) == written(samples::one_gpu()));
}

BOOST_AUTO_TEST_CASE(names_are_escaped_and_broken_utf_8_is_replaced) {
  Report report;
  report.machine = "a \"b\"\\\n\x01\xFF→";
  report.scenarios.resize(1);
  report.scenarios[0].name = std::string("\0end", 4);
  const auto json = nlohmann::json::parse(written(report));
  BOOST_TEST(json["machine"] == "a \"b\"\\\n\x01\uFFFD→");
  BOOST_TEST(json["scenarios"][0]["name"] == std::string("\0end", 4));
}

BOOST_AUTO_TEST_CASE(failures_and_differences_are_told) {
  Report report;
  report.scenarios.resize(2);
  report.scenarios[0].outcome = Outcome::failed;
  report.scenarios[0].error = "run[3] on gpu0: no space left";
  report.scenarios[1].outcome = Outcome::interrupted;
  report.scenarios[1].verified = false;
  report.scenarios[1].mismatch = "run[3]";
  report.scenarios[1].resources = {
      {.name = "gpu0", .utilisation = std::numeric_limits<double>::quiet_NaN()}};
  const auto json = nlohmann::json::parse(written(report));
  BOOST_TEST(json["scenarios"][0]["outcome"] == "failed");
  BOOST_TEST(json["scenarios"][0]["error"] == report.scenarios[0].error);
  BOOST_TEST(json["scenarios"][1]["outcome"] == "interrupted");
  BOOST_TEST(json["scenarios"][1]["verified"] == false);
  BOOST_TEST(json["scenarios"][1]["mismatch"] == "run[3]");
  BOOST_TEST(json["scenarios"][1]["resources"][0]["utilisation"].is_null());
}

BOOST_AUTO_TEST_CASE(an_empty_report_is_json_too) {
  const auto json = nlohmann::json::parse(written({}));
  BOOST_TEST(json["scenarios"].empty());
  BOOST_TEST(json["notes"].empty());
}

BOOST_AUTO_TEST_SUITE_END()
