#include "core/cost/cost_model.hpp"
#include "core/cost/roofline.hpp"

namespace troupe {

std::shared_ptr<const CostModel> default_cost_model(const Machine& machine) {
  return std::make_shared<const Roofline>(machine);
}

}  // namespace troupe
