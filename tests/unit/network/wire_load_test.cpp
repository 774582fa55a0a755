// What loading and making Wires does to the rest of the program: nothing.
#include "tests/unit/network/wire_end.hpp"

#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <signal.h>
#include <unistd.h>

BOOST_AUTO_TEST_SUITE(wire_load)
namespace {

using namespace troupe;
using namespace troupe::testing;

std::vector<const void*> signal_handlers() {
  std::vector<const void*> handlers;
  for (int s = 1; s < NSIG; ++s) {
    struct sigaction action {};
    sigaction(s, nullptr, &action);
    handlers.push_back(reinterpret_cast<const void*>(action.sa_handler));
  }
  return handlers;
}

std::vector<std::string> environment() {
  std::vector<std::string> all;
  for (char** variable = environ; *variable != nullptr; ++variable) all.emplace_back(*variable);
  return all;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_wire_changes_neither_signals_nor_the_environment) {
  const auto handlers = signal_handlers();
  const auto variables = environment();
  for_each_transport([&](Transport transport) {
    const WireEnd end(0, transport);
    BOOST_TEST((signal_handlers() == handlers));
    BOOST_TEST(environment() == variables, boost::test_tools::per_element());
  });
  BOOST_TEST((signal_handlers() == handlers));
}

BOOST_AUTO_TEST_CASE(wires_may_be_made_by_several_threads_at_once) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back(
        [i] { const WireEnd end(0, i % 2 == 0 ? Transport::tcp : Transport::shared_memory); });
  }
  for (std::thread& thread : threads) thread.join();
}

BOOST_AUTO_TEST_SUITE_END()
