// A module of its own: asks the launcher, Open MPI's mpirun or Slurm's srun --mpi=pmix, through
// PMIx.
#include "apps/troupe/launch/launch.hpp"
#include "core/base/error.hpp"
#include "core/base/units.hpp"

#include <future>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <pmix.h>

namespace troupe {
namespace {

constexpr const char* address_key = "troupe.address";

void check(pmix_status_t status, const char* what) {
  if (status == PMIX_SUCCESS) return;
  throw usage_error(fmt::format("the launcher {}: {}", what, PMIx_Error_string(status)),
                    "start with srun --mpi=pmix or mpirun, or use --nodes");
}

class Session final : public Launch {
 public:
  Session() {
    check(PMIx_Init(&self_, nullptr, 0), "can't be reached");
    rank_ = {.number = self_.rank,
             .count = number(PMIX_RANK_WILDCARD, PMIX_JOB_SIZE),
             .number_here = number(self_.rank, PMIX_LOCAL_RANK),
             .count_here = number(PMIX_RANK_WILDCARD, PMIX_LOCAL_SIZE)};
  }
  ~Session() override { PMIx_Finalize(nullptr, 0); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  Rank rank() const override { return rank_; }
  std::uint16_t port() const override { return 0; }

  std::vector<std::string> exchange(const std::string& own, Duration patience) override {
    std::string text = own;
    pmix_value_t value;
    PMIX_VALUE_CONSTRUCT(&value);
    value.type = PMIX_STRING;
    value.data.string = text.data();
    check(PMIx_Put(PMIX_GLOBAL, address_key, &value), "takes no address");
    check(PMIx_Commit(), "takes no address");
    meet(patience);
    std::vector<std::string> addresses;
    for (std::size_t r = 0; r < rank_.count; ++r) {
      pmix_value_t* found = get(static_cast<pmix_rank_t>(r), address_key);
      addresses.emplace_back(found->data.string);
      PMIX_VALUE_FREE(found, 1);
    }
    return addresses;
  }

 private:
  // Blocks until all ranks have put their addresses.
  static void meet(Duration patience) {
    struct Meeting {
      Meeting() {
        bool yes = true;
        PMIX_INFO_LOAD(&collect, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
      }
      ~Meeting() { PMIX_INFO_DESTRUCT(&collect); }
      pmix_info_t collect{};
      std::promise<pmix_status_t> met;
    };
    // Lives on if nobody waits for it any more.
    auto* const meeting = std::make_unique<Meeting>().release();
    std::future<pmix_status_t> met = meeting->met.get_future();
    const auto end = [](pmix_status_t status, void* of) {
      const std::unique_ptr<Meeting> done(static_cast<Meeting*>(of));
      done->met.set_value(status);
    };
    const pmix_status_t begun = PMIx_Fence_nb(nullptr, 0, &meeting->collect, 1, end, meeting);
    if (begun != PMIX_SUCCESS) {  // `end` isn't called
      const std::unique_ptr<Meeting> over(meeting);
      if (begun != PMIX_OPERATION_SUCCEEDED) check(begun, "has lost a rank");
      return;
    }
    if (met.wait_for(patience) == std::future_status::timeout) {
      throw usage_error(fmt::format("not all ranks have come to `troupe run` within {}",
                                    format_duration(patience)),
                        "see what the others do; each rank must run the same command");
    }
    check(met.get(), "has lost a rank");
  }
  // The caller frees the result.
  pmix_value_t* get(pmix_rank_t rank, const char* key) const {
    pmix_proc_t of;
    PMIX_PROC_LOAD(&of, self_.nspace, rank);
    pmix_value_t* value = nullptr;
    const pmix_status_t status = PMIx_Get(&of, key, nullptr, 0, &value);
    check(status, fmt::format("doesn't say '{}' of rank {}", key, rank).c_str());
    return value;
  }
  std::size_t number(pmix_rank_t rank, const char* key) const {
    pmix_value_t* value = get(rank, key);
    const std::size_t result = value->type == PMIX_UINT16 ? value->data.uint16 : value->data.uint32;
    PMIX_VALUE_FREE(value, 1);
    return result;
  }

  pmix_proc_t self_{};
  Rank rank_;
};

}  // namespace
}  // namespace troupe

extern "C" troupe::Launch* troupe_make_pmix_launch() {
  return std::make_unique<troupe::Session>().release();
}
