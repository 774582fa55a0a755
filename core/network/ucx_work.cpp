#include "core/network/ucx_work.hpp"

#include "core/base/assert.hpp"
#include "core/network/ucx_messages.hpp"
#include "core/network/wire_address.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace troupe {
namespace {

std::string failure_of(ucs_status_t status) {
  return status == UCS_OK ? std::string() : std::string(ucs_status_string(status));
}

// Of smaller chunks, two copies cost less than the message that gives a loan back.
constexpr std::uint64_t lent_bytes_min = 32 << 10;
// What comes meanwhile waits for the copy of so much, which takes some 100 us.
constexpr std::size_t read_bytes_max = 512 << 10;

template <class T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

}  // namespace

void UcxWork::start() {
  is_ending_ = false;
  worker_.emplace();
  connections_.emplace(*worker_, [this](NodeId node, const std::string& cause) {
    losses_.push_back({.node = node, .cause = cause});
    fail_loans(node, cause);
  });
  worker_->set_handler(message::chunk, on_chunk, this);
  worker_->set_handler(message::loan, on_loan, this);
  worker_->set_handler(message::given_back, on_given_back, this);
  const std::lock_guard lock(address_mutex_);
  address_ = connections_->address();
}

// Chunks that have arrived whole can still be taken.
void UcxWork::stop() {
  is_ending_ = true;
  connections_->close_everything();
  for (Arrival& chunk : arrivals_) {
    if (chunk.state != Arrival::Data::kept) continue;
    void* const data = chunk.data;
    copy(chunk);
    ucp_am_data_release(worker_->handle(), data);
  }
  worker_->stop();
}

std::string UcxWork::place_of(const std::string& address) {
  return parse_address_text(address, ucx_transport).place;
}

bool UcxWork::update() {
  bool has_worked = worker_->progress();
  has_worked |= connections_->update();
  has_worked |= read_part();
  if (finished_.empty()) return has_worked;
  for (const auto& [done, failure] : std::exchange(finished_, {})) done(failure);
  return true;
}

void UcxWork::report_losses() {
  if (!connections_->can_receive()) start_anew();
  for (const Loss& loss : std::exchange(losses_, {})) listener_.lost(loss.node, loss.cause);
}

void UcxWork::start_anew() {
  for (const NodeId node : connections_->nodes()) {
    losses_.push_back({.node = node,
                       .cause = "a process that died has left the shared memory of this node in "
                                "disorder, and all have to connect again"});
  }
  stop();
  while (!transfers_.empty()) end(transfers_.front(), "the connection has been closed");
  while (!lent_.empty()) end_loan(lent_.begin()->first, "the connection has been closed");
  start();
}

void UcxWork::connect(NodeId node, const std::string& address, const std::string& place) {
  if (connections_->connect(node, address, place)) fail_loans(node, "it has connected again");
}

UcxWork::Transfer& UcxWork::begin(ChunkDone done) {
  transfers_.emplace_front();
  Transfer& transfer = transfers_.front();
  transfer.work = this;
  transfer.done = std::move(done);
  transfer.self = transfers_.begin();
  return transfer;
}

void UcxWork::end(Transfer& transfer, const std::string& failure) {
  finished_.push_back({.done = std::move(transfer.done), .failure = failure});
  transfers_.erase(transfer.self);
}

void UcxWork::send(NodeId to, const ChunkHeader& header, const std::byte* bytes, ChunkDone done) {
  if (connections_->is_opening(to)) {
    connections_->when_open(to, [=, this, done = std::move(done)](bool succeeded) {
      if (succeeded) {
        send(to, header, bytes, done);
      } else {
        finished_.push_back({.done = done, .failure = "the connection was closed"});
      }
    });
    return;
  }
  const ucp_ep_h endpoint = connections_->endpoint(to);
  if (endpoint == nullptr) {
    finished_.push_back({.done = std::move(done), .failure = connections_->why_absent(to)});
    return;
  }
  if (const auto loan = loan_of(to, header, bytes)) return lend(to, *loan, std::move(done));
  Transfer& transfer = begin(std::move(done));
  transfer.header.chunk = header;
  post(endpoint, message::chunk, bytes_of(transfer.header.chunk),
       {bytes, static_cast<std::size_t>(header.bytes)}, transfer);
}

