#include "core/network/ucx_connections.hpp"

#include "core/base/error.hpp"
#include "core/network/ucx_messages.hpp"
#include "core/network/wire_address.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <utility>

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace troupe {
namespace {

// Calls progress until `is_over`, but not for longer than `most`.
template <class IsOver>
void progress_until(UcxWorker& worker, std::chrono::milliseconds most, IsOver is_over) {
  const auto end = std::chrono::steady_clock::now() + most;
  while (!is_over() && std::chrono::steady_clock::now() < end) worker.progress();
}

}  // namespace

UcxConnections::UcxConnections(UcxWorker& worker, Lost lost)
    : worker_(worker), lost_(std::move(lost)), deaths_(epoll_create1(EPOLL_CLOEXEC)) {
  if (deaths_ < 0) throw run_error("no more descriptors: " + system_message(errno));
  worker_.set_handler(message::hello, on_hello, nullptr);
  worker_.set_handler(message::goodbye, on_goodbye, this);
  worker_.set_handler(message::probe, on_probe, this);
  worker_.set_handler(message::reads, on_reads, this);
  const std::string place =
      fmt::format("{}:{}:{}", getpid(), to_hex(worker.address()), own_memory_.place());
  address_ = new_address_text({.transport = std::string(ucx_transport), .place = place});
  to_itself_ = &add({});
  check_ucx(open_to(*to_itself_, place), "connecting to itself");
}

UcxConnections::~UcxConnections() {
  if (deaths_ >= 0) ::close(deaths_);
  for (const Connection& connection : connections_) {
    if (connection.process >= 0) ::close(connection.process);
  }
}

bool UcxConnections::can_receive() {
  const std::uint64_t before = probes_arrived_;
  send_address(message::probe, to_itself_->endpoint, on_passed_on, nullptr);
  progress_until(worker_, std::chrono::milliseconds(300),
                 [&] { return probes_arrived_ != before; });
  return probes_arrived_ != before;
}

void UcxConnections::close_everything() {
  is_ending_ = true;
  say_goodbye();
  for (Connection& connection : connections_) {
    close(connection);
    end_waiting(connection);
  }
  progress_until(worker_, std::chrono::milliseconds(600),
                 [&] { return std::ranges::all_of(connections_, &Connection::is_closed); });
}

UcxConnections::Connection& UcxConnections::add(std::string address) {
  Connection& connection = connections_.emplace_back();
  connection.owner = this;
  connection.address = std::move(address);
  return connection;
}

// `place`: "1234:00ff:1234-5-67", the other process, the address of its worker, and its memory.
ucs_status_t UcxConnections::open_to(Connection& connection, const std::string& place) {
  const std::size_t colon = place.find(':');
  int process_id = 0;
  std::from_chars(place.data(), place.data() + place.size(), process_id);
  const std::size_t end = place.find(':', colon + 1);
  const std::string packed = from_hex(std::string_view(place).substr(colon + 1, end - colon - 1));
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t*>(packed.data());
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler = {.cb = on_failure, .arg = &connection};
  const ucs_status_t status = ucp_ep_create(worker_.handle(), &params, &connection.endpoint);
  if (status != UCS_OK) return status;
  watch(connection, process_id);
  if (end != std::string::npos) connection.memory = ProcessMemory::open(place.substr(end + 1));
  return status;
}

// UCX itself doesn't notice a process that dies before the connection is open.
void UcxConnections::watch(Connection& connection, int process_id) {
  connection.process = static_cast<int>(syscall(SYS_pidfd_open, process_id, 0));
  if (connection.process < 0) {
    if (errno == ESRCH) fail(connection, "the process has ended");
    return;
  }
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = &connection;
  if (epoll_ctl(deaths_, EPOLL_CTL_ADD, connection.process, &event) != 0) {
    fail(connection, system_message(errno));
  }
}

void UcxConnections::look_for_deaths() {
  const auto now = std::chrono::steady_clock::now();
  if (now < next_look_) return;
  next_look_ = now + std::chrono::milliseconds(5);
  epoll_event event{};
  while (epoll_wait(deaths_, &event, 1, 0) == 1) {
    auto& connection = *static_cast<Connection*>(event.data.ptr);
    fail(connection, "the process has ended");
    ::close(std::exchange(connection.process, -1));  // which removes it from deaths_
  }
}

void UcxConnections::fail(Connection& connection, std::string_view cause) {
  if (connection.failure.empty()) connection.failure = cause;
  has_news_ = true;
}

bool UcxConnections::connect(NodeId node, const std::string& address, const std::string& place) {
  Peer& peer = peers_[node];
  if (peer.connection != nullptr && peer.address == address) return false;
  const bool was_connected = peer.connection != nullptr;
  if (was_connected) close_all_of(peer.address);
  has_news_ = true;
  Connection& connection = add(address);
  peer = {.connection = &connection, .address = address, .cause = {}};
  const ucs_status_t status =
      gone_.contains(address) ? UCS_ERR_CONNECTION_RESET : open_to(connection, place);
  if (status == UCS_OK) {
    greet(connection);
  } else {
    fail(connection, ucs_status_string(status));
  }
  return was_connected;
}

void UcxConnections::greet(Connection& connection) {
  connection.is_greeting = true;
  if (connection.memory != nullptr) {
    send_address(message::reads, connection.endpoint, on_passed_on, nullptr);
  }
  void* const request = send_address(message::hello, connection.endpoint, on_greeted, &connection);
  if (UCS_PTR_IS_PTR(request)) return;
  connection.is_greeting = false;
  if (request != nullptr) fail(connection, ucs_status_string(UCS_PTR_STATUS(request)));
}

ucp_ep_h UcxConnections::endpoint(NodeId node) const {
  const auto peer = peers_.find(node);
  return peer == peers_.end() || peer->second.connection == nullptr
             ? nullptr
             : peer->second.connection->endpoint;
}

bool UcxConnections::is_opening(NodeId node) const {
  const auto peer = peers_.find(node);
  if (peer == peers_.end() || peer->second.connection == nullptr) return false;
  const Connection& connection = *peer->second.connection;
  return connection.is_greeting || !connection.waiting.empty();
}

void UcxConnections::when_open(NodeId node, std::function<void(bool succeeded)> ready) {
  peers_.at(node).connection->waiting.push_back(std::move(ready));
}

bool UcxConnections::is_read_by(NodeId node) const {
  const auto peer = peers_.find(node);
  return peer != peers_.end() && readers_.contains(peer->second.address);
}

std::shared_ptr<const ProcessMemory> UcxConnections::memory(NodeId node) const {
  const auto peer = peers_.find(node);
  return peer == peers_.end() || peer->second.connection == nullptr
             ? nullptr
             : peer->second.connection->memory;
}

std::vector<NodeId> UcxConnections::nodes() const {
  std::vector<NodeId> found;
  for (const auto& [node, peer] : peers_) {
    if (peer.connection != nullptr) found.push_back(node);
  }
  return found;
}

std::string UcxConnections::why_absent(NodeId node) const {
  const auto peer = peers_.find(node);
  if (peer == peers_.end()) return fmt::format("node {} is not connected", node.value);
  return fmt::format("node {} is lost: {}", node.value, peer->second.cause);
}

bool UcxConnections::update() {
  look_for_deaths();
  if (!has_news_) return false;
  has_news_ = false;
  for (Connection& connection : connections_) {
    if (!connection.is_greeting || connection.is_closing) end_waiting(connection);
    if (connection.failure.empty() || connection.is_closing) continue;
    const Failure failure{.address = connection.address, .cause = connection.failure};
    close(connection);
    lose(failure.address, failure.cause);
  }
  for (const Failure& failure : std::exchange(failures_, {})) lose(failure.address, failure.cause);
  std::erase_if(connections_, [](const Connection& connection) {
    return connection.is_closed && !connection.is_greeting && connection.waiting.empty();
  });
  return true;
}

void UcxConnections::end_waiting(Connection& connection) {
  const bool succeeded = !connection.is_closing && connection.failure.empty();
  for (const auto& ready : std::exchange(connection.waiting, {})) ready(succeeded);
}

void* UcxConnections::send_address(unsigned message, ucp_ep_h endpoint,
                                   ucp_send_nbx_callback_t done, void* argument) {
  ucp_request_param_t params{};
  params.op_attr_mask =
      UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
  // For a reply, UCX waits until the other end has answered.
  params.flags = UCP_AM_SEND_FLAG_EAGER | UCP_AM_SEND_FLAG_REPLY;
  params.cb.send = done;
  params.user_data = argument;
  return ucp_am_send_nbx(endpoint, message, address_.data(), address_.size(), nullptr, 0, &params);
}

void UcxConnections::close(Connection& connection) {
  if (connection.is_closing) return;
  connection.is_closing = true;
  has_news_ = true;
  if (connection.process >= 0) ::close(std::exchange(connection.process, -1));
  if (connection.endpoint == nullptr) {
    connection.is_closed = true;
    return;
  }
  ucp_request_param_t params{};
  params.op_attr_mask =
      UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  params.flags = UCP_EP_CLOSE_FLAG_FORCE;
  params.cb.send = on_closed;
  params.user_data = &connection;
  void* const request = ucp_ep_close_nbx(connection.endpoint, &params);
  if (!UCS_PTR_IS_PTR(request)) connection.is_closed = true;
}

void UcxConnections::close_all_of(const std::string& address) {
  for (Connection& connection : connections_) {
    if (connection.address == address) close(connection);
  }
}

void UcxConnections::lose(const std::string& address, const std::string& cause) {
  if (address.empty()) return;  // to itself
  close_all_of(address);
  for (auto& [node, peer] : peers_) {
    if (peer.connection == nullptr || peer.address != address) continue;
    peer.connection = nullptr;
    peer.cause = cause;
    if (!is_ending_) lost_(node, cause);
    return;
  }
}

void UcxConnections::say_goodbye() {
  for (const auto& [node, peer] : peers_) {
    if (peer.connection == nullptr || peer.connection->endpoint == nullptr) continue;
    void* const request =
        send_address(message::goodbye, peer.connection->endpoint, on_said_goodbye, this);
    if (UCS_PTR_IS_PTR(request)) ++goodbyes_under_way_;
  }
  progress_until(worker_, std::chrono::milliseconds(100), [&] { return goodbyes_under_way_ == 0; });
}

void UcxConnections::on_failure(void* connection, ucp_ep_h, ucs_status_t status) {
  auto& failed = *static_cast<Connection*>(connection);
  failed.owner->fail(failed, ucs_status_string(status));
}

void UcxConnections::on_closed(void* request, ucs_status_t, void* connection) {
  auto& closed = *static_cast<Connection*>(connection);
  closed.is_closed = true;
  closed.owner->has_news_ = true;
  ucp_request_free(request);
}

void UcxConnections::on_greeted(void* request, ucs_status_t status, void* connection) {
  ucp_request_free(request);
  auto& greeted = *static_cast<Connection*>(connection);
  greeted.is_greeting = false;
  greeted.owner->has_news_ = true;
  if (status != UCS_OK) greeted.owner->fail(greeted, ucs_status_string(status));
}

void UcxConnections::on_passed_on(void* request, ucs_status_t, void*) {
  ucp_request_free(request);
}

void UcxConnections::on_said_goodbye(void* request, ucs_status_t, void* self) {
  --static_cast<UcxConnections*>(self)->goodbyes_under_way_;
  ucp_request_free(request);
}

// Nothing needs to be done: what counts is that it has come.
ucs_status_t UcxConnections::on_hello(void*, const void*, std::size_t, void*, std::size_t,
                                      const ucp_am_recv_param_t*) {
  return UCS_OK;
}

ucs_status_t UcxConnections::on_reads(void* self, const void* header, std::size_t header_bytes,
                                      void*, std::size_t, const ucp_am_recv_param_t*) {
  static_cast<UcxConnections*>(self)->readers_.emplace(static_cast<const char*>(header),
                                                       header_bytes);
  return UCS_OK;
}

ucs_status_t UcxConnections::on_probe(void* self, const void*, std::size_t, void*, std::size_t,
                                      const ucp_am_recv_param_t*) {
  ++static_cast<UcxConnections*>(self)->probes_arrived_;
  return UCS_OK;
}

ucs_status_t UcxConnections::on_goodbye(void* self, const void* header, std::size_t header_bytes,
                                        void*, std::size_t, const ucp_am_recv_param_t*) {
  auto& connections = *static_cast<UcxConnections*>(self);
  std::string address(static_cast<const char*>(header), header_bytes);
  connections.gone_.insert(address);
  connections.failures_.push_back({.address = std::move(address), .cause = "it has been closed"});
  connections.has_news_ = true;
  return UCS_OK;
}

}  // namespace troupe
