// JSON strings, for the writers of JSON files.
#pragma once

#include <string>
#include <string_view>

namespace troupe {

// `text` escaped and in quotes. Bytes that aren't valid UTF-8 become U+FFFD.
std::string json_string(std::string_view text);

}  // namespace troupe
