#include "core/trace/busiest_rows.hpp"

#include <algorithm>

namespace troupe {

std::vector<std::uint32_t> busiest_rows(const std::vector<RowLoad>& rows, std::size_t room) {
  std::vector<std::uint32_t> by_load;
  for (std::uint32_t i = 0; i < rows.size(); ++i) {
    if (rows[i].busy > 0) by_load.push_back(i);
  }
  if (by_load.size() <= room) return by_load;
  std::ranges::stable_sort(by_load, [&](auto a, auto b) { return rows[a].busy > rows[b].busy; });
  std::vector<std::uint32_t> chosen;
  std::vector<std::uint32_t> others;
  std::size_t of_kind[2] = {0, 0};
  for (const std::uint32_t i : by_load) {
    const bool has_place = ++of_kind[rows[i].is_device ? 1 : 0] <= room / 2;
    (has_place ? chosen : others).push_back(i);
  }
  others.resize(room - chosen.size());
  chosen.insert(chosen.end(), others.begin(), others.end());
  std::ranges::sort(chosen);
  return chosen;
}

}  // namespace troupe
