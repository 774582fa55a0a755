#include "tests/support/slow_network.hpp"

#include "core/base/random.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <queue>
#include <stdexcept>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace troupe::testing {
namespace {

using Clock = std::chrono::steady_clock;

// The end of a network device eth0 in a namespace: what the host sends can be read from it, and
// what is written to it arrives at the host. Returns -1 if that isn't possible here.
int open_device(const std::string& name) {
  int device = -1;
  // The namespace is that of the thread that opens the device.
  std::thread([&] {
    const int space = open(("/run/netns/" + name).c_str(), O_RDONLY | O_CLOEXEC);
    if (space < 0) return;
    if (setns(space, CLONE_NEWNET) == 0) {
      device = open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK);
    }
    close(space);
    ifreq request{};
    request.ifr_flags = IFF_TAP | IFF_NO_PI;
    std::strncpy(request.ifr_name, "eth0", sizeof request.ifr_name - 1);
    if (device >= 0 && ioctl(device, TUNSETIFF, &request) != 0) {
      close(std::exchange(device, -1));
    }
  }).join();
  return device;
}

boost::test_tools::assertion_result allowed(bool can, const char* reason) {
  boost::test_tools::assertion_result result(can);
  result.message() << reason;
  return result;
}

}  // namespace

Finished in_shell(const std::string& command) {
  return Program({"sh", "-c", command + " 2>&1"}).wait();
}

boost::test_tools::assertion_result can_make_hosts(boost::unit_test::test_unit_id) {
  static const bool can = [] {
    const std::string name = fmt::format("troupe-{}", getpid());
    return in_shell(fmt::format("ip netns add {0} && ip -n {0} link add v0 type veth peer name v1 "
                                "&& ip netns del {0}",
                                name))
               .exit_code == 0;
  }();
  return allowed(can, "network namespaces can't be made here (`ip netns` of iproute2, as root)");
}

boost::test_tools::assertion_result can_make_slow_network(boost::unit_test::test_unit_id id) {
  static const bool can = [&] {
    if (!can_make_hosts(id)) return false;
    const std::string name = fmt::format("troupe-{}", getpid());
    in_shell("ip netns add " + name);
    const int device = open_device(name);
    if (device >= 0) close(device);
    in_shell("ip netns del " + name);
    return device >= 0;
  }();
  return allowed(can,
                 "needs network namespaces (`ip netns` of iproute2, as root) and /dev/net/tun");
}

// Frames go from host to host by their addresses, which the switch learns.
class SlowNetwork::Switch {
 public:
  Switch(const std::vector<int>& devices, const CableQuality& quality, std::uint64_t seed)
      : quality_(quality), random_(seed), ports_(devices.size()) {
    for (std::size_t p = 0; p < devices.size(); ++p) ports_[p].device = devices[p];
    thread_ = std::thread([this] { forward(); });
  }
  ~Switch() {
    is_over_ = true;
    thread_.join();
    for (const Port& port : ports_) close(port.device);
  }
  void set_cut(std::size_t port, bool is_cut) { ports_[port].is_cut = is_cut; }
  std::uint64_t lost_frames() const { return lost_; }

 private:
  static constexpr std::size_t frame_bytes_max = 2048;
  static constexpr std::size_t queue_max = 1000;  // frames in a cable; others are dropped
  using Address = std::array<char, 6>;

  struct Frame {
    Clock::time_point due;
    std::uint64_t number;  // those that are due at the same time stay in order
    std::size_t to;
    std::string bytes;
    bool operator>(const Frame& other) const {
      return std::pair(due, number) > std::pair(other.due, other.number);
    }
  };
  struct Port {
    int device = -1;
    std::atomic<bool> is_cut = false;
    Address address{};         // of the host; zeros: not known yet
    Clock::time_point free{};  // when all that the host has sent will have left
  };

