#include "core/memory/storage_space.hpp"

#include "core/base/error.hpp"
#include "core/base/units.hpp"
#include "core/memory/scratch_folder.hpp"

#include <fstream>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace troupe {
namespace {

// Links write and read the files, too.
class StorageSpace final : public MemorySpace {
 public:
  StorageSpace(std::string name, const std::string& directory)
      : name_(std::move(name)), folder_(directory) {}

  std::optional<std::uint64_t> free_bytes() const override { return folder_.free_bytes(); }

  std::byte* take(ReplicaId, std::uint64_t) override { return nowhere; }
  void give(const Held& held) noexcept override {
    std::error_code ignored;  // if the file was never written, there is nothing to free
    std::filesystem::remove(file(held.replica), ignored);
  }

  void read(const Held& held, std::byte* out) const override {
    std::ifstream in(file(held.replica), std::ios::binary);
    in.read(reinterpret_cast<char*>(out), static_cast<std::streamsize>(held.bytes));
    if (static_cast<std::uint64_t>(in.gcount()) != held.bytes) throw unreadable(held);
  }
  void write(const Held& held, std::uint64_t offset, std::span<const std::byte> values) override {
    const std::ios::openmode kept = offset == 0 ? std::ios::openmode{} : std::ios::in;
    std::ofstream out(file(held.replica), std::ios::binary | kept);
    out.seekp(static_cast<std::streamoff>(offset));
    out.write(reinterpret_cast<const char*>(values.data()),
              static_cast<std::streamsize>(values.size()));
    if (out.flush()) return;
    throw run_error(fmt::format("can't write a tensor of {} to memory '{}' (file '{}')",
                                format_bytes(held.bytes), name_, file(held.replica).string()),
                    "free space there, or name another directory");
  }
  Digest digest(const Held& held) const override {
    const std::optional<Digest> digest = digest_of_file(file(held.replica), held.bytes);
    if (!digest) throw unreadable(held);
    return *digest;
  }

  std::filesystem::path file(ReplicaId replica) const override {
    return folder_.path() / fmt::format("tensor-{}", replica.value);
  }
  void renumber(const Held& held, ReplicaId to) override {
    std::error_code failure;
    std::filesystem::rename(file(held.replica), file(to), failure);
    if (failure) throw unreadable(held);
  }

 private:
  Error unreadable(const Held& held) const {
    return run_error(fmt::format("can't read a tensor of {} back from memory '{}' (file '{}')",
                                 format_bytes(held.bytes), name_, file(held.replica).string()),
                     "check the directory and its disk");
  }

  const std::string name_;
  const ScratchFolder folder_;
};

}  // namespace

std::unique_ptr<MemorySpace> make_storage_space(const Memory& memory) {
  try {
    return std::make_unique<StorageSpace>(memory.name, memory.directory);
  } catch (const Error& e) {
    throw usage_error(memory.place, fmt::format("memory '{}': {}", memory.name, e.problem()),
                      e.remedy());
  }
}

}  // namespace troupe
