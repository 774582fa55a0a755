// Strings as JSON, for the writers that stream it out.
#pragma once

#include <string>
#include <string_view>

namespace troupe {

// `text` in quotes, escaped; bytes that are no UTF-8 become U+FFFD.
std::string json_string(std::string_view text);

}  // namespace troupe
