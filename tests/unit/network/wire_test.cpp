#include "tests/support/expect_error.hpp"
#include "tests/unit/network/wire_end.hpp"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(wire)
namespace {

using namespace troupe;
using namespace troupe::testing;
using Answer = WireEnd::Answer;

constexpr std::size_t kib = 1024;
constexpr std::size_t mib = 1024 * kib;
// Small and large ones, on both sides of the sizes up to which TCP copies what it sends (16 KiB),
// and from which it copies straight to the target (64 KiB); shared memory lends from 32 KiB on.
const std::vector<std::size_t> sizes{0,        1,        64,       16 * kib, 17 * kib, 32 * kib,
                                     33 * kib, 64 * kib, 65 * kib, 1 * mib,  5 * mib,  64};

std::vector<std::vector<std::byte>> chunks_of_all_sizes() {
  std::vector<std::vector<std::byte>> chunks;
  for (const std::size_t size : sizes) {
    chunks.push_back(bytes_of(static_cast<std::uint32_t>(chunks.size()), size));
  }
  return chunks;
}

void expect_all(WireEnd& end, const std::vector<std::vector<std::byte>>& sent) {
  const auto& chunks = end.wait_for_chunks(sent.size());
  BOOST_TEST(end.takes().wait());
  BOOST_TEST(end.takes().failed() == 0);
  BOOST_REQUIRE(chunks.size() == sent.size());
  for (std::size_t i = 0; i < sent.size(); ++i) {
    BOOST_TEST(chunks[i].header.item == i);
    BOOST_TEST((chunks[i].bytes == sent[i]));
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(chunks_of_all_sizes_arrive_whole_and_in_order) {
  for_each_transport([](Transport transport) {
    WireEnd a(0, transport);
    WireEnd b(1, transport);
    join(a, b);
    const auto chunks = chunks_of_all_sizes();
    for (std::uint32_t i = 0; i < chunks.size(); ++i) a.send(b.node(), i, chunks[i]);
    BOOST_TEST(a.sends().wait());
    BOOST_TEST(a.sends().failed() == 0);
    expect_all(b, chunks);
  });
}

BOOST_AUTO_TEST_CASE(a_header_arrives_as_it_was_sent) {
  for_each_transport([](Transport transport) {
    WireEnd a(7, transport);
    WireEnd b(1, transport);
    join(a, b);
    const ChunkHeader sent{.run = 1,
                           .window = 2,
                           .resource = 3,
                           .item = 4,
                           .replica = 5,
                           .from = 7,
                           .offset = std::uint64_t{1} << 40,
                           .bytes = 0};
    a.wire().send(b.node(), sent, nullptr, a.sends().expect_one());
    const ChunkHeader got = b.wait_for_chunks(1).front().header;
    BOOST_TEST(got.run == sent.run);
    BOOST_TEST(got.window == sent.window);
    BOOST_TEST(got.resource == sent.resource);
    BOOST_TEST(got.item == sent.item);
    BOOST_TEST(got.replica == sent.replica);
    BOOST_TEST(got.from == sent.from);
    BOOST_TEST(got.offset == sent.offset);
    BOOST_TEST(got.bytes == sent.bytes);
    BOOST_TEST(a.sends().wait());
  });
}

BOOST_AUTO_TEST_CASE(several_threads_may_send_in_both_directions_at_once) {
  constexpr std::uint32_t per_thread = 60;
  for_each_transport([](Transport transport) {
    WireEnd a(0, transport);
    WireEnd b(1, transport);
    join(a, b);
    const auto chunks = chunks_of_all_sizes();
    const auto send_all = [&](WireEnd& from, NodeId to, std::uint32_t thread) {
      for (std::uint32_t i = 0; i < per_thread; ++i) {
        from.send(to, thread * per_thread + i, chunks[(i + thread) % 9]);
      }
    };
    std::vector<std::thread> threads;
    for (std::uint32_t t = 0; t < 2; ++t) {
      threads.emplace_back([&, t] { send_all(a, b.node(), t); });
      threads.emplace_back([&, t] { send_all(b, a.node(), t); });
    }
    for (std::thread& thread : threads) thread.join();
    for (WireEnd* end : {&a, &b}) {
      BOOST_TEST(end->sends().wait());
      BOOST_TEST(end->sends().failed() == 0);
      std::vector<std::uint32_t> next{0, per_thread};  // of each thread
      auto& arrived = end->wait_for_chunks(2 * std::size_t{per_thread});
      BOOST_TEST(end->takes().wait());
      for (const WireEnd::Chunk& chunk : arrived) {
        const std::uint32_t thread = chunk.header.item / per_thread;
        BOOST_TEST(chunk.header.item == next[thread]);
        const std::uint32_t i = next[thread]++ - thread * per_thread;
        BOOST_TEST((chunk.bytes == chunks[(i + thread) % 9]));
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(a_chunk_may_be_taken_much_later) {
  for_each_transport([](Transport transport) {
    WireEnd a(0, transport);
    WireEnd b(1, transport, Answer::keep);
    join(a, b);
    const auto chunks = chunks_of_all_sizes();
    for (std::uint32_t i = 0; i < chunks.size(); ++i) a.send(b.node(), i, chunks[i]);
    auto& kept = b.wait_for_chunks(chunks.size());
    // Others come and go meanwhile; then the last is taken first.
    const auto small = bytes_of(99, 100);
    for (std::uint32_t i = 0; i < 1000; ++i) a.send(b.node(), 99, small);
    b.wait_for_chunks(chunks.size() + 1000);
    for (std::size_t i = kept.size(); i-- > 0;) b.take(kept[i]);
    BOOST_TEST(b.takes().wait());
    BOOST_TEST(a.sends().wait());
    BOOST_TEST(b.takes().failed() == 0);
    for (std::size_t i = 0; i < kept.size(); ++i) {
      BOOST_TEST((kept[i].bytes == (i < chunks.size() ? chunks[i] : small)));
    }
  });
}

BOOST_AUTO_TEST_CASE(sends_of_dropped_chunks_end) {
  for_each_transport([](Transport transport) {
    for (const Answer answer : {Answer::drop, Answer::keep}) {
      WireEnd a(0, transport);
      WireEnd b(1, transport, answer);
      join(a, b);
      const auto chunks = chunks_of_all_sizes();
      for (std::uint32_t i = 0; i < chunks.size(); ++i) a.send(b.node(), i, chunks[i]);
      const auto& arrived = b.wait_for_chunks(chunks.size());
      if (answer == Answer::keep) {
        for (const WireEnd::Chunk& chunk : arrived) b.wire().drop(chunk.handle);
      }
      BOOST_TEST(a.sends().wait());
      BOOST_TEST(a.sends().failed() == 0);
    }
  });
}

BOOST_AUTO_TEST_CASE(a_send_may_begin_where_the_last_one_ends) {
  constexpr std::uint32_t count = 20000;  // deep, if each were called within the last one
  for_each_transport([](Transport transport) {
    WireEnd a(0, transport);
    WireEnd b(1, transport, Answer::drop);
    join(a, b);
    const auto bytes = bytes_of(0, 16);
    Ends last;
    ChunkDone finished = last.expect_one();
    std::uint32_t sent = 0;
    ChunkDone next = [&](const std::string& failure) {
      if (!failure.empty() || sent == count) {
        finished(failure);
        return;
      }
      const ChunkHeader header{.item = sent++, .from = 0, .bytes = bytes.size()};
      a.wire().send(b.node(), header, bytes.data(), next);
    };
    next("");
    BOOST_TEST(last.wait());
    BOOST_TEST(last.succeeded() == 1);
    const auto& arrived = b.wait_for_chunks(count);
    BOOST_TEST(arrived.back().header.item == count - 1);
  });
}

BOOST_AUTO_TEST_CASE(what_is_posted_is_called_in_order_and_not_within_what_posts_it) {
  for_each_transport([](Transport transport) {
    constexpr int count = 1000;
    std::vector<int> called;
    std::set<std::thread::id> threads;
    std::promise<void> over;
    WireEnd end(0, transport);
    const auto call = [&](int i) {
      threads.insert(std::this_thread::get_id());
      called.push_back(i);
    };
    for (int i = 0; i < count; ++i) {
      end.wire().post(
          [&, i] {
            call(i);
            if (i + 1 < count) return;
            end.wire().post(
                [&] {
                  call(count + 1);
                  over.set_value();
                },
                false);
            call(count);
          },
          false);
    }
    over.get_future().wait();
    std::vector<int> expected(count + 2);
    std::iota(expected.begin(), expected.end(), 0);
    BOOST_TEST(called == expected);
    BOOST_TEST(threads.size() == 1U);
    BOOST_TEST(!threads.contains(std::this_thread::get_id()));
  });
}

// The wire's thread is asleep when they meet. This test hangs if it fails.
BOOST_AUTO_TEST_CASE(what_is_posted_by_threads_that_poll_next_is_called_though_they_meet) {
  for_each_transport([](Transport transport) {
    WireEnd end(0, transport);
    constexpr int count = 3;
    std::barrier meeting(count);
    std::vector<std::thread> helpers;
    for (int i = 0; i < count; ++i) {
      helpers.emplace_back([&] {
        for (int n = 0; n < 500; ++n) {
          std::this_thread::sleep_for(std::chrono::microseconds(300));
          meeting.arrive_and_wait();
          std::promise<void> called;
          end.wire().post([&] { called.set_value(); }, true);
          end.wire().progress();
          called.get_future().wait();
        }
      });
    }
    for (std::thread& helper : helpers) helper.join();
  });
}

// The end of the second send comes when the helper has left, and the wire's thread is asleep.
BOOST_AUTO_TEST_CASE(what_a_helper_leaves_undone_is_done_by_the_wire) {
  for_each_transport([](Transport transport) {
    WireEnd a(0, transport);
    WireEnd b(1, transport);
    join(a, b);
    const auto bytes = bytes_of(0, 64);
    a.send(b.node(), 0, bytes);
    b.wait_for_chunks(1);
    const ChunkHeader header{.from = 0, .bytes = bytes.size()};
    for (int round = 0; round < 20; ++round) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      std::promise<void> second;
      a.wire().post(
          [&] {
            a.wire().send(b.node(), header, bytes.data(), [&](const std::string&) {
              a.wire().send(b.node(), header, bytes.data(),
                            [&](const std::string&) { second.set_value(); });
            });
          },
          true);
      a.wire().progress();
      BOOST_REQUIRE(
          (second.get_future().wait_for(std::chrono::seconds(20)) == std::future_status::ready));
    }
  });
}

BOOST_AUTO_TEST_CASE(threads_that_help_a_wire_do_its_work_one_at_a_time_and_nothing_twice) {
  for_each_transport([](Transport transport) {
    constexpr std::uint32_t count = 3000;
    std::atomic<int> inside = 0;
    std::atomic<int> at_once = 0;
    std::atomic<std::size_t> workers = 0;
    std::set<std::thread::id> threads;
    const auto work = [&] {
      at_once = std::max<int>(at_once, ++inside);
      threads.insert(std::this_thread::get_id());
      workers = threads.size();
      --inside;
    };
    WireEnd a(0, transport);
    WireEnd b(1, transport, Answer::drop);
    join(a, b);
    std::atomic<bool> is_over = false;
    std::vector<std::thread> helpers;
    for (int i = 0; i < 2; ++i) {
      helpers.emplace_back([&] {
        while (!is_over) b.wire().progress();
      });
    }
    const auto work_and_wait = [&] {
      std::promise<void> called;
      b.wire().post(
          [&] {
            work();
            called.set_value();
          },
          false);
      called.get_future().wait();
    };
    const auto small = bytes_of(0, 16);
    const auto large = bytes_of(1, 300000);
    for (std::uint32_t i = 0; i < count; ++i) {
      a.send(b.node(), i, i % 100 == 0 ? large : small);
      b.wire().post(work, false);
      b.wait_for_chunks(i + 1);
    }
    const auto& arrived = b.wait_for_chunks(count);
    BOOST_TEST(a.sends().wait());
    work_and_wait();
    // On a busy host one thread may have done all of it so far.
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (workers < 2 && std::chrono::steady_clock::now() < end) work_and_wait();
    is_over = true;
    for (std::thread& helper : helpers) helper.join();
    BOOST_TEST(at_once == 1);
    for (std::uint32_t i = 0; i < count; ++i) BOOST_REQUIRE(arrived[i].header.item == i);
    BOOST_TEST(workers >= 2U);
  });
}

BOOST_AUTO_TEST_CASE(a_malformed_address_is_refused) {
  for_each_transport([](Transport transport) {
    WireEnd a(0, transport);
    expect_error(ErrorKind::failed, "\"nowhere\" is not the address of a node",
                 [&] { a.wire().connect(NodeId{1}, "nowhere"); });
    const WireEnd b(1, transport);
    std::string damaged = a.wire().address();
    damaged.back() = damaged.back() == '0' ? '1' : '0';
    expect_error(ErrorKind::failed, "is not the address of a node",
                 [&] { a.wire().connect(NodeId{1}, damaged); });
  });
}

BOOST_AUTO_TEST_CASE(a_send_to_a_node_that_was_never_connected_fails) {
  for_each_transport([](Transport transport) {
    WireEnd a(0, transport);
    const auto bytes = bytes_of(0, 100);
    a.send(NodeId{5}, 0, bytes);
    BOOST_TEST(a.sends().wait());
    BOOST_TEST(a.sends().failed() == 1);
  });
}

BOOST_AUTO_TEST_CASE(a_wire_that_is_destroyed_is_lost_once_and_replaced) {
  for_each_transport([](Transport transport) {
    const auto chunks = chunks_of_all_sizes();
    WireEnd a(0, transport);
    WireEnd b(1, transport);
    join(a, b);
    for (WireEnd* end : {&a, &b}) end->send(end == &a ? b.node() : a.node(), 0, chunks[8]);
    a.wait_for_chunks(1);
    b.wait_for_chunks(1);
    BOOST_TEST(a.takes().wait());
    BOOST_TEST(b.takes().wait());
    BOOST_TEST(a.sends().wait());
    b.close();
    BOOST_TEST((a.wait_for_loss() == std::vector{b.node()}));
    for (std::uint32_t i = 0; i < chunks.size(); ++i) a.send(b.node(), i, chunks[i]);
    BOOST_TEST(a.sends().wait());
    BOOST_TEST(a.sends().failed() == static_cast<int>(chunks.size()));

    WireEnd c(1, transport);  // in place of b
    join(a, c);
    for (std::uint32_t i = 0; i < chunks.size(); ++i) a.send(c.node(), i, chunks[i]);
    expect_all(c, chunks);
    c.send(a.node(), 0, chunks[8]);
    a.wait_for_chunks(2);
    BOOST_TEST(c.sends().wait());
    BOOST_TEST((a.lost_so_far() == std::vector{b.node()}));
  });
}

BOOST_AUTO_TEST_CASE(sends_under_way_to_a_wire_that_is_destroyed_end) {
  for_each_transport([](Transport transport) {
    const auto chunks = chunks_of_all_sizes();
    WireEnd a(0, transport);
    WireEnd b(1, transport, Answer::keep);
    join(a, b);
    for (std::uint32_t i = 0; i < 20; ++i) a.send(b.node(), i, chunks[8]);
    b.wait_for_chunks(1);
    b.close();
    BOOST_TEST((a.wait_for_loss() == std::vector{b.node()}));
    BOOST_TEST(a.sends().wait());
  });
}

BOOST_AUTO_TEST_CASE(a_node_that_is_connected_to_anew_fails_what_was_under_way) {
  for_each_transport([](Transport transport) {
    const auto large = bytes_of(0, 5 * mib);
    WireEnd a(0, transport);
    WireEnd b(1, transport, Answer::keep);
    WireEnd c(1, transport);
    join(a, b);
    for (std::uint32_t i = 0; i < 20; ++i) a.send(b.node(), i, large);
    b.wait_for_chunks(1);
    join(a, c);
    BOOST_TEST(a.sends().wait());
    if (takes_from_sender(transport)) BOOST_TEST(a.sends().failed() == 20);
    a.send(c.node(), 0, large);
    expect_all(c, {large});
    c.send(a.node(), 0, large);
    a.wait_for_chunks(1);
    BOOST_TEST(c.sends().wait());
    BOOST_TEST(a.lost_so_far().empty());
  });
}

BOOST_AUTO_TEST_CASE(a_wire_may_be_destroyed_with_everything_under_way) {
  for_each_transport([](Transport transport) {
    const auto chunks = chunks_of_all_sizes();
    for (int round = 0; round < 10; ++round) {
      WireEnd a(0, transport);
      WireEnd b(1, transport, round % 2 == 0 ? Answer::keep : Answer::take);
      join(a, b);
      for (std::uint32_t i = 0; i < 100; ++i) a.send(b.node(), i, chunks[i % 9]);
      if (round % 3 == 0) b.wait_for_chunks(1);
      if (round % 4 < 2) b.close();
    }
  });
}

BOOST_AUTO_TEST_SUITE_END()
