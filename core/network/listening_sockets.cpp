#include "core/network/listening_sockets.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string>
#include <system_error>

#include <linux/filter.h>
#include <sys/socket.h>

namespace troupe {
namespace {

int option_of(int socket, int option) {
  int value = -1;
  socklen_t size = sizeof value;
  return getsockopt(socket, SOL_SOCKET, option, &value, &size) == 0 ? value : -1;
}

}  // namespace

std::vector<int> listening_sockets() {
  std::vector<int> found;
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", gone)) {
    const std::string name = entry.path().filename().string();
    int number = -1;
    std::from_chars(name.data(), name.data() + name.size(), number);
    if (option_of(number, SO_ACCEPTCONN) == 1 && option_of(number, SO_DOMAIN) == AF_INET) {
      found.push_back(number);
    }
  }
  std::ranges::sort(found);
  return found;
}

void set_accepting(std::span<const int> sockets, bool accept) {
  sock_filter drop = BPF_STMT(BPF_RET | BPF_K, 0);  // of each packet, 0 bytes are kept
  const sock_fprog program{.len = 1, .filter = &drop};
  const int unused = 0;
  for (const int socket : sockets) {
    if (accept) {
      setsockopt(socket, SOL_SOCKET, SO_DETACH_FILTER, &unused, sizeof unused);
    } else {
      setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
    }
  }
}

}  // namespace troupe
