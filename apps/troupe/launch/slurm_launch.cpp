#include "apps/troupe/launch/slurm_launch.hpp"

#include "core/base/error.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdlib>
#include <numeric>
#include <utility>

#include <fmt/format.h>

namespace troupe {
namespace {

constexpr const char* use_pmix = "start with srun --mpi=pmix, or use --nodes";

std::size_t read_number(std::string_view text) {
  std::size_t number = 0;
  const auto [rest, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (status == std::errc{} && rest == text.data() + text.size()) return number;
  throw usage_error(fmt::format("Slurm's environment has '{}' for a number", text), use_pmix);
}

// As many hosts as Slurm can have.
constexpr std::size_t list_items_max = 1 << 16;

Error unreadable(const char* what, std::string_view text) {
  return usage_error(fmt::format("Slurm's list of {}, '{}', can't be read", what, text), use_pmix);
}

// Parts between commas that aren't in brackets.
std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  bool in_brackets = false;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == ',' && !in_brackets)) {
      parts.push_back(text.substr(begin, i - begin));
      begin = i + 1;
    } else if (text[i] == '[' || text[i] == ']') {
      in_brackets = text[i] == '[';
    }
  }
  return parts;
}

std::string_view variable(const char* name) {
  const char* const value = std::getenv(name);
  if (value != nullptr) return value;
  throw usage_error(fmt::format("srun has set no {}", name), use_pmix);
}

class SlurmLaunch final : public Launch {
 public:
  SlurmLaunch() {
    const std::vector<std::string> hosts = expand_hosts(variable("SLURM_STEP_NODELIST"));
    const std::vector<std::size_t> counts = expand_counts(variable("SLURM_STEP_TASKS_PER_NODE"));
    if (hosts.size() != counts.size()) {
      throw usage_error("Slurm's lists of hosts and of tasks differ in length", use_pmix);
    }
    rank_.number = read_number(variable("SLURM_PROCID"));
    rank_.count = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
    if (rank_.count != read_number(variable("SLURM_STEP_NUM_TASKS")) ||
        rank_.number >= rank_.count) {
      throw usage_error(
          fmt::format("rank {} of {} doesn't go with Slurm's list of tasks, '{}'", rank_.number,
                      variable("SLURM_STEP_NUM_TASKS"), variable("SLURM_STEP_TASKS_PER_NODE")),
          use_pmix);
    }
    const bool is_one_host = hosts.size() == 1;
    const std::size_t job = read_number(variable("SLURM_JOB_ID"));
    const std::size_t step = read_number(variable("SLURM_STEP_ID"));
    // Below those that the system gives away.
    constexpr std::size_t first_port = 20000;
    constexpr std::size_t ports = 12000;
    // Steps one after the other, and jobs one after the other, mostly get ports of their own.
    const std::size_t block = std::bit_ceil(*std::max_element(counts.begin(), counts.end()));
    const std::size_t blocks = std::max(ports / block, std::size_t{1});
    const std::size_t first = first_port + (job * 61 + step) % blocks * block;
    for (std::size_t h = 0; h < hosts.size(); ++h) {
      for (std::size_t here = 0; here < counts[h]; ++here) {
        if (addresses_.size() == rank_.number) {
          check_host(hosts[h]);
          rank_.number_here = here;
          rank_.count_here = counts[h];
        }
        addresses_.push_back(
            fmt::format("{}:{}", is_one_host ? "127.0.0.1" : hosts[h], first + here));
      }
    }
    port_ = static_cast<std::uint16_t>(first + rank_.number_here);
  }

  Rank rank() const override { return rank_; }
  std::uint16_t port() const override { return port_; }
  std::vector<std::string> exchange(const std::string& own, Duration) override {
    std::vector<std::string> addresses = addresses_;
    addresses[rank_.number] = own;  // a host may take its own name for that of a loopback address
    return addresses;
  }

 private:
  void check_host(std::string_view host) const {
    if (variable("SLURMD_NODENAME") == host) return;
    throw usage_error(fmt::format("rank {} is on {}, though the order of hosts says {}",
                                  rank_.number, variable("SLURMD_NODENAME"), host),
                      "distribute the ranks in blocks (srun -m block), or use srun --mpi=pmix");
  }

  Rank rank_;
  std::uint16_t port_ = 0;
  std::vector<std::string> addresses_;  // by rank
};

}  // namespace

std::vector<std::string> expand_hosts(std::string_view text) {
  std::vector<std::string> hosts;
  for (const std::string_view part : split(text)) {
    const std::size_t open = part.find('[');
    if (open == part.npos) {
      hosts.emplace_back(part);
      continue;
    }
    const std::size_t close = part.find(']', open);
    if (close == part.npos || part.find('[', close) != part.npos) {
      throw unreadable("hosts", text);
    }
    for (const std::string_view range : split(part.substr(open + 1, close - open - 1))) {
      const std::string_view from = range.substr(0, range.find('-'));
      const std::string_view to = range.substr(range.find('-') == range.npos ? 0 : from.size() + 1);
      const std::size_t first = read_number(from);
      const std::size_t last = read_number(to);
      if (hosts.size() >= list_items_max || last < first ||
          last - first >= list_items_max - hosts.size()) {
        throw unreadable("hosts", text);
      }
      for (std::size_t n = first; n <= last; ++n) {
        hosts.push_back(fmt::format("{}{:0{}}{}", part.substr(0, open), n, from.size(),
                                    part.substr(close + 1)));
      }
    }
  }
  return hosts;
}

std::vector<std::size_t> expand_counts(std::string_view text) {
  std::vector<std::size_t> counts;
  for (std::string_view part : split(text)) {
    std::size_t times = 1;
    const std::size_t open = part.find("(x");
    if (open != part.npos && part.ends_with(')')) {
      times = read_number(part.substr(open + 2, part.size() - open - 3));
      part = part.substr(0, open);
    }
    const std::size_t count = read_number(part);
    if (times > list_items_max - counts.size() || count > list_items_max) {
      throw unreadable("tasks", text);
    }
    counts.insert(counts.end(), times, count);
  }
  return counts;
}

// In a batch script there is no step.
std::unique_ptr<Launch> find_slurm_launch() {
  if (std::getenv("SLURM_STEP_NUM_TASKS") == nullptr || std::getenv("SLURM_PROCID") == nullptr ||
      std::string_view(std::getenv("SLURM_STEP_NUM_TASKS")) == "1") {
    return nullptr;
  }
  return std::make_unique<SlurmLaunch>();
}

}  // namespace troupe
