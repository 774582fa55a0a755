#include "core/network/ucx_worker.hpp"

#include <array>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <sys/statvfs.h>

namespace troupe {
namespace {

constexpr std::array<std::pair<const char*, const char*>, 5> settings{{
    {"TLS", "posix"},
    // By /proc/PID/fd, not by names.
    {"USE_PROC_LINK", "y"},
    {"MM_ERROR_HANDLING", "y"},
    // How often UCX checks whether the other process lives.
    {"KEEPALIVE_INTERVAL", "100ms"},
    // A rendezvous under way would never end if the other process died.
    {"RNDV_THRESH", "inf"},
}};

using Config = std::unique_ptr<ucp_config_t, decltype(&ucp_config_release)>;

Config configure() {
  ucp_config_t* read = nullptr;
  check_ucx(ucp_config_read(nullptr, nullptr, &read), "reading its settings");
  Config config(read, &ucp_config_release);
  for (const auto& [name, value] : settings) {
    check_ucx(ucp_config_modify(config.get(), name, value),
              fmt::format("setting {} to {}", name, value));
  }
  return config;
}

Error no_worker(ucs_status_t status) {
  // UCX makes no memory where it finds no room there, whether it needs any or not.
  struct statvfs shm {};
  const bool has_room = statvfs("/dev/shm", &shm) == 0 && shm.f_bavail > 0;
  if (has_room) return ucx_error("starting a worker", status);
  return run_error("tensors can't go through shared memory: /dev/shm is full, or there is none",
                   "make room there (in a container of Docker by --shm-size), or use --transport "
                   "tcp");
}

}  // namespace

UcxWorker::UcxWorker() {
  const Config config = configure();
  ucp_params_t context{};
  context.field_mask = UCP_PARAM_FIELD_FEATURES;
  context.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
  check_ucx(ucp_init(&context, config.get(), &context_), "starting");
  ucp_worker_params_t worker{};
  worker.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE | UCP_WORKER_PARAM_FIELD_EVENTS;
  worker.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  worker.events = UCP_WAKEUP_RX | UCP_WAKEUP_TX;
  ucs_status_t status = ucp_worker_create(context_, &worker, &worker_);
  if (status == UCS_OK) status = ucp_worker_get_efd(worker_, &events_);
  if (status == UCS_OK) return;
  if (worker_ != nullptr) ucp_worker_destroy(worker_);
  ucp_cleanup(context_);
  throw no_worker(status);
}

void UcxWorker::stop() {
  if (context_ == nullptr) return;
  ucp_worker_destroy(worker_);
  ucp_cleanup(context_);
  context_ = nullptr;
}

std::string UcxWorker::address() const {
  ucp_address_t* packed = nullptr;
  std::size_t bytes = 0;
  check_ucx(ucp_worker_get_address(worker_, &packed, &bytes), "asking for the worker's address");
  std::string address(reinterpret_cast<const char*>(packed), bytes);
  ucp_worker_release_address(worker_, packed);
  return address;
}

void UcxWorker::set_handler(unsigned message, ucp_am_recv_callback_t handler, void* argument) {
  ucp_am_handler_param_t params{};
  params.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                      UCP_AM_HANDLER_PARAM_FIELD_ARG;
  params.id = message;
  params.cb = handler;
  params.arg = argument;
  check_ucx(ucp_worker_set_am_recv_handler(worker_, &params), "setting a handler");
}

WireRest UcxWorker::rest(int also) {
  const bool is_idle = ucp_worker_arm(worker_) == UCS_OK;
  if (!is_idle && ++busy_in_vain_ < 100) return {};  // something has happened meanwhile
  // UCX 1.13 may be busy for ever with what it can't send to a process that has died.
  return {.readable = {events_, also}, .most_ms = is_idle ? -1 : 1};
}

Error ucx_error(std::string_view what, ucs_status_t status) {
  return run_error(fmt::format("UCX fails at {}: {}", what, ucs_status_string(status)),
                   "UCX_LOG_LEVEL=info in the environment makes it say more");
}

void check_ucx(ucs_status_t status, std::string_view what) {
  if (status != UCS_OK) throw ucx_error(what, status);
}

}  // namespace troupe
