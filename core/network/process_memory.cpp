#include "core/network/process_memory.hpp"

#include "core/base/error.hpp"
#include "core/network/random_number.hpp"

#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace troupe {
namespace {

// "12-34-56": a process, where its proof is, and the proof.
using Place = std::array<std::uint64_t, 3>;

std::optional<Place> parsed(std::string_view text) {
  Place place{};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (std::size_t i = 0; i < place.size(); ++i) {
    if (i > 0 && (at == end || *at++ != '-')) return std::nullopt;
    const auto [stop, problem] = std::from_chars(at, end, place[i]);
    if (problem != std::errc{}) return std::nullopt;
    at = stop;
  }
  return at == end ? std::optional(place) : std::nullopt;
}

}  // namespace

ReadableMemory::ReadableMemory() : proof_(random_number()) {
  // Fails where there is no Yama. A process whose parent is gone has been given to init, from which
  // all descend.
  if (const pid_t parent = getppid(); parent > 1) prctl(PR_SET_PTRACER, parent, 0, 0, 0);
}

std::string ReadableMemory::place() const {
  return fmt::format("{}-{}-{}", getpid(), reinterpret_cast<std::uintptr_t>(&proof_), proof_);
}

std::shared_ptr<const ProcessMemory> ProcessMemory::open(std::string_view place) {
  const auto found = parsed(place);
  if (!found) return nullptr;
  const auto [process, address, proof] = *found;
  const auto id = static_cast<pid_t>(process);
  const auto life = static_cast<int>(syscall(SYS_pidfd_open, id, 0));
  if (life < 0) return nullptr;
  std::shared_ptr<const ProcessMemory> memory(new ProcessMemory(id, life));
  std::uint64_t read = 0;
  const bool is_readable =
      memory->read(address, std::as_writable_bytes(std::span(&read, 1))).empty();
  return is_readable && read == proof ? memory : nullptr;
}

ProcessMemory::~ProcessMemory() {
  close(life_);
}

std::string ProcessMemory::read(std::uint64_t address, std::span<std::byte> out) const {
  while (!out.empty()) {
    const iovec to{out.data(), out.size()};
    const iovec from{std::bit_cast<void*>(address), out.size()};
    const ssize_t copied = process_vm_readv(process_, &to, 1, &from, 1, 0);
    if (copied <= 0) {
      return fmt::format("the memory of process {} can't be read: {}", process_,
                         copied < 0 ? system_message(errno) : "it ends");
    }
    out = out.subspan(static_cast<std::size_t>(copied));
    address += static_cast<std::uint64_t>(copied);
  }
  // What was read is of the right process only if that one still lives: else another one may have
  // got its number.
  pollfd life{.fd = life_, .events = POLLIN, .revents = 0};
  int ended = 0;
  do {
    ended = poll(&life, 1, 0);
  } while (ended < 0 && errno == EINTR);
  if (ended == 0) return {};
  return fmt::format("process {} {}", process_, ended > 0 ? "has ended" : "may have ended");
}

}  // namespace troupe
