#include "core/base/error.hpp"

#include "core/base/text.hpp"

#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace troupe {

Error::Error(ErrorKind kind, SourcePlace place, std::string problem, std::string remedy)
    : kind_(kind),
      place_(std::move(place)),
      problem_(std::move(problem)),
      remedy_(std::move(remedy)) {
  if (!place_.file.empty()) {
    text_ = place_.file;
    if (place_.line > 0) text_ += fmt::format(":{}", place_.line);
    if (place_.column > 0) text_ += fmt::format(":{}", place_.column);
    text_ += ": ";
  }
  text_ += problem_;
  if (!remedy_.empty()) text_ += "; " + remedy_;
  text_ = visible(text_);
}

Error Error::at(const SourcePlace& place) const {
  return place_.file.empty() ? Error(kind_, place, problem_, remedy_) : *this;
}

std::string system_message(int error) {
  return std::generic_category().message(error);
}

}  // namespace troupe
