#include "core/base/unit_spelling.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace troupe {
namespace {

struct Ending {
  std::string_view written;
  std::string_view meant;
};

// In lower case, the longest of those that end alike first. They are applied one after the other:
// "flops" becomes "flo/s", then "flop/s".
constexpr std::array per_second = {Ending{"/second", "/s"}, Ending{"/sec", "/s"},
                                   Ending{"ps", "/s"}};
constexpr std::array other_words = {
    Ending{"flops/s", "flop/s"}, Ending{"flo/s", "flop/s"}, Ending{"bytes/s", "b/s"},
    Ending{"byte/s", "b/s"},     Ending{"bytes", "b"},      Ending{"byte", "b"},
    Ending{"seconds", "s"},      Ending{"second", "s"},     Ending{"secs", "s"},
    Ending{"sec", "s"},          Ending{"minutes", "min"},  Ending{"minute", "min"},
    Ending{"mins", "min"}};

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

void replace_ending(std::string& text, std::span<const Ending> endings) {
  for (const Ending& ending : endings) {
    if (!text.ends_with(ending.written)) continue;
    text.replace(text.size() - ending.written.size(), std::string::npos, ending.meant);
    return;
  }
}

// One spelling for all that mean the same.
std::string normal(std::string_view unit) {
  std::string text = lower(unit);
  replace_ending(text, per_second);
  replace_ending(text, other_words);
  return text;
}

// Takes `ending` off the end of `text`; false where it isn't there.
bool remove_ending(std::string_view& text, std::string_view ending) {
  if (!text.ends_with(ending)) return false;
  text.remove_suffix(ending.size());
  return true;
}

}  // namespace

std::string_view same_unit(std::string_view written, std::span<const std::string_view> known) {
  const std::string wanted = normal(written);
  for (const std::string_view unit : known) {
    // "Ms" may mean megaseconds, 10^9 times as long as "ms".
    if (unit == "ms" && written.starts_with('M')) continue;
    // "10 GB" for a bandwidth is short for "10 GB/s".
    const std::string here = normal(unit);
    if (here == wanted || here == wanted + "/s") return unit;
  }
  return {};
}

std::string bytes_for_bits(std::string_view written) {
  std::string_view text = written;
  const bool per_second = remove_ending(text, "/s") || remove_ending(text, "/sec") ||
                          remove_ending(text, "/second") || remove_ending(text, "ps");
  const bool is_bit =
      remove_ending(text, "bits") || remove_ending(text, "bit") || remove_ending(text, "b");
  if (!is_bit) return {};
  const bool binary = text.size() == 2 && (text[1] == 'i' || text[1] == 'I');
  if (text.size() > 1 && !binary) return {};
  std::string unit;
  if (!text.empty()) {
    const char upper = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
    constexpr std::string_view prefixes = "KMGTP";
    if (prefixes.find(upper) == std::string_view::npos) return {};
    unit = upper == 'K' && !binary ? 'k' : upper;
  }
  if (binary) unit += 'i';
  return unit + (per_second ? "B/s" : "B");
}

}  // namespace troupe
