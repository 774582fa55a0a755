// Sessions on nodes: processes of this host.
#include "actors/session.hpp"
#include "actors/tensor_ops.hpp"
#include "core/base/error.hpp"
#include "core/machine/discover.hpp"
#include "tests/support/certificates.hpp"
#include "tests/support/node_process.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <unistd.h>

namespace troupe {
BOOST_AUTO_TEST_SUITE(session_nodes)
namespace {

using namespace testing;

// Some node processes.
struct Nodes : Workspace {
  explicit Nodes(std::size_t count, const std::vector<std::string>& options = {}) {
    for (std::size_t n = 0; n < count; ++n) {
      processes.push_back(std::make_unique<NodeProcess>(*this, options));
      addresses.push_back(processes.back()->address());
    }
  }

  std::vector<std::unique_ptr<NodeProcess>> processes;
  std::vector<std::string> addresses;
};

// Checks that `call` throws an Error whose text has all of these words.
void check_error(const std::function<void()>& call, const std::vector<std::string>& words) {
  try {
    call();
    BOOST_ERROR("no error");
  } catch (const Error& error) {
    const std::string what = error.what();
    for (const std::string& word : words) {
      BOOST_TEST(what.find(word) != std::string::npos, "no '" << word << "' in: " << what);
    }
  }
}

// Stops this process and these for so many seconds. These go on a while after this one.
void stop_all_for(const std::string& seconds, const std::vector<pid_t>& others) {
  std::string pids;
  for (const pid_t pid : others) pids += " " + std::to_string(pid);
  const std::string self = std::to_string(getpid());
  const std::string wake_others = pids.empty() ? "" : "; sleep 0.5; kill -CONT" + pids;
  Program(
      {"sh", "-c",
       "kill -STOP " + self + pids + "; sleep " + seconds + "; kill -CONT " + self + wake_others})
      .wait();
}

const char* const devices[] = {"n0.cpu0", "n1.cpu0"};

// What a program that mixes the two devices computes.
std::vector<float> chain(Session& session, bool places, int length) {
  std::vector<float> ones(64, 1.0F);
  Tensor x = session.tensor(ones, {8, 8});
  Tensor y = session.uniform({8, 8}, 7);
  for (int i = 0; i < length; ++i) {
    if (places) {
      const DeviceScope on = session.on(devices[i % 2]);
      y = relu(matmul(x, y) - y);
      x = axpy(1e-3, y, x);
    } else {
      y = relu(matmul(x, y) - y);
      x = axpy(1e-3, y, x);
    }
    y = axpy(-0.99, y, y);
  }
  return (x + y).read<float>();
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_session_computes_on_nodes_what_it_computes_here) {
  Session here;
  const std::vector<float> expected = chain(here, false, 50);
  const Nodes nodes(2);
  Session session({.node_addresses = nodes.addresses});
  BOOST_TEST(session.machine().devices.size() == 2);
  BOOST_TEST(chain(session, true, 50) == expected, boost::test_tools::per_element());
  BOOST_TEST(chain(session, false, 50) == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(values_go_to_the_node_of_the_scope_and_come_back) {
  const Nodes nodes(2);
  std::vector<float> values(3'000'000);  // more than goes in one message, or is under way at once
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  bool is_deleted = false;
  {
    Session session({.node_addresses = nodes.addresses});
    const DeviceScope on = session.on("n1.cpu0");
    const Tensor copied = session.tensor(values, {3000, 1000});
    const Tensor adopted = session.adopt(values, {3'000'000}, [&] { is_deleted = true; });
    BOOST_TEST((copied.read<float>() == values));
    BOOST_TEST((adopted.read<float>() == values));
    copied.save(nodes.path() / "copied.npy");
    const Tensor loaded = session.load(nodes.path() / "copied.npy");
    BOOST_TEST((loaded.to("n0.mem0").read<float>() == values));
    const std::vector<std::int64_t> whole{1, -2, 3};
    BOOST_TEST((session.tensor(whole, {3}).read<std::int64_t>() == whole));
  }
  BOOST_TEST(is_deleted);
}

BOOST_AUTO_TEST_CASE(copies_between_nodes_overlap_with_computation) {
  const Nodes nodes(2);
  Session session({.node_addresses = nodes.addresses});
  const DeviceScope on = session.on("n0.cpu0");
  const Tensor x = session.uniform({600, 600});
  const ScenarioReport& report = session.measure("run and copy", [&] {
    for (int i = 0; i < 10; ++i) matmul(x, x).to("n1.mem0");
    session.call("sleep", {x}, {{"duration", Duration(std::chrono::seconds(2))}});
  });
  BOOST_TEST(report.ops == 21U);
  BOOST_TEST(report.transfers == 20U);
  Instant first_moved = Instant::max();
  Instant last_computed{};  // with the nap: on a busy host, links may come too late for products
  for (const Span& span : report.timeline.spans) {
    if (report.timeline.tracks[span.track].resource == "n0.cpu0") {
      last_computed = std::max(last_computed, span.end);
    } else {
      first_moved = std::min(first_moved, span.start);
    }
  }
  BOOST_TEST((first_moved < last_computed));
}

// A graph of a session lives for some 65,000 ops.
BOOST_AUTO_TEST_CASE(more_calls_than_a_graph_holds_come_from_two_threads) {
  const Nodes nodes(2);
  Session session({.node_addresses = nodes.addresses});
  std::vector<Tensor> sums(2);
  const auto work = [&](std::size_t t) {
    const DeviceScope on = session.on(devices[t]);
    const Tensor one = session.call("constant", {}, {{"value", 1.0}}, {.shape = {2}});
    sums[t] = session.zeros({2});
    for (int i = 0; i < 50'000; ++i) sums[t] = sums[t] + one;
  };
  std::thread other(work, 1);
  work(0);
  other.join();
  for (const Tensor& sum : sums) BOOST_TEST((sum.read<float>() == std::vector<float>(2, 50'000)));
}

BOOST_AUTO_TEST_CASE(a_node_serves_one_session_after_another) {
  const Nodes nodes(2);
  for (int i = 0; i < 3; ++i) {
    Session session({.node_addresses = nodes.addresses});
    session.uniform({8}).wait();
    check_error([&] { Session another({.node_addresses = nodes.addresses}); },
                {"another session of this program has it", "end that one first"});
  }
}

BOOST_AUTO_TEST_CASE(the_environment_names_nodes_for_a_session_that_names_none) {
  const Nodes nodes(2);
  setenv(nodes_variable, (nodes.addresses[0] + "," + nodes.addresses[1]).c_str(), 1);
  const auto nodes_of = [](const Session& session) { return session.machine().nodes.size(); };
  const Machine here = local_machine(discover_host(), {});
  {
    Session session;
    BOOST_TEST(nodes_of(session) == 2U);
    BOOST_TEST(session.uniform({8}).read<float>().size() == 8U);
  }
  BOOST_TEST(nodes_of(Session({.node_addresses = {nodes.addresses[1]}})) == 1U);
  BOOST_TEST(nodes_of(Session(here)) == 0U);
  BOOST_TEST(nodes_of(Session({.mode = Mode::simulate})) == 0U);
  setenv(nodes_variable, (" " + nodes.addresses[0] + " ,\t" + nodes.addresses[1] + "\n").c_str(),
         1);
  BOOST_TEST(nodes_of(Session()) == 2U);
  setenv(nodes_variable, "127.0.0.1", 1);
  check_error([] { Session session; }, {"127.0.0.1", "(from TROUPE_NODES)", "HOST:PORT"});
  setenv(nodes_variable, "127.0.0.1:1,127.0.0.1:2", 1);
  check_error([] { Session session; }, {"2 of 2 nodes can't be reached", "(from TROUPE_NODES)"});
  check_error([] { Session session({.tls = {.authority = "ca.pem"}}); }, {"TLS needs"});
  for (const std::string& address : nodes.addresses) {
    for (const std::string& list : {"," + address, address + ",", address + ", ," + address}) {
      setenv(nodes_variable, list.c_str(), 1);
      check_error([] { Session session; },
                  {"TROUPE_NODES='" + list + "' lacks an address beside a comma"});
    }
  }
  for (const char* const none : {"", " "}) {
    setenv(nodes_variable, none, 1);
    BOOST_TEST(nodes_of(Session()) == 0U);
  }
  unsetenv(nodes_variable);
}

BOOST_AUTO_TEST_CASE(tensors_go_through_shared_memory_if_the_session_or_the_environment_says_so) {
  const auto shares_memory = [](const std::function<Session(const Nodes&)>& open) {
    const Nodes nodes(2);
    Session session = open(nodes);
    const DeviceScope on = session.on("n1.cpu0");
    BOOST_TEST(session.uniform({8}).to("n0.mem0").read<float>().size() == 8U);
    std::ifstream maps(fmt::format("/proc/{}/maps", nodes.processes[0]->program().pid()));
    return std::string(std::istreambuf_iterator<char>(maps), {}).find("libtroupe_ucx") !=
           std::string::npos;
  };
  const auto with_environment = [&](const char* transport) {
    return shares_memory([&](const Nodes& nodes) {
      setenv(nodes_variable, (nodes.addresses[0] + "," + nodes.addresses[1]).c_str(), 1);
      setenv(transport_variable, transport, 1);
      return Session();
    });
  };
  const auto with_options = [&](bool node_shared_memory) {
    return shares_memory([&](const Nodes& nodes) {
      return Session({.node_addresses = nodes.addresses, .node_shared_memory = node_shared_memory});
    });
  };
  BOOST_TEST(with_environment("shared-memory"));
  BOOST_TEST(!with_options(false));  // the variable is for the nodes of the environment
  BOOST_TEST(with_options(true));
  BOOST_TEST(!with_environment("tcp"));
  BOOST_TEST(!with_environment(""));
  check_error([&] { with_environment("rdma"); },
              {"TROUPE_TRANSPORT='rdma' is no transport", "tcp or shared-memory"});
  unsetenv(nodes_variable);
  unsetenv(transport_variable);
  check_error([] { Session session({.node_shared_memory = true}); },
              {"`node_shared_memory`, and no nodes"});
}

BOOST_AUTO_TEST_CASE(a_killed_node_is_named_and_the_others_serve_again) {
  const Nodes nodes(2);
  {
    Session session({.node_addresses = nodes.addresses});
    Tensor x = session.uniform({64, 64});
    const auto go_on = [&] {  // the loss may be noticed by any call
      for (int i = 0; i < 1000; ++i) {
        const DeviceScope on = session.on(devices[i % 2]);
        x = axpy(-0.5, x, x);
        if (i == 200) nodes.processes[1]->program().send(SIGKILL);
      }
      x.read<float>();
    };
    check_error(go_on, {"node n1 was lost", "start it again"});
    check_error([&] { x.read<float>(); }, {"node n1 was lost", "start it again"});
    check_error([&] { session.uniform({8}); }, {"node n1 was lost"});
  }
  Session session({.node_addresses = {nodes.addresses[0]}});
  BOOST_TEST(session.uniform({8}).read<float>().size() == 8U);
  nodes.processes[1]->end();
}

// For longer than a session waits for a node: 3 s.
BOOST_AUTO_TEST_CASE(a_session_outlives_a_stop_of_its_program_and_its_nodes) {
  const Nodes nodes(2, {"--node-timeout", "86400"});
  Session session({.node_addresses = nodes.addresses});
  const Tensor x = session.uniform({8, 8});
  x.wait();
  stop_all_for("4", {nodes.processes[0]->program().pid(), nodes.processes[1]->program().pid()});
  for (int i = 0; i < 300; ++i) {  // the loss would be noticed some time after
    const DeviceScope on = session.on(devices[i % 2]);
    BOOST_TEST(relu(x).read<float>().size() == 64U);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

// A debugger stops the program only.
BOOST_AUTO_TEST_CASE(a_launched_session_outlives_a_stop_of_its_program) {
  if (std::getenv(nodes_variable) == nullptr) {
    const std::string self = std::filesystem::read_symlink("/proc/self/exe");
    const Workspace workspace;
    const Finished finished =
        Program(troupe_command(
                    {"launch", "--local-nodes", "2", self,
                     "--run_test=session_nodes/a_launched_session_outlives_a_stop_of_its_program"}),
                options_in(workspace))
            .wait();
    BOOST_TEST(finished.exit_code == 0, finished.out << finished.err);
    check_nothing_is_left(workspace);
    return;
  }
  Session session;
  const Tensor x = session.uniform({8, 8});
  x.wait();
  stop_all_for("4", {});
  BOOST_TEST(relu(x).read<float>().size() == 64U);
}

BOOST_AUTO_TEST_CASE(who_was_stopped_for_too_long_is_told_what_gives_nodes_more_patience) {
  const Nodes nodes(1, {"--node-timeout", "2"});
  Session session({.node_addresses = nodes.addresses});
  const Tensor x = session.uniform({8, 8});
  x.wait();
  stop_all_for("6", {});
  check_error([&] { x.read<float>(); },
              {"node n0 was lost", "if this program was stopped", "--node-timeout"});
  nodes.processes[0]->end();  // it says that its leader is lost
}

BOOST_AUTO_TEST_CASE(a_session_shows_nodes_with_tls_who_it_is) {
  const Certificates certificates;
  const Nodes nodes(2, certificates.options());
  const TlsFiles tls{.certificate = certificates.path("node.pem"),
                     .key = certificates.path("node.key"),
                     .authority = certificates.path("ca.pem")};
  {
    Session session({.node_addresses = nodes.addresses, .tls = tls});
    const DeviceScope on = session.on("n1.cpu0");
    BOOST_TEST(session.uniform({8}).to("n0.mem0").read<float>().size() == 8U);
  }
  check_error([&] { Session session({.node_addresses = nodes.addresses}); }, {"2 of 2 nodes"});
  for (const auto& node : nodes.processes) node->end();  // they say whom they have refused
}

BOOST_AUTO_TEST_CASE(a_machine_of_nodes_is_used_as_its_file_describes_it) {
  const Nodes nodes(2);
  nodes.write("machine.yaml",
              "nodes:\n  left: {machine: local}\n  right: {machine: local}\n"
              "network: {bandwidth: 1 GB/s, latency: 50 us}\n");
  Session session(nodes.path() / "machine.yaml", {.node_addresses = nodes.addresses});
  const DeviceScope on = session.on("right.cpu0");
  BOOST_TEST(session.uniform({8}).to("left.mem0").read<float>().size() == 8U);
}

BOOST_AUTO_TEST_CASE(what_can_not_be_a_session_on_nodes_is_refused) {
  const Nodes nodes(2);
  const std::vector<std::string>& addresses = nodes.addresses;
  check_error([&] { Session session({.mode = Mode::simulate, .node_addresses = addresses}); },
              {"a simulation runs on no nodes"});
  check_error(
      [&] {
        Session session({.node_addresses = {addresses[0], addresses[0]}});
      },
      {"given twice"});
  check_error([&] { Session session({.node_addresses = {"127.0.0.1"}}); },
              {"127.0.0.1", "HOST:PORT"});
  nodes.write("three.yaml",
              "nodes: {n: {machine: local, count: 3}}\n"
              "network: {bandwidth: 1 GB/s, latency: 50 us}\n");
  check_error([&] { Session session(nodes.path() / "three.yaml", {.node_addresses = addresses}); },
              {"3 nodes", "gets 2"});
  check_error([&] { Session session(nodes.path() / "three.yaml"); },
              {"3 nodes", ".node_addresses"});
  OpRegistry more = builtin_ops();
  more.add({.name = "mine", .type = [](const OpSignature& s) { return s.inputs[0]; }});
  check_error([&] { Session session({.ops = more, .node_addresses = addresses}); },
              {"'mine' it doesn't have", "--ops"});
  Session session({.node_addresses = addresses});
  BOOST_TEST(session.uniform({8}).read<float>().size() == 8U);
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
