#include "core/files/input_file.hpp"

#include "tests/support/address_space.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/temporary_directory.hpp"

#include <array>
#include <cstring>
#include <filesystem>
#include <string>

#include <boost/test/unit_test.hpp>
#include <sys/stat.h>

namespace troupe {
using namespace testing;
namespace fs = std::filesystem;

BOOST_AUTO_TEST_SUITE(input_file)
namespace {

std::string read(const InputFile& file, std::uint64_t offset, std::size_t bytes) {
  std::string text(bytes, '\0');
  file.read(offset, std::as_writable_bytes(std::span(text)));
  return text;
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

BOOST_AUTO_TEST_CASE(any_part_of_a_file_is_read_or_mapped) {
  const TemporaryDirectory directory;
  std::string text;
  for (int i = 0; i < 10'000; ++i) text += std::to_string(i);
  directory.write("x", text);
  const InputFile file(directory.path() / "x");
  BOOST_TEST(file.bytes() == text.size());
  for (const std::size_t offset : {std::size_t{0}, std::size_t{1}, std::size_t{4096},
                                   std::size_t{5000}, text.size() - 7, text.size()}) {
    const std::size_t bytes = text.size() - offset;
    BOOST_TEST((read(file, offset, bytes) == text.substr(offset)));
    file.load(offset, bytes);
    BOOST_TEST((text_of({file.mapped().get() + offset, bytes}) == text.substr(offset)));
  }
}

BOOST_AUTO_TEST_CASE(a_file_that_the_system_refuses_to_map_is_still_read,
                     *boost::unit_test::precondition(can_limit_addresses)) {
  const TemporaryDirectory directory;
  directory.write("x", "");
  const fs::path path = directory.path() / "x";
  fs::resize_file(path, std::uint64_t{1} << 30);  // without disk blocks
  const InputFile file(path);
  const AddressSpaceLimit limit(std::uint64_t{512} << 20);
  BOOST_TEST((file.mapped() == nullptr));
  BOOST_TEST(read(file, 5, 2) == std::string(2, '\0'));
}

BOOST_AUTO_TEST_CASE(what_is_no_regular_file_is_refused) {
  const TemporaryDirectory directory;
  fs::create_directory(directory.path() / "folder");
  BOOST_REQUIRE(mkfifo((directory.path() / "pipe").c_str(), 0600) == 0);
  const auto refused = [&](const char* name, const std::string& message) {
    expect_error(ErrorKind::usage, message, [&] { InputFile(directory.path() / name); });
  };
  refused("absent", "absent: there is no such file; check the path");
  refused("folder", "folder: this is a directory");
  refused("pipe", "pipe: this is no regular file");
  refused("folder/absent/x", "there is no such file");
}

BOOST_AUTO_TEST_CASE(a_file_that_changes_while_it_is_in_use_is_read_no_more) {
  const TemporaryDirectory directory;
  const auto refused_after = [&](const std::function<void(const fs::path&)>& change) {
    directory.write("x", "abcd");
    const InputFile file(directory.path() / "x");
    BOOST_TEST(read(file, 0, 4) == "abcd");
    change(directory.path() / "x");
    expect_error(ErrorKind::failed, "the file was changed while it was in use",
                 [&] { read(file, 0, 4); });
  };
  refused_after([](const fs::path& path) { fs::resize_file(path, 2); });
  refused_after([](const fs::path& path) { fs::resize_file(path, 8); });
  refused_after([](const fs::path& path) { fs::last_write_time(path, fs::file_time_type{}); });
}

BOOST_AUTO_TEST_CASE(a_file_whose_name_is_taken_by_another_is_still_read) {
  const TemporaryDirectory directory;
  directory.write("x", "old");
  const InputFile file(directory.path() / "x");
  directory.write("y", "new");
  fs::rename(directory.path() / "y", directory.path() / "x");
  BOOST_TEST(read(file, 0, 3) == "old");
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
