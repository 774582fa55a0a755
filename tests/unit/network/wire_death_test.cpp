// Processes that die.
#include "tests/unit/network/wire_end.hpp"

#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

BOOST_AUTO_TEST_SUITE(wire_death)
namespace {

using namespace troupe;
using namespace troupe::testing;
using Answer = WireEnd::Answer;

// wire_peer.cpp, as node 1.
class PeerProcess {
 public:
  PeerProcess(Transport transport, std::string does, std::string sends) {
    std::array<int, 2> in{};
    std::array<int, 2> out{};
    BOOST_REQUIRE(pipe2(in.data(), O_CLOEXEC) == 0);
    BOOST_REQUIRE(pipe2(out.data(), O_CLOEXEC) == 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], 0);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    std::string program = TROUPE_WIRE_PEER;
    std::string name = name_of(transport);
    std::string folder = certificates();
    std::array<char*, 6> arguments{program.data(), name.data(),   does.data(),
                                   sends.data(),   folder.data(), nullptr};
    BOOST_REQUIRE(
        posix_spawn(&pid_, program.c_str(), &actions, nullptr, arguments.data(), environ) == 0);
    posix_spawn_file_actions_destroy(&actions);
    close(in[0]);
    close(out[1]);
    to_ = fdopen(in[1], "w");
    from_ = fdopen(out[0], "r");
  }
  ~PeerProcess() {
    kill();
    if (to_ != nullptr) std::fclose(to_);
    std::fclose(from_);
  }
  PeerProcess(const PeerProcess&) = delete;
  PeerProcess& operator=(const PeerProcess&) = delete;

