// Lists of addresses, and connecting to hosts that don't answer.
#include "core/network/host_port.hpp"

#include "core/base/error.hpp"

#include <array>
#include <chrono>
#include <csignal>
#include <string>
#include <string_view>
#include <vector>

#include <arpa/inet.h>
#include <boost/test/unit_test.hpp>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

BOOST_AUTO_TEST_SUITE(host_port)
namespace {

using namespace troupe;
using namespace std::chrono_literals;

// A port whose queue of connections is full: the kernel answers nobody else.
class FullPort {
 public:
  FullPort() {
    BOOST_REQUIRE(bind(socket_, at(), size_) == 0);
    BOOST_REQUIRE(listen(socket_, 0) == 0);
    BOOST_REQUIRE(getsockname(socket_, at(), &size_) == 0);
    for (int& visitor : visitors_) {
      visitor = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
      static_cast<void>(connect(visitor, at(), size_));
    }
  }
  ~FullPort() {
    for (const int visitor : visitors_) close(visitor);
    close(socket_);
  }
  FullPort(const FullPort&) = delete;
  FullPort& operator=(const FullPort&) = delete;

  HostPort address() const { return {"127.0.0.1", ntohs(address_.sin_port)}; }

 private:
  sockaddr* at() { return reinterpret_cast<sockaddr*>(&address_); }

  sockaddr_in address_{.sin_family = AF_INET,
                       .sin_port = 0,
                       .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)},
                       .sin_zero = {}};
  socklen_t size_ = sizeof address_;
  int socket_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::array<int, 4> visitors_{};
};

// A signal every 5 ms while it lives.
class Signals {
 public:
  Signals() {
    struct sigaction action {};
    action.sa_handler = [](int) {};
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, &before_);
    const itimerval often{.it_interval = {0, 5'000}, .it_value = {0, 5'000}};
    setitimer(ITIMER_REAL, &often, nullptr);
  }
  ~Signals() {
    const itimerval none{};
    setitimer(ITIMER_REAL, &none, nullptr);
    sigaction(SIGALRM, &before_, nullptr);
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

 private:
  struct sigaction before_ {};
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_list_of_addresses_is_split_at_commas_and_what_is_missing_is_empty) {
  const auto expect = [](std::string_view list, const std::vector<std::string>& addresses) {
    BOOST_TEST(split_addresses(list) == addresses, boost::test_tools::per_element());
  };
  expect("a:1", {"a:1"});
  expect(" a:1, [::1]:2\t,b:3\n", {"a:1", "[::1]:2", "b:3"});
  expect("a:1,,b:2", {"a:1", "", "b:2"});
  expect(" ,a:1,", {"", "a:1", ""});
  expect("", {""});
}

BOOST_AUTO_TEST_CASE(a_signal_does_not_end_the_wait_for_a_host) {
  const FullPort port;
  const Signals signals;
  const auto begun = std::chrono::steady_clock::now();
  BOOST_CHECK_THROW(connect_to(port.address(), 300ms), Error);
  BOOST_TEST((std::chrono::steady_clock::now() - begun >= 290ms));
}

BOOST_AUTO_TEST_SUITE_END()
