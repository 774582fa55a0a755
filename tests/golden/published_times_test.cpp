// The times that the chapter published, predicted by `troupe simulate` within 4 %.
#include "tests/support/workspace.hpp"

#include <string>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

using namespace troupe::testing;
using nlohmann::json;

BOOST_AUTO_TEST_SUITE(published_times)
namespace {

// The makespan of each scenario of a file in config/runs, by name.
class Predicted {
 public:
  explicit Predicted(const std::string& file) {
    const Workspace workspace;
    const Finished finished =
        workspace.run({"simulate", fmt::format(TROUPE_SOURCE_DIR "/config/runs/{}.yaml", file),
                       "--json", "report.json"});
    BOOST_REQUIRE(finished.exit_code == 0);
    report_ = json::parse(workspace.read("report.json"));
  }

  void check(const std::string& scenario, double published_s) const {
    for (const json& s : report_["scenarios"]) {
      if (s["name"] != scenario) continue;
      BOOST_TEST_CONTEXT(scenario) {
        BOOST_TEST(s["makespan_s"].get<double>() == published_s,
                   boost::test_tools::tolerance(0.04));
      }
      return;
    }
    BOOST_ERROR("there is no scenario " + scenario);
  }

 private:
  json report_;
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_cpu_and_a_gpu_compute_at_once) {
  const Predicted predicted("chapter-1-cpu-gpu");
  predicted.check("CPU alone", 0.3139);
  predicted.check("GPU alone", 0.2995);
  predicted.check("CPU and GPU at once", 0.3148);
}

BOOST_AUTO_TEST_CASE(two_gpus_compute_at_once_as_long_as_the_slower_one) {
  const Predicted predicted("chapter-2-gpu-gpu");
  predicted.check("GPU 1 alone", 0.2816);
  predicted.check("GPU 2 alone", 0.2788);
  predicted.check("both GPUs at once", 0.2816);
}

BOOST_AUTO_TEST_CASE(large_products_are_copied_while_the_next_is_computed) {
  const Predicted predicted("chapter-3a-run-and-copy");
  predicted.check("run on GPU", 0.3089);
  predicted.check("copy to CPU", 0.9983);
  predicted.check("run and copy", 1.0636);
}

BOOST_AUTO_TEST_CASE(small_products_are_copied_while_the_next_is_computed) {
  const Predicted predicted("chapter-3b-run-and-copy");
  predicted.check("run, then copy", 1.4409);
  predicted.check("run and copy", 1.1472);
}

BOOST_AUTO_TEST_SUITE_END()
