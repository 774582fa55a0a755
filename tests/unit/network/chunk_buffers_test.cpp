// Which buffers are kept, and for what they are used again.
#include "core/network/chunk_buffers.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <set>
#include <vector>

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(chunk_buffers)
namespace {

using namespace troupe;
using Buffer = ChunkBuffers::Buffer;

std::vector<Buffer> get(ChunkBuffers& buffers, std::size_t bytes, std::size_t count) {
  std::vector<Buffer> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(buffers.get(bytes));
  return all;
}

std::set<const std::byte*> addresses_of(const std::vector<Buffer>& buffers) {
  std::set<const std::byte*> addresses;
  for (const Buffer& buffer : buffers) addresses.insert(buffer.get());
  return addresses;
}

std::size_t common(const std::set<const std::byte*>& some, const std::set<const std::byte*>& more) {
  return static_cast<std::size_t>(std::count_if(
      some.begin(), some.end(), [&](const std::byte* address) { return more.contains(address); }));
}

// Memory that has been freed goes here: what a buffer gets after this is new, or was kept.
std::vector<std::unique_ptr<std::byte[]>> occupy(std::size_t bytes, std::size_t count) {
  std::vector<std::unique_ptr<std::byte[]>> memory;
  for (std::size_t i = 0; i < count; ++i) memory.emplace_back(new std::byte[bytes]);
  return memory;
}

// Each has room for so many bytes, which no other one has.
void check_room(const std::vector<Buffer>& buffers, std::size_t bytes) {
  const auto value = [](std::size_t i) { return static_cast<std::byte>(i % 251); };
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    std::fill_n(buffers[i].get(), bytes, value(i));
  }
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const std::byte* const begin = buffers[i].get();
    const bool is_whole = std::all_of(begin, begin + bytes,
                                      [expected = value(i)](std::byte b) { return b == expected; });
    BOOST_TEST(is_whole, "buffer " << i << " of " << bytes << " bytes");
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_buffer_that_is_given_back_is_used_again) {
  for (const std::size_t bytes :
       {std::size_t{4} << 10, std::size_t{50'000}, std::size_t{64} << 10}) {
    ChunkBuffers buffers;
    auto some = get(buffers, bytes, 8);
    const auto before = addresses_of(some);
    some.clear();
    const auto others = occupy(bytes, 8);
    BOOST_TEST((addresses_of(get(buffers, bytes, 8)) == before), bytes << " bytes");
  }
}

BOOST_AUTO_TEST_CASE(a_buffer_has_room_for_what_it_is_used_for_next) {
  ChunkBuffers buffers;
  for (const std::size_t bytes : {1U, 4095U, 4096U, 4097U, 8192U, 8193U, 5000U, 8000U, 16'000U,
                                  16'384U, 33'000U, 65'535U, 65'536U, 65'537U, 200'000U}) {
    check_room(get(buffers, bytes, 16), bytes);
  }
}

BOOST_AUTO_TEST_CASE(of_many_buffers_that_are_given_back_some_are_kept) {
  constexpr std::size_t bytes = 64 << 10;
  constexpr std::size_t count = 100;
  ChunkBuffers buffers;
  auto many = get(buffers, bytes, count);
  const auto before = addresses_of(many);
  many.clear();
  const auto others = occupy(bytes, count);
  const std::size_t kept = common(addresses_of(get(buffers, bytes, count)), before);
  BOOST_TEST(kept >= 16U);
  BOOST_TEST(kept < count);
}

BOOST_AUTO_TEST_SUITE_END()