void UcxWork::post(ucp_ep_h endpoint, unsigned message, std::span<const std::byte> header,
                   std::span<const std::byte> data, Transfer& transfer) {
  ucp_request_param_t params{};
  params.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  params.cb.send = on_sent;
  params.user_data = &transfer;
  void* const request = ucp_am_send_nbx(endpoint, message, header.data(), header.size(),
                                        data.data(), data.size(), &params);
  if (!UCS_PTR_IS_PTR(request)) {
    transfer.work->end(transfer, failure_of(UCS_PTR_STATUS(request)));
  }
}

std::optional<message::Loan> UcxWork::loan_of(NodeId to, const ChunkHeader& header,
                                              const std::byte* bytes) const {
  if (header.bytes < lent_bytes_min || !connections_->is_read_by(to)) return std::nullopt;
  return message::Loan{
      .chunk = header, .address = reinterpret_cast<std::uintptr_t>(bytes), .number = loans_};
}

void UcxWork::lend(NodeId to, const message::Loan& loan, ChunkDone done) {
  ++loans_;
  lent_.emplace(loan.number, Lent{.to = to, .done = std::move(done)});
  Transfer& transfer = begin([this, number = loan.number](const std::string& failure) {
    if (!failure.empty()) end_loan(number, failure);
  });
  transfer.header = loan;
  post(connections_->endpoint(to), message::loan, bytes_of(transfer.header), {}, transfer);
}

// Does nothing if the loan has ended.
void UcxWork::end_loan(std::uint64_t number, const std::string& failure) {
  const auto lent = lent_.find(number);
  if (lent == lent_.end()) return;
  finished_.push_back({.done = std::move(lent->second.done), .failure = failure});
  lent_.erase(lent);
}

void UcxWork::fail_loans(NodeId to, const std::string& failure) {
  std::vector<std::uint64_t> numbers;
  for (const auto& [number, lent] : lent_) {
    if (lent.to == to) numbers.push_back(number);
  }
  for (const std::uint64_t number : numbers) end_loan(number, failure);
}

// Once the node is lost or has connected again, the lender may reuse the memory.
bool UcxWork::is_lent(const Arrival& chunk) const {
  return connections_->memory(chunk.from) == chunk.memory;
}

std::string UcxWork::read_loan(const Arrival& chunk, std::size_t offset,
                               std::span<std::byte> target) const {
  if (!is_lent(chunk)) return "the connection by which it was lent has been closed";
  return chunk.memory->read(chunk.address + offset, target);
}

bool UcxWork::read_part() {
  if (reading_.empty()) return false;
  Reading& first = reading_.front();
  const std::span<std::byte> part = first.left.first(std::min(first.left.size(), read_bytes_max));
  const std::string failure = read_loan(*first.chunk, first.chunk->bytes - first.left.size(), part);
  first.left = first.left.subspan(part.size());
  if (!first.left.empty() && failure.empty()) return true;
  drop(first.chunk);
  finished_.push_back({.done = std::move(first.done), .failure = failure});
  reading_.pop_front();
  return true;
}

void UcxWork::give_back(const Arrival& chunk) {
  if (!is_lent(chunk)) return;
  Transfer& transfer = begin([](const std::string&) {});
  transfer.header.number = chunk.loan;
  post(connections_->endpoint(chunk.from), message::given_back, bytes_of(transfer.header.number),
       {}, transfer);
}

void UcxWork::on_sent(void* request, ucs_status_t status, void* transfer) {
  ucp_request_free(request);
  auto& sent = *static_cast<Transfer*>(transfer);
  sent.work->end(sent, failure_of(status));
}

bool UcxWork::take(ArrivedChunk chunk, std::byte* target, ChunkDone done) {
  auto& arrival = *static_cast<Arrival*>(chunk);
  TROUPE_ASSERT(!arrival.is_over);
  std::string failure;
  if (arrival.state == Arrival::Data::lent) {
    const std::span<std::byte> whole(target, arrival.bytes);
    if (whole.size() > read_bytes_max) {
      reading_.push_back({.chunk = &arrival, .left = whole, .done = std::move(done)});
      return false;
    }
    failure = read_loan(arrival, 0, whole);
  } else if (arrival.bytes > 0) {
    std::memcpy(target, arrival.data, arrival.bytes);
  }
  drop(chunk);
  if (failure.empty()) return true;
  finished_.push_back({.done = std::move(done), .failure = std::move(failure)});
  return false;
}

