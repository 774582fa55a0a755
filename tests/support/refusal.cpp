#include "tests/support/refusal.hpp"

#include <algorithm>
#include <array>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

namespace troupe::testing {
namespace {

constexpr std::string_view old_report = "the report of yesterday\n";

}  // namespace

void check_refused(const Workspace& workspace, const std::vector<std::string>& arguments,
                   std::string_view start, const std::vector<std::string>& words) {
  BOOST_TEST_CONTEXT("troupe " << fmt::format("{}", fmt::join(arguments, " "))) {
    const auto before = workspace.snapshot();
    const Finished finished = workspace.run(arguments);
    BOOST_TEST_INFO(finished.err);
    BOOST_TEST(finished.exit_code == 2);
    BOOST_TEST(finished.signal == 0);
    BOOST_TEST(finished.out == "");
    BOOST_TEST(std::count(finished.err.begin(), finished.err.end(), '\n') == 1);
    BOOST_TEST(finished.err.ends_with('\n'));
    const std::string wanted = fmt::format("troupe: {}", start);
    BOOST_TEST(finished.err.starts_with(wanted),
               "\"" << finished.err << "\" doesn't start with \"" << wanted << "\"");
    BOOST_TEST(finished.err.find("; ") != std::string::npos,
               "\"" << finished.err << "\" doesn't say what to do");
    for (const std::string& word : words) {
      BOOST_TEST(finished.err.find(word) != std::string::npos,
                 "\"" << finished.err << "\" has no \"" << word << "\" in it");
    }
    BOOST_TEST((workspace.snapshot() == before), "files were changed, made or left behind");
  }
}

void check_file_refused(const std::vector<std::string>& commands, std::string_view marked_text,
                        const std::vector<std::string>& words) {
  std::string text(marked_text);
  std::string start = "run.yaml:";
  const std::size_t mark = text.find('^');
  BOOST_REQUIRE(mark != std::string::npos);
  const std::size_t line_start = mark == 0 ? 0 : text.rfind('\n', mark - 1) + 1;
  start += fmt::format("{}:{}: ", 1 + std::ranges::count(text.substr(0, mark), '\n'),
                       1 + mark - line_start);
  text.erase(mark, 1);

  const Workspace workspace;
  workspace.write("run.yaml", text);
  workspace.write("old.json", old_report);
  for (const std::string& command : commands) {
    std::vector<std::string> arguments = {command, "run.yaml"};
    if (command != "validate") {
      for (const char* argument : {"--json", "old.json", "--trace", "new.json"}) {
        arguments.emplace_back(argument);
      }
    }
    check_refused(workspace, arguments, start, words);
  }
}

void check_file_refused(std::string_view marked_text, const std::vector<std::string>& words) {
  check_file_refused({"simulate"}, marked_text, words);
}

std::string with_tasks(std::string_view tasks, std::string_view machine_part) {
  constexpr std::array<std::string_view, 9> machine = {
      "  devices:",
      "    cpu0: {kind: cpu, memory: host, flops: 1 GFLOP/s, bandwidth: 10 GB/s}",
      "    cpu1: {kind: cpu, memory: far, flops: 1 GFLOP/s, bandwidth: 10 GB/s}",
      "  memories:",
      "    host: {size: 1 GiB}",
      "    far: {size: 1 MiB}",
      "    island: {size: 1 GiB}",
      "  links:",
      "    wire: {between: [host, far], bandwidth: 1 GB/s, latency: 10 us}"};
  std::string part(machine_part);
  part.erase(std::remove(part.begin(), part.end(), '^'), part.end());
  const std::string name = part.substr(0, part.find(':') + 1);
  std::string text = "machine:\n";
  for (const std::string_view line : machine) {
    const bool replaced = !name.empty() && line.starts_with(name);
    text += fmt::format("{}\n", replaced ? machine_part : line);
  }
  return text + "tasks:\n" + std::string(tasks);
}

}  // namespace troupe::testing
