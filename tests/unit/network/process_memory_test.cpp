#include "core/network/process_memory.hpp"

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

BOOST_AUTO_TEST_SUITE(process_memory)
namespace {

using namespace troupe;

std::uint64_t address_of(const void* at) {
  return reinterpret_cast<std::uintptr_t>(at);
}

// A process that waits, with a copy of this one's memory.
class Child {
 public:
  Child() : id_(fork()) {
    if (id_ == 0) {
      for (;;) pause();
    }
  }
  ~Child() { end(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t id() const { return id_; }
  void end() {
    if (id_ <= 0) return;
    kill(id_, SIGKILL);
    waitpid(id_, nullptr, 0);
    id_ = 0;
  }

 private:
  pid_t id_;
};

// The place of the child's copy of what is at `own`.
std::string in_child(const Child& child, const std::string& own) {
  return fmt::format("{}{}", child.id(), own.substr(own.find('-')));
}

}  // namespace

BOOST_AUTO_TEST_CASE(memory_of_another_process_is_read_where_it_is) {
  const ReadableMemory own;
  std::vector<std::byte> values(100'000, std::byte{7});
  const Child child;
  values.assign(values.size(), std::byte{8});  // here only
  const auto memory = ProcessMemory::open(in_child(child, own.place()));
  BOOST_REQUIRE(memory != nullptr);
  std::vector<std::byte> out(values.size());
  BOOST_TEST(memory->read(address_of(values.data()), out) == "");
  BOOST_TEST((out == std::vector<std::byte>(values.size(), std::byte{7})));
}

BOOST_AUTO_TEST_CASE(memory_of_a_process_that_has_ended_can_t_be_read) {
  const ReadableMemory own;
  Child child;
  const auto memory = ProcessMemory::open(in_child(child, own.place()));
  BOOST_REQUIRE(memory != nullptr);
  child.end();
  std::array<std::byte, 8> out{};
  BOOST_TEST(memory->read(address_of(out.data()), out) != "");
}

BOOST_AUTO_TEST_CASE(an_address_without_memory_can_t_be_read) {
  const ReadableMemory own;
  const auto memory = ProcessMemory::open(own.place());
  BOOST_REQUIRE(memory != nullptr);
  std::array<std::byte, 8> out{};
  BOOST_TEST(memory->read(8, out).find("can't be read") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_process_that_isn_t_the_one_meant_is_refused) {
  const ReadableMemory own;
  const ReadableMemory other;
  const std::string place = own.place();
  const std::string proof = place.substr(place.rfind('-'));
  const std::string elsewhere = other.place();
  BOOST_TEST(ProcessMemory::open(elsewhere.substr(0, elsewhere.rfind('-')) + proof) == nullptr);
}

BOOST_AUTO_TEST_CASE(a_malformed_place_is_refused) {
  const ReadableMemory own;
  const std::string place = own.place();
  for (const std::string& text :
       {std::string(), std::string("1"), std::string("1-2"), std::string("1-2-"),
        std::string("-1-2-3"), place + "-4", place + " ", "x" + place}) {
    BOOST_TEST(ProcessMemory::open(text) == nullptr, text);
  }
}

BOOST_AUTO_TEST_SUITE_END()