void UcxWork::drop(ArrivedChunk chunk) {
  auto& arrival = *static_cast<Arrival*>(chunk);
  TROUPE_ASSERT(!arrival.is_over);
  if (arrival.state == Arrival::Data::kept) ucp_am_data_release(worker_->handle(), arrival.data);
  if (arrival.state == Arrival::Data::lent) give_back(arrival);
  forget(arrival);
}

void UcxWork::forget(Arrival& chunk) {
  chunk.is_over = true;
  if (!chunk.is_in_callback) arrivals_.erase(chunk.self);
}

ucs_status_t UcxWork::on_chunk(void* self, const void* header, std::size_t header_bytes, void* data,
                               std::size_t bytes, const ucp_am_recv_param_t* param) {
  ChunkHeader chunk;
  auto& work = *static_cast<UcxWork*>(self);
  if (work.is_ending_ || header_bytes != sizeof chunk) return UCS_OK;
  std::memcpy(&chunk, header, sizeof chunk);
  if (chunk.bytes != bytes) return UCS_OK;  // not from a Wire
  return work.arrive(chunk, data, bytes, param->recv_attr);
}

ucs_status_t UcxWork::on_loan(void* self, const void* header, std::size_t header_bytes, void*,
                              std::size_t, const ucp_am_recv_param_t*) {
  message::Loan loan;
  auto& work = *static_cast<UcxWork*>(self);
  if (work.is_ending_ || header_bytes != sizeof loan) return UCS_OK;
  std::memcpy(&loan, header, sizeof loan);
  work.arrive(loan);
  return UCS_OK;
}

ucs_status_t UcxWork::on_given_back(void* self, const void* header, std::size_t header_bytes, void*,
                                    std::size_t, const ucp_am_recv_param_t*) {
  std::uint64_t number = 0;
  if (header_bytes != sizeof number) return UCS_OK;
  std::memcpy(&number, header, sizeof number);
  static_cast<UcxWork*>(self)->end_loan(number, {});
  return UCS_OK;
}

void UcxWork::arrive(const message::Loan& loan) {
  const NodeId from{loan.chunk.from};
  auto memory = connections_->memory(from);
  if (memory == nullptr) return;  // not from a Wire that is connected
  arrivals_.emplace_front();
  Arrival& chunk = arrivals_.front();
  chunk.self = arrivals_.begin();
  chunk.state = Arrival::Data::lent;
  chunk.bytes = loan.chunk.bytes;
  chunk.from = from;
  chunk.loan = loan.number;
  chunk.address = loan.address;
  chunk.memory = std::move(memory);
  listener_.arrived(loan.chunk, &chunk);
  chunk.is_in_callback = false;
  if (chunk.is_over) forget(chunk);
}

ucs_status_t UcxWork::arrive(const ChunkHeader& header, void* data, std::size_t bytes,
                             std::uint64_t attributes) {
  arrivals_.emplace_front();
  Arrival& chunk = arrivals_.front();
  chunk.self = arrivals_.begin();
  chunk.data = data;
  chunk.bytes = bytes;
  if (bytes > 0) chunk.state = Arrival::Data::borrowed;
  listener_.arrived(header, &chunk);
  return keep(chunk, (attributes & UCP_AM_RECV_ATTR_FLAG_DATA) != 0);
}

// What on_chunk answers.
ucs_status_t UcxWork::keep(Arrival& chunk, bool ucx_can_keep_it) {
  chunk.is_in_callback = false;
  if (chunk.is_over) {
    forget(chunk);
    return UCS_OK;
  }
  if (chunk.state == Arrival::Data::none) return UCS_OK;
  if (ucx_can_keep_it) {
    chunk.state = Arrival::Data::kept;
    return UCS_INPROGRESS;
  }
  copy(chunk);
  return UCS_OK;
}

void UcxWork::copy(Arrival& chunk) {
  const auto* const first = static_cast<const std::byte*>(chunk.data);
  chunk.copy.assign(first, first + chunk.bytes);
  chunk.data = chunk.copy.data();
  chunk.state = Arrival::Data::copied;
}

}  // namespace troupe
