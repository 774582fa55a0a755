#include "core/backend/file/tensor_file.hpp"

#include "core/base/buffer_capacity.hpp"
#include "core/base/error.hpp"
#include "core/memory/buffer_pool.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/temporary_directory.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <memory>
#include <string_view>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace troupe {
BOOST_AUTO_TEST_SUITE(tensor_file)
namespace {

using testing::contains;
using testing::TemporaryDirectory;

constexpr std::uint64_t mib = 1 << 20;

// A buffer like those of MemoryStore, filled with bytes that depend on their offset.
class Tensor {
 public:
  explicit Tensor(std::uint64_t bytes) : capacity_(buffer_capacity(bytes)) {
    data_ = pool_.take(capacity_);
    std::memset(data_, 0xEE, capacity_);
  }
  Tensor& fill() {
    for (std::uint64_t i = 0; i < capacity_; ++i) data_[i] = std::byte(i * 31 + i / 4096);
    return *this;
  }
  std::byte* data() { return data_; }
  bool begins_like(const Tensor& other, std::uint64_t bytes) const {
    return std::memcmp(data_, other.data_, bytes) == 0;
  }

 private:
  BufferPool pool_;
  std::uint64_t capacity_;
  std::byte* data_;
};

using PartFunction = std::function<void(const FilePart&)>;

void in_parts(std::uint64_t size, std::uint64_t chunk, const PartFunction& f) {
  for (std::uint64_t at = 0; at < size; at += chunk) {
    const std::uint64_t bytes = std::min(chunk, size - at);
    f({.offset = at, .bytes = bytes, .size = size, .first = at == 0, .last = at + bytes == size});
  }
}

FilePart whole(std::uint64_t size) {
  return {.offset = 0, .bytes = size, .size = size};
}

// Returns "" if `f` throws no run Error.
template <class F>
std::string error_of(F f) {
  try {
    f();
    return {};
  } catch (const Error& e) {
    return e.kind() == ErrorKind::failed ? e.what() : "not a run Error";
  }
}

BOOST_AUTO_TEST_CASE(a_tensor_is_read_back_whole_or_in_parts_of_any_size) {
  const TemporaryDirectory directory;
  const std::filesystem::path file = directory.path() / "t";
  for (const std::uint64_t size : {1UL, 4095UL, 4096UL, 4097UL, mib + 13, 9 * mib + 5}) {
    Tensor out(size);
    out.fill();
    for (const std::uint64_t chunk : {size, 4 * mib, 64UL << 10, 99'991UL}) {
      in_parts(size, chunk, [&](const FilePart& p) { write_part(file, p, out.data()); });
      BOOST_TEST(std::filesystem::file_size(file) == size);
      Tensor in(size);
      in_parts(size, chunk, [&](const FilePart& p) { read_part(file, p, in.data()); });
      BOOST_TEST(in.begins_like(out, size));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_part_that_is_not_the_end_leaves_the_bytes_after_it_alone) {
  const TemporaryDirectory directory;
  const std::filesystem::path file = directory.path() / "t";
  Tensor out(10'000);
  write_part(file, whole(10'000), out.fill().data());
  Tensor in(10'000);
  read_part(file, {.offset = 0, .bytes = 100, .size = 10'000, .last = false}, in.data());
  BOOST_TEST(in.begins_like(out, 100));
  BOOST_TEST((in.data()[100] == std::byte{0xEE}));
}

// Direct I/O isn't possible for a tensor that is unaligned or smaller than a page; no byte beside
// the tensor may be changed.
BOOST_AUTO_TEST_CASE(a_small_or_unaligned_tensor_is_written_and_read_to_the_byte) {
  const TemporaryDirectory directory;
  const std::filesystem::path file = directory.path() / "t";
  for (const std::uint64_t size : {1UL, 100UL, 4095UL, 5000UL, 20'000UL}) {
    for (const std::uint64_t shift : {0UL, 64UL, 4032UL}) {
      // An aligned tensor of a page or more may use the rest of its capacity.
      if (shift == 0 && size >= 4096) continue;
      BOOST_TEST_CONTEXT("size " << size << ", shift " << shift) {
        Tensor out(32'768);
        write_part(file, whole(size), out.fill().data() + shift);
        BOOST_TEST(std::filesystem::file_size(file) == size);
        Tensor in(32'768);
        read_part(file, whole(size), in.data() + shift);
        BOOST_TEST(std::memcmp(in.data() + shift, out.data() + shift, size) == 0);
        const auto is_untouched = [](std::byte b) { return b == std::byte{0xEE}; };
        BOOST_TEST(std::all_of(in.data(), in.data() + shift, is_untouched));
        BOOST_TEST(std::all_of(in.data() + shift + size, in.data() + 32'768, is_untouched));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_shorter_tensor_written_over_a_longer_one_leaves_nothing_of_it) {
  const TemporaryDirectory directory;
  const std::filesystem::path file = directory.path() / "t";
  Tensor out(100'000);
  write_part(file, whole(100'000), out.fill().data());
  write_part(file, whole(10), out.data());
  BOOST_TEST(std::filesystem::file_size(file) == 10U);
}

BOOST_AUTO_TEST_CASE(a_directory_that_disappears_between_two_parts_is_an_error_that_names_it) {
  const TemporaryDirectory directory;
  const std::filesystem::path folder = directory.path() / "gone";
  std::filesystem::create_directory(folder);
  Tensor tensor(8192);
  write_part(folder / "t", {.offset = 0, .bytes = 4096, .size = 8192, .last = false},
             tensor.fill().data());
  std::filesystem::remove_all(folder);
  const FilePart second{.offset = 4096, .bytes = 4096, .size = 8192, .first = false};
  for (const std::string& text :
       {error_of([&] { write_part(folder / "t", second, tensor.data()); }),
        error_of([&] { write_part(folder / "t", whole(8192), tensor.data()); }),
        error_of([&] { read_part(folder / "t", whole(8192), tensor.data()); })}) {
    BOOST_TEST_INFO(text);
    BOOST_TEST(contains(text, folder.string()));
    BOOST_TEST(contains(text, "No such file or directory"));
    BOOST_TEST(contains(text, "of a tensor of 8 KiB"));
  }
  BOOST_TEST(!std::filesystem::exists(folder));
}

BOOST_AUTO_TEST_CASE(a_file_that_has_lost_its_end_is_an_error_when_read) {
  const TemporaryDirectory directory;
  const std::filesystem::path file = directory.path() / "t";
  Tensor tensor(3 * mib);
  write_part(file, whole(3 * mib), tensor.fill().data());
  for (const std::uint64_t left : {2 * mib, 2 * mib + 1, std::uint64_t{0}}) {
    std::filesystem::resize_file(file, left);
    const std::string text = error_of([&] { read_part(file, whole(3 * mib), tensor.data()); });
    BOOST_TEST(contains(text, "reading 3 MiB"));
  }
}

// A file system of 1 MiB, mounted until this is destroyed.
class SmallFileSystem {
 public:
  explicit SmallFileSystem(const std::filesystem::path& at) : at_(at) {
    mounted_ = mount("tmpfs", at.c_str(), "tmpfs", 0, "size=1m") == 0;
  }
  ~SmallFileSystem() {
    if (mounted_) umount2(at_.c_str(), MNT_DETACH);
  }
  SmallFileSystem(const SmallFileSystem&) = delete;
  SmallFileSystem& operator=(const SmallFileSystem&) = delete;
  bool mounted() const { return mounted_; }

 private:
  std::filesystem::path at_;
  bool mounted_ = false;
};

BOOST_AUTO_TEST_CASE(a_disk_that_fills_up_is_an_error_that_names_directory_bytes_and_cause) {
  const TemporaryDirectory directory;
  const SmallFileSystem disk(directory.path());
  if (!disk.mounted()) {
    std::cout << "skipped: a disk that fills up (this user may not mount a tmpfs)\n";
    return;
  }
  Tensor tensor(3 * mib);
  const std::string text =
      error_of([&] { write_part(directory.path() / "t", whole(3 * mib), tensor.data()); });
  BOOST_TEST_INFO(text);
  BOOST_TEST(contains(text, "writing 3 MiB"));
  BOOST_TEST(contains(text, directory.path().string()));
  BOOST_TEST(contains(text, "No space left on device"));
  // After room is made, the same file is written and read as on any disk.
  std::filesystem::remove(directory.path() / "t");
  Tensor in(500'000);
  write_part(directory.path() / "t", whole(500'000), tensor.fill().data());
  read_part(directory.path() / "t", whole(500'000), in.data());
  BOOST_TEST(in.begins_like(tensor, 500'000));
}

BOOST_AUTO_TEST_CASE(a_file_size_limit_is_an_error_and_not_the_end_of_the_process) {
  const TemporaryDirectory directory;
  Tensor tensor(2 * mib);
  const pid_t child = fork();
  BOOST_REQUIRE(child >= 0);
  if (child == 0) {
    const rlimit limit{mib, mib};
    setrlimit(RLIMIT_FSIZE, &limit);
    ignore_file_size_signal();
    const std::string text =
        error_of([&] { write_part(directory.path() / "t", whole(2 * mib), tensor.data()); });
    _exit(contains(text, "File too large") && contains(text, "ulimit -f") ? 0 : 1);
  }
  int status = 0;
  BOOST_REQUIRE(waitpid(child, &status, 0) == child);
  BOOST_TEST(WIFEXITED(status));
  BOOST_TEST(WEXITSTATUS(status) == 0);
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
