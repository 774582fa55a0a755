// Tasks whose op makes several tensors: "half" of test_ops(), with "sum" and "twice".
#include "core/patterns/pattern_ops.hpp"
#include "core/patterns/patterns.hpp"
#include "tests/support/small_graph.hpp"
#include "tests/unit/config/task_files.hpp"

#include <string>
#include <string_view>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(tasks_of_several_outputs)
namespace {

const OpRegistry& ops() {
  static const OpRegistry registry = [] {
    OpRegistry all = pattern_ops();
    all.add(testing::test_ops()[testing::test_ops().find("half")]);
    return all;
  }();
  return registry;
}

RunFile load_tasks(std::string_view tasks) {
  const TemporaryFiles files;
  return load_run_file(files.write("run.yaml", with_head(tasks)), ops());
}

std::string error_of_tasks(std::string_view tasks) {
  const TemporaryFiles files;
  const auto path = files.write("run.yaml", with_head(tasks));
  return files.error_of([&] { load_run_file(path, ops()); });
}

BOOST_AUTO_TEST_CASE(the_name_means_the_first_output_and_a_dot_the_others) {
  const RunFile run = load_tasks(
      "tasks:\n"
      "  h: {op: half, in: x, on: cpu1}\n"
      "  a: {op: relu, in: h}\n"
      "  b: {op: relu, in: h.sum}\n"
      "  c: {op: add, in: [h, h.twice]}\n");
  BOOST_TEST(input_names(run.graph, element(run, "a")) == (Names{"h"}));
  BOOST_TEST(input_names(run.graph, element(run, "b")) == (Names{"h.sum"}));
  BOOST_TEST(input_names(run.graph, element(run, "c")) == (Names{"h", "h.twice"}));
  BOOST_TEST(to_string(run.graph.type(element(run, "b"))) == "float32 [1]");
  BOOST_TEST(input_names(run.graph, element(run, "h", 1)) == (Names{"h"}));
}

BOOST_AUTO_TEST_CASE(lists_of_outputs_are_read_element_by_element) {
  const RunFile run = load_tasks(
      "tasks:\n"
      "  h: {op: half, in: x, repeat: 3}\n"
      "  all: {op: relu, in: h.twice}\n"
      "  one: {op: relu, in: 'h.sum[2]'}\n"
      "  joined: {op: concat, in: 'h.sum[*]', axis: 0}\n"
      "save: {h.twice: 'twice-{i}.npy', 'h.sum[1]': sum.npy}\n");
  const Graph& graph = run.graph;
  BOOST_TEST(graph.group(graph.find_group("all")).count == 3U);
  BOOST_TEST(input_names(graph, element(run, "all", 1)) == (Names{"h.twice[1]"}));
  BOOST_TEST(input_names(graph, element(run, "one")) == (Names{"h.sum[2]"}));
  BOOST_TEST(input_names(graph, element(run, "joined")) ==
             (Names{"h.sum[0]", "h.sum[1]", "h.sum[2]"}));
  BOOST_REQUIRE(run.saves.size() == 4U);
  BOOST_TEST(graph.name(run.saves[2].ops.at(0)) == "h.twice[2]");
  BOOST_TEST(graph.name(run.saves[3].ops.at(0)) == "h.sum[1]");
}

BOOST_AUTO_TEST_CASE(a_list_is_saved_by_its_name_alone) {
  BOOST_TEST(
      error_of_tasks("tasks: {h: {op: half, in: x, repeat: 3}}\nsave: {'h[*]': 'h-{i}.npy'}\n")
          .starts_with("run.yaml:4:8: 'h[*]' is no name of a tensor; write 'h': a list is"));
}

BOOST_AUTO_TEST_CASE(an_output_that_is_not_there_is_refused_with_those_that_are) {
  BOOST_TEST(error_of_tasks("tasks: {h: {op: half, in: x}, a: {op: relu, in: h.twize}}\n") ==
             "run.yaml:3:49: 'a' reads 'h.twize', which is no tensor or task; did you mean "
             "'h.twice'?");
  BOOST_TEST(error_of_tasks("tasks: {h: {op: relu, in: x}, a: {op: relu, in: h.sum}}\n")
                 .find("'a' reads 'h.sum', which is no tensor or task") != std::string::npos);
  BOOST_TEST(error_of_tasks("tasks: {h: {op: half, in: x}}\nsave: {h.sums: y.npy}\n") ==
             "run.yaml:4:8: 'h.sums' is no tensor or task; did you mean 'h.sum'?");
}

BOOST_AUTO_TEST_CASE(a_name_that_means_an_output_is_taken) {
  BOOST_TEST(error_of_tasks("tasks: {h: {op: half, in: x}, h.sum: {op: relu, in: x}}\n") ==
             "run.yaml:3:31: the name 'h.sum' is taken: it means an output of 'h'; rename it");
}

BOOST_AUTO_TEST_CASE(a_name_with_dots_may_be_that_of_a_task_itself) {
  const RunFile run =
      load_tasks("tasks: {h.x: {op: half, in: x}, a: {op: add, in: [h.x, h.x.twice]}}\n");
  BOOST_TEST(input_names(run.graph, element(run, "a")) == (Names{"h.x", "h.x.twice"}));
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
