#include "core/trace/report.hpp"

namespace troupe {

std::string_view outcome_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::done:
      return "done";
    case Outcome::failed:
      return "failed";
    case Outcome::interrupted:
      return "interrupted";
    case Outcome::not_run:
      return "not run";
    case Outcome::done_before:
      return "done before";
  }
  return "";
}

}  // namespace troupe