  void join(WireEnd& end) {
    const std::size_t arrived = end.arrived_so_far();
    end.wire().connect(NodeId{1}, line());
    std::fprintf(to_, "%s\n", end.wire().address().c_str());
    std::fflush(to_);
    BOOST_TEST(line() == "connected");
    end.forget_chunk(arrived);
  }
  // Of a chunk that it keeps.
  void wait_for_arrival() { BOOST_TEST(line() == "arrived"); }
  void send(int signal) const { ::kill(pid_, signal); }
  // Blocks until it has ended by itself. Its exit code, or minus the signal that ended it.
  int end() {
    std::fclose(std::exchange(to_, nullptr));
    int status = 0;
    waitpid(std::exchange(pid_, 0), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  void kill() {
    if (pid_ == 0) return;
    ::kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);  // a process that nobody has waited for counts as alive
    pid_ = 0;
  }

 private:
  std::string line() {
    std::string text;
    for (int c = std::fgetc(from_); c != '\n' && c != EOF; c = std::fgetc(from_)) {
      text += static_cast<char>(c);
    }
    return text;
  }

  pid_t pid_ = 0;
  std::FILE* to_ = nullptr;
  std::FILE* from_ = nullptr;
};

void expect_loss_of_node_1(WireEnd& end) {
  BOOST_TEST((end.wait_for_loss() == std::vector{NodeId{1}}));
  BOOST_TEST(end.sends().wait());
  BOOST_TEST(end.takes().wait());
  const int failed = end.sends().failed();
  const auto bytes = bytes_of(0, 100);
  end.send(NodeId{1}, 0, bytes);
  BOOST_TEST(end.sends().wait());
  BOOST_TEST(end.sends().failed() == failed + 1);
  BOOST_TEST(end.lost_so_far().size() == 1U);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_process_that_dies_while_nothing_moves_is_lost) {
  for_each_transport([](Transport transport) {
    WireEnd end(0, transport);
    PeerProcess peer(transport, "take", "0");
    peer.join(end);
    const auto bytes = bytes_of(0, 100);
    end.send(NodeId{1}, 0, bytes);
    BOOST_TEST(end.sends().wait());
    peer.kill();
    expect_loss_of_node_1(end);
  });
}

BOOST_AUTO_TEST_CASE(sends_to_a_process_that_dies_end) {
  constexpr std::uint32_t count = 200;
  for_each_transport([](Transport transport) {
    for (const std::string does : {"take", "keep"}) {
      WireEnd end(0, transport);
      PeerProcess peer(transport, does, "0");
      peer.join(end);
      const auto bytes = bytes_of(0, 1024 * 1024);
      for (std::uint32_t i = 0; i < count; ++i) end.send(NodeId{1}, i, bytes);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      peer.kill();
      expect_loss_of_node_1(end);
      if (takes_from_sender(transport) && does == "keep") BOOST_TEST(end.sends().succeeded() == 0);
    }
  });
}

BOOST_AUTO_TEST_CASE(sends_that_a_process_has_yet_to_take_fail_when_it_dies) {
  for_each_transport([](Transport transport) {
    WireEnd end(0, transport);
    PeerProcess peer(transport, "keep", "1");
    peer.join(end);
    end.wait_for_chunks(1);  // from then on, large chunks are lent over shared memory
    const auto bytes = bytes_of(0, 1024 * 1024);
    for (std::uint32_t i = 0; i < 4; ++i) end.send(NodeId{1}, i, bytes);
    peer.wait_for_arrival();
    peer.kill();
    expect_loss_of_node_1(end);
    BOOST_TEST(end.sends().succeeded() == 0);
  });
}

BOOST_AUTO_TEST_CASE(chunks_of_a_process_that_dies_are_taken_or_fail) {
  for_each_transport([](Transport transport) {
    WireEnd end(0, transport);
    PeerProcess peer(transport, "take", "8");
    peer.join(end);
    end.wait_for_chunks(20);
    peer.kill();
    expect_loss_of_node_1(end);
  });
}

BOOST_AUTO_TEST_CASE(kept_chunks_of_a_process_that_has_died_are_taken_or_fail) {
  for_each_transport([](Transport transport) {
    WireEnd end(0, transport, Answer::keep);
    PeerProcess peer(transport, "take", "8");
    peer.join(end);
    auto& kept = end.wait_for_chunks(8);
    peer.kill();
    end.wait_for_loss();
    for (std::size_t i = 0; i < 8; ++i) {
      if (i % 2 == 0) {
        end.take(kept[i]);
      } else {
        end.wire().drop(kept[i].handle);
      }
    }
    expect_loss_of_node_1(end);
  });
}

BOOST_AUTO_TEST_CASE(another_process_may_take_the_place_of_one_that_has_died) {
  for_each_transport([](Transport transport) {
    WireEnd end(0, transport);
    const auto bytes = bytes_of(0, 1024 * 1024);
    for (std::size_t i = 1; i <= 4; ++i) {
      PeerProcess peer(transport, "take", "8");
      peer.join(end);
      end.wait_for_chunks(end.arrived_so_far() + 16);
      end.send(NodeId{1}, 0, bytes);
      BOOST_TEST(end.sends().wait());
      peer.kill();
      BOOST_TEST(end.wait_for_losses(i).size() == i);
    }
    BOOST_TEST(end.sends().failed() == 0);
  });
}

BOOST_AUTO_TEST_CASE(a_death_in_the_midst_of_sending_leaves_other_nodes_usable) {
  for_each_transport([](Transport transport) {
    WireEnd end(0, transport);
    WireEnd other(2, transport);
    const auto bytes = bytes_of(0, 1024 * 1024);
    for (std::uint32_t i = 0; i < 4; ++i) {
      PeerProcess peer(transport, "take", "8");
      peer.join(end);
      const std::size_t losses = end.lost_so_far().size();
      // Over shared memory, the others may be lost, too; then all connect again.
      join(end, other);
      end.wait_for_chunks(10);
      peer.kill();
      end.wait_for_losses(losses + 1);
      join(end, other);
      const std::size_t arrived = end.arrived_so_far();
      other.send(end.node(), 7, bytes);
      end.send(other.node(), 8, bytes);
      BOOST_TEST(other.sends().wait());
      BOOST_TEST(end.sends().wait());
      BOOST_TEST(end.wait_for_chunks(arrived + 1).back().header.item == 7U);
      BOOST_TEST(other.wait_for_chunks(i + 1).back().header.item == 8U);
    }
    BOOST_TEST(other.sends().failed() == 0);
    BOOST_TEST(end.sends().failed() == 0);
  });
}

// What the other end had said before is unread when a process finds its connection closed.
BOOST_AUTO_TEST_CASE(a_process_outlives_the_closing_of_a_connection_that_it_uses) {
  constexpr std::size_t rounds = 20;
  for_each_transport([](Transport transport) {
    for (const bool is_suspended : {false, true}) {
      for (std::size_t round = 0; round < rounds; ++round) {
        WireEnd end(0, transport);
        PeerProcess peer(transport, "take", "8");
        peer.join(end);
        end.wait_for_chunks(10 + round * 3);
        if (is_suspended) peer.send(SIGSTOP);
        if (is_suspended) std::this_thread::sleep_for(std::chrono::milliseconds(5));
        end.close();
        if (is_suspended) peer.send(SIGCONT);
        BOOST_TEST(peer.end() == 0);
      }
    }
  });
}

BOOST_AUTO_TEST_SUITE_END()