  void forward() {
    std::vector<pollfd> ready;
    for (const Port& port : ports_) ready.push_back({port.device, POLLIN, 0});
    while (!is_over_) {
      const auto patience = std::chrono::milliseconds(10);
      auto wait = std::chrono::duration_cast<std::chrono::nanoseconds>(patience);
      if (!queue_.empty()) {
        wait = std::clamp<std::chrono::nanoseconds>(queue_.top().due - Clock::now(),
                                                    std::chrono::nanoseconds(0), wait);
      }
      const timespec limit{0, wait.count()};
      ppoll(ready.data(), ready.size(), &limit, nullptr);
      for (std::size_t p = 0; p < ports_.size(); ++p) take_from(p);
      while (!queue_.empty() && queue_.top().due <= Clock::now()) {
        const Frame& frame = queue_.top();
        Port& to = ports_[frame.to];
        // A host that isn't up yet takes nothing: the frame is lost.
        if (!to.is_cut) {
          static_cast<void>(!write(to.device, frame.bytes.data(), frame.bytes.size()));
        }
        queue_.pop();
      }
    }
  }

  void take_from(std::size_t p) {
    Port& from = ports_[p];
    std::array<char, frame_bytes_max> bytes{};
    while (true) {
      const ssize_t size = read(from.device, bytes.data(), bytes.size());
      if (size < 0) return;  // nothing more for now
      const std::string frame(bytes.data(), static_cast<std::size_t>(size));
      if (from.is_cut || frame.size() < 2 * sizeof(Address)) continue;
      Address receiver{};
      std::memcpy(receiver.data(), frame.data(), sizeof receiver);
      std::memcpy(from.address.data(), frame.data() + sizeof receiver, sizeof receiver);
      const auto known = std::find_if(ports_.begin(), ports_.end(),
                                      [&](const Port& port) { return port.address == receiver; });
      for (std::size_t to = 0; to < ports_.size(); ++to) {
        if (to == p || (known != ports_.end() && &*known != &ports_[to])) continue;
        send(from, to, frame);
      }
    }
  }

  void send(Port& from, std::size_t to, const std::string& frame) {
    if (random_.unit() < quality_.loss) {
      ++lost_;
      return;
    }
    if (queue_.size() >= queue_max * ports_.size()) return;
    from.free = std::max(from.free, Clock::now()) +
                seconds(quality_.bytes_per_second == 0
                            ? 0
                            : static_cast<double>(frame.size()) / quality_.bytes_per_second);
    queue_.push({from.free + seconds(quality_.latency_s), number_++, to, frame});
  }
  static Clock::duration seconds(double count) {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(count));
  }

  const CableQuality quality_;
  Random random_;
  std::vector<Port> ports_;
  std::priority_queue<Frame, std::vector<Frame>, std::greater<>> queue_;
  std::uint64_t number_ = 0;
  std::atomic<std::uint64_t> lost_ = 0;
  std::atomic<bool> is_over_ = false;
  std::thread thread_;
};

SlowNetwork::SlowNetwork(std::size_t hosts, const CableQuality& quality, std::uint64_t seed) {
  std::vector<int> devices;
  for (std::size_t h = 0; h < hosts; ++h) {
    names_.push_back(fmt::format("troupe-{}-{}", getpid(), h));
    in_shell("ip netns add " + names_[h]);
    devices.push_back(open_device(names_[h]));
    const Finished made =
        in_shell(fmt::format("set -e; ip -n {0} link set lo up; ip -n {0} address add {1}/24 dev "
                             "eth0; ip -n {0} link set eth0 up",
                             names_[h], address(h)));
    if (made.exit_code != 0) throw std::runtime_error(made.out);
  }
  switch_ = std::make_unique<Switch>(devices, quality, seed);
}

SlowNetwork::~SlowNetwork() {
  switch_.reset();
  for (const std::string& name : names_) in_shell("ip netns del " + name);
}

std::vector<std::string> SlowNetwork::on(std::size_t host) const {
  return {"ip", "netns", "exec", names_[host]};
}
void SlowNetwork::cut_cable(std::size_t host) {
  switch_->set_cut(host, true);
}
void SlowNetwork::mend_cable(std::size_t host) {
  switch_->set_cut(host, false);
}
std::uint64_t SlowNetwork::lost_frames() const {
  return switch_->lost_frames();
}

}  // namespace troupe::testing
