#include "core/trace/json_text.hpp"

#include <nlohmann/json.hpp>

namespace troupe {

std::string json_string(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace troupe
