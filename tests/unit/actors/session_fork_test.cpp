// Sessions, and processes that come of a fork().
#include "tests/unit/actors/session_fixture.hpp"

#include <cstddef>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <sys/wait.h>
#include <unistd.h>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(session_fork)
namespace {

const Shape square{2, 2};

// Runs `work` in a child of this process, and returns what it returns there.
int in_child(const std::function<int()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    int result = 99;
    try {
      result = work();
    } catch (...) {
    }
    _exit(result);
  }
  int status = 0;
  BOOST_REQUIRE(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 100;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_child_of_fork_is_told_that_a_session_is_its_parents) {
  Session s(testing::session_machine());
  const Tensor x = s.zeros(square);
  x.wait();
  const std::vector<std::function<void()>> uses = {
      [&] { s.zeros(square); }, [&] { x.type(); },        [&] { x.wait(); },
      [&] { x.read<float>(); }, [&] { x.save("x.npy"); }, [&] { s.wait_all(); },
      [&] { s.wait("cpu0"); },  [&] { s.report(); },      [&] { s.measure("nothing", [] {}); }};
  const int told = in_child([&] {
    int count = 0;
    for (const auto& use : uses) {
      try {
        use();
      } catch (const Error& error) {
        if (std::string_view(error.what()).find("called fork()") != std::string_view::npos) ++count;
      }
    }
    const Tensor moved = x;
    const Session ends(std::move(s));
    return count;
  });
  BOOST_TEST(static_cast<std::size_t>(told) == uses.size());
  BOOST_TEST(x.read<float>() == std::vector<float>(4), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_child_of_fork_may_measure_no_more_of_what_its_parent_measures) {
  Session s(testing::session_machine());
  int told = 0;
  s.measure("forks", [&] {
    s.zeros(square);
    told = in_child([&] {
      try {
        s.measure("in the child", [] {});
      } catch (const Error&) {
        return 7;
      }
      return 1;
    });
  });
  BOOST_TEST(told == 7);
}

// ThreadSanitizer allows no new threads in a child of a process that has some.
#if !defined(TROUPE_SANITIZE_THREAD)
BOOST_AUTO_TEST_CASE(a_child_of_fork_may_have_sessions_of_its_own) {
  const auto copies = [] {
    Session s(testing::session_machine());
    const std::vector<float> values(1 << 16, 2);  // so many that a worker copies them
    const Tensor x = s.tensor(values, {1 << 16});
    return x.to("mem1").to("mem0").read<float>() == values ? 7 : 1;
  };
  Session s(testing::session_machine());
  const Tensor x = s.tensor(std::vector<float>(1 << 16), {1 << 16});
  x.to("mem1").wait();
  BOOST_TEST(in_child(copies) == 7);
}
#endif

BOOST_AUTO_TEST_SUITE_END()
