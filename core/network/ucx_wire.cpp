#include "core/network/ucx_wire.hpp"

#include "core/base/assert.hpp"
#include "core/base/relax.hpp"
#include "core/base/version.hpp"
#include "core/network/call_queue.hpp"
#include "core/network/listening_sockets.hpp"
#include "core/network/load_wire.hpp"
#include "core/network/ucx_connections.hpp"
#include "core/network/ucx_messages.hpp"
#include "core/network/ucx_worker.hpp"
#include "core/network/wire_address.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <exception>
#include <functional>
#include <future>
#include <iterator>
#include <list>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <ucp/api/ucp.h>

namespace troupe {
namespace {

std::string failure_of(ucs_status_t status) {
  return status == UCS_OK ? std::string() : std::string(ucs_status_string(status));
}

// What happens on the thread of a Wire, or within progress(); all functions are for one thread at a
// time. Callbacks of the user are called by update(), so that they may send and take without end;
// arrived() is called within progress.
class WireWork {
 public:
  WireWork(WireListener& listener, const UcxWireOptions& options)
      : listener_(listener), options_(options) {
    start();
  }
  ~WireWork() { stop(); }
  WireWork(const WireWork&) = delete;
  WireWork& operator=(const WireWork&) = delete;

  UcxWorker& worker() { return *worker_; }
  UcxConnections& connections() { return *connections_; }
  std::string address() const {  // thread-safe
    const std::lock_guard lock(address_mutex_);
    return address_;
  }

  void send(NodeId to, const ChunkHeader& header, const std::byte* bytes, ChunkDone done);
  void take(ArrivedChunk chunk, std::byte* target, ChunkDone done);
  void drop(ArrivedChunk chunk);
  // Returns true if something has happened.
  bool update();
  // Losses that update() has found, for the listener. The worker may become another one.
  bool has_losses() const { return !losses_.empty(); }
  void report_losses();
  // Whether something was begun that update() has yet to end.
  bool is_under_way() const { return !transfers_.empty(); }

 private:
  // A chunk that is being sent or taken.
  struct Transfer {
    WireWork* work = nullptr;
    ChunkHeader header;
    ChunkDone done;
    std::list<Transfer>::iterator self;
  };
  struct Arrival {
    enum class Data : std::uint8_t {
      none,        // the chunk is empty
      borrowed,    // of UCX, for as long as the callback on_chunk runs
      kept,        // of UCX, until it is released
      copied,      // in `copy`
      rendezvous,  // still at the sender
    };
    Data state = Data::none;
    bool is_in_callback = true;
    bool is_over = false;  // taken or dropped
    void* data = nullptr;
    std::size_t bytes = 0;
    std::vector<std::byte> copy;
    std::list<Arrival>::iterator self;
  };
  struct Finished {
    ChunkDone done;
    std::string failure;
  };
  struct Loss {
    NodeId node;
    std::string cause;
  };

  void start();
  void stop();
  void start_anew();
  void open_or_shut_ports();
  Transfer& begin(ChunkDone done);
  void end(Transfer& transfer, const std::string& failure);
  void take_rendezvous(Arrival& chunk, std::byte* target, ChunkDone done);
  ucs_status_t arrive(const ChunkHeader& header, void* data, std::size_t bytes,
                      std::uint64_t attributes);
  ucs_status_t keep(Arrival& chunk, bool ucx_can_keep_it);
  void copy(Arrival& chunk);
  void forget(Arrival& chunk);

  static void on_sent(void* request, ucs_status_t status, void* transfer);
  static void on_taken(void* request, ucs_status_t status, std::size_t bytes, void* transfer);
  static ucs_status_t on_chunk(void* self, const void* header, std::size_t header_bytes, void* data,
                               std::size_t bytes, const ucp_am_recv_param_t* param);

  WireListener& listener_;
  const UcxWireOptions options_;
  std::optional<UcxWorker> worker_;
  std::optional<UcxConnections> connections_;
  std::vector<int> ports_;  // sockets on which UCX listens
  bool are_ports_open_ = true;
  mutable std::mutex address_mutex_;
  std::string address_;
  std::vector<Loss> losses_;
  std::list<Transfer> transfers_;
  std::list<Arrival> arrivals_;
  std::vector<Finished> finished_;
  bool is_ending_ = false;
};

void WireWork::start() {
  is_ending_ = false;
  static std::mutex one_at_a_time;
  std::unique_lock starting(one_at_a_time);
  const std::vector<int> others = listening_sockets();
  worker_.emplace(options_);
  connections_.emplace(*worker_, options_, [this](NodeId node, const std::string& cause) {
    losses_.push_back({.node = node, .cause = cause});
  });
  ports_.clear();
  std::ranges::set_difference(listening_sockets(), others, std::back_inserter(ports_));
  are_ports_open_ = true;
  starting.unlock();
  ucp_am_handler_param_t params{};
  params.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                      UCP_AM_HANDLER_PARAM_FIELD_ARG;
  params.id = message::chunk;
  params.cb = on_chunk;
  params.arg = this;
  check_ucx(ucp_worker_set_am_recv_handler(worker_->handle(), &params), "setting a handler");
  const std::lock_guard lock(address_mutex_);
  address_ = connections_->address();
}

// Chunks that have arrived whole can still be taken.
void WireWork::stop() {
  is_ending_ = true;
  connections_->close_everything();
  for (Arrival& chunk : arrivals_) {
    if (chunk.state != Arrival::Data::kept && chunk.state != Arrival::Data::rendezvous) continue;
    void* const data = chunk.data;
    if (chunk.state == Arrival::Data::kept) copy(chunk);
    ucp_am_data_release(worker_->handle(), data);
  }
  worker_->stop();
}

bool WireWork::update() {
  bool has_worked = worker_->progress();
  if (connections_->update()) {
    has_worked = true;
    open_or_shut_ports();
  }
  if (finished_.empty()) return has_worked;
  for (const auto& [done, failure] : std::exchange(finished_, {})) done(failure);
  return true;
}

// Whoever connects to a port of UCX can end this process, even by mistake.
void WireWork::open_or_shut_ports() {
  const bool are_needed = !connections_->is_complete();
  if (are_needed == are_ports_open_) return;
  are_ports_open_ = are_needed;
  set_accepting(ports_, are_needed);
}

void WireWork::report_losses() {
  const bool is_shared_memory = options_.transport == UcxWireOptions::Transport::shared_memory;
  if (is_shared_memory && !connections_->can_receive()) start_anew();
  for (const Loss& loss : std::exchange(losses_, {})) listener_.lost(loss.node, loss.cause);
}

void WireWork::start_anew() {
  for (const NodeId node : connections_->nodes()) {
    losses_.push_back({.node = node,
                       .cause = "a process that died has left the shared memory of this node in "
                                "disorder, and all have to connect again"});
  }
  stop();
  while (!transfers_.empty()) end(transfers_.front(), "the connection has been closed");
  start();
}

WireWork::Transfer& WireWork::begin(ChunkDone done) {
  transfers_.emplace_front();
  Transfer& transfer = transfers_.front();
  transfer.work = this;
  transfer.done = std::move(done);
  transfer.self = transfers_.begin();
  return transfer;
}

void WireWork::end(Transfer& transfer, const std::string& failure) {
  finished_.push_back({.done = std::move(transfer.done), .failure = failure});
  transfers_.erase(transfer.self);
}

void WireWork::send(NodeId to, const ChunkHeader& header, const std::byte* bytes, ChunkDone done) {
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
  Transfer& transfer = begin(std::move(done));
  transfer.header = header;  // where it stays until the chunk has been sent
  ucp_request_param_t params{};
  params.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  params.cb.send = on_sent;
  params.user_data = &transfer;
  void* const request =
      ucp_am_send_nbx(endpoint, message::chunk, &transfer.header, sizeof transfer.header, bytes,
                      static_cast<std::size_t>(header.bytes), &params);
  if (!UCS_PTR_IS_PTR(request)) end(transfer, failure_of(UCS_PTR_STATUS(request)));
}

void WireWork::on_sent(void* request, ucs_status_t status, void* transfer) {
  ucp_request_free(request);
  auto& sent = *static_cast<Transfer*>(transfer);
  sent.work->end(sent, failure_of(status));
}

void WireWork::take(ArrivedChunk chunk, std::byte* target, ChunkDone done) {
  auto& arrival = *static_cast<Arrival*>(chunk);
  TROUPE_ASSERT(!arrival.is_over);
  if (arrival.state == Arrival::Data::rendezvous) {
    take_rendezvous(arrival, target, std::move(done));
    return;
  }
  if (arrival.bytes > 0) std::memcpy(target, arrival.data, arrival.bytes);
  drop(chunk);
  finished_.push_back({.done = std::move(done), .failure = {}});
}

void WireWork::take_rendezvous(Arrival& chunk, std::byte* target, ChunkDone done) {
  Transfer& transfer = begin(std::move(done));
  ucp_request_param_t params{};
  params.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  params.cb.recv_am = on_taken;
  params.user_data = &transfer;
  void* const request =
      ucp_am_recv_data_nbx(worker_->handle(), chunk.data, target, chunk.bytes, &params);
  if (!UCS_PTR_IS_PTR(request)) end(transfer, failure_of(UCS_PTR_STATUS(request)));
  chunk.data = nullptr;  // UCX releases it
  forget(chunk);
}

void WireWork::on_taken(void* request, ucs_status_t status, std::size_t, void* transfer) {
  ucp_request_free(request);
  auto& taken = *static_cast<Transfer*>(transfer);
  taken.work->end(taken, failure_of(status));
}

void WireWork::drop(ArrivedChunk chunk) {
  auto& arrival = *static_cast<Arrival*>(chunk);
  TROUPE_ASSERT(!arrival.is_over);
  const bool is_kept = arrival.state == Arrival::Data::kept ||
                       (arrival.state == Arrival::Data::rendezvous && !arrival.is_in_callback);
  if (is_kept) ucp_am_data_release(worker_->handle(), arrival.data);
  forget(arrival);
}

void WireWork::forget(Arrival& chunk) {
  chunk.is_over = true;
  if (!chunk.is_in_callback) arrivals_.erase(chunk.self);
}

ucs_status_t WireWork::on_chunk(void* self, const void* header, std::size_t header_bytes,
                                void* data, std::size_t bytes, const ucp_am_recv_param_t* param) {
  ChunkHeader chunk;
  auto& work = *static_cast<WireWork*>(self);
  if (work.is_ending_ || header_bytes != sizeof chunk) return UCS_OK;
  std::memcpy(&chunk, header, sizeof chunk);
  if (chunk.bytes != bytes) return UCS_OK;  // not from a Wire
  return work.arrive(chunk, data, bytes, param->recv_attr);
}

ucs_status_t WireWork::arrive(const ChunkHeader& header, void* data, std::size_t bytes,
                              std::uint64_t attributes) {
  const bool is_rendezvous = (attributes & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
  arrivals_.emplace_front();
  Arrival& chunk = arrivals_.front();
  chunk.self = arrivals_.begin();
  chunk.data = data;
  chunk.bytes = bytes;
  if (bytes > 0) {
    chunk.state = is_rendezvous ? Arrival::Data::rendezvous : Arrival::Data::borrowed;
  }
  listener_.arrived(header, &chunk);
  return keep(chunk, (attributes & UCP_AM_RECV_ATTR_FLAG_DATA) != 0);
}

// What on_chunk answers.
ucs_status_t WireWork::keep(Arrival& chunk, bool ucx_can_keep_it) {
  chunk.is_in_callback = false;
  const bool is_rendezvous = chunk.state == Arrival::Data::rendezvous;
  if (chunk.is_over) {
    const bool is_taken = is_rendezvous && chunk.data == nullptr;
    forget(chunk);
    return is_taken ? UCS_INPROGRESS : UCS_OK;
  }
  if (is_rendezvous) return UCS_INPROGRESS;
  if (chunk.state == Arrival::Data::none) return UCS_OK;
  if (ucx_can_keep_it) {
    chunk.state = Arrival::Data::kept;
    return UCS_INPROGRESS;
  }
  copy(chunk);
  return UCS_OK;
}

void WireWork::copy(Arrival& chunk) {
  const auto* const first = static_cast<const std::byte*>(chunk.data);
  chunk.copy.assign(first, first + chunk.bytes);
  chunk.data = chunk.copy.data();
  chunk.state = Arrival::Data::copied;
}

class UcxWire final : public Wire {
 public:
  UcxWire(WireListener& listener, const UcxWireOptions& options)
      : spin_(options.spin), transport_(to_string(options.transport)) {
    std::promise<void> started;
    thread_ = std::thread([&] { run(listener, options, started); });
    try {
      started.get_future().get();
    } catch (...) {
      thread_.join();
      throw;
    }
  }

  ~UcxWire() override {
    TROUPE_ASSERT(!is_on_thread());
    call([this] { is_ending_ = true; });
    thread_.join();
  }
  UcxWire(const UcxWire&) = delete;
  UcxWire& operator=(const UcxWire&) = delete;

  std::string address() const override { return work_->address(); }

  void connect(NodeId node, const std::string& address) override {
    const std::string place = parse_address_text(address, transport_).place;
    call([this, node, address, place] { work_->connections().connect(node, address, place); });
  }
  void send(NodeId to, const ChunkHeader& header, const std::byte* bytes, ChunkDone done) override {
    call([this, to, header, bytes, done = std::move(done)]() mutable {
      work_->send(to, header, bytes, std::move(done));
    });
  }
  void take(ArrivedChunk chunk, std::byte* target, ChunkDone done) override {
    call([this, chunk, target, done = std::move(done)]() mutable {
      work_->take(chunk, target, std::move(done));
    });
  }
  void drop(ArrivedChunk chunk) override {
    call([this, chunk] { work_->drop(chunk); });
  }
  bool post(std::function<void()> function, bool polls_next) override {
    if (polls_next) {
      calls_.push(std::move(function));
    } else {
      push(std::move(function));
    }
    return true;
  }
  bool progress() override;

 private:
  using Clock = std::chrono::steady_clock;

  // The right to do the wire's work: one thread has it at a time.
  class Turn {
   public:
    explicit Turn(UcxWire& wire) : Turn(wire, std::unique_lock(wire.turn_)) {}
    Turn(UcxWire& wire, std::unique_lock<std::mutex> lock) : wire_(wire), lock_(std::move(lock)) {
      wire_.at_work_.store(std::this_thread::get_id(), std::memory_order_relaxed);
    }
    ~Turn() { wire_.at_work_.store({}, std::memory_order_relaxed); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    UcxWire& wire_;
    std::unique_lock<std::mutex> lock_;
  };

  // Whether this thread is the one that does the wire's work.
  bool is_on_thread() const {
    return at_work_.load(std::memory_order_relaxed) == std::this_thread::get_id();
  }

  // Runs `function` on the thread that does the wire's work: now, if this is it.
  template <class Function>
  void call(Function function) {
    if (is_on_thread()) {
      function();
    } else {
      push(std::move(function));
    }
  }
  void push(CallQueue::Call function) {
    calls_.push(std::move(function), [this] { work_->worker().wake(); });
  }

  void run(WireListener& listener, const UcxWireOptions& options, std::promise<void>& started);
  void loop();
  bool round();
  bool is_helped() const;
  void sleep();

  // So long after the last progress() the wire's thread does nothing.
  static constexpr std::chrono::microseconds help_gap_max{100};

  const Duration spin_;
  const std::string transport_;
  CallQueue calls_;
  std::atomic<Clock::time_point> helped_at_{Clock::time_point{}};
  std::atomic<std::thread::id> at_work_;
  std::mutex turn_;  // guards what follows
  std::optional<WireWork> work_;
  bool is_ending_ = false;
  std::thread thread_;
};

void UcxWire::run(WireListener& listener, const UcxWireOptions& options,
                  std::promise<void>& started) {
  try {
    work_.emplace(listener, options);
  } catch (...) {
    started.set_exception(std::current_exception());
    return;
  }
  started.set_value();
  loop();
  const Turn turn(*this);
  work_.reset();
}

void UcxWire::loop() {
  constexpr int yield_every = 16;
  int idle_rounds = 0;
  bool is_idle = false;
  Clock::time_point idle_since;
  for (;;) {
    if (is_helped()) {
      std::this_thread::sleep_for(help_gap_max);
      is_idle = true;
      idle_since = {};
    }
    bool has_worked = false;
    {
      const Turn turn(*this);
      if (is_ending_) return;
      has_worked = round();
      if (work_->has_losses()) work_->report_losses();
    }
    if (has_worked) {
      is_idle = false;
    } else if (!is_idle) {
      is_idle = true;
      idle_since = Clock::now();
    } else if (Clock::now() - idle_since >= spin_) {
      sleep();
      is_idle = false;
    } else if (++idle_rounds % yield_every == 0) {
      // Whoever was woken by what has come may need this core.
      std::this_thread::yield();
    } else {
      relax();
    }
  }
}

// True if something has happened.
bool UcxWire::round() {
  const bool has_calls = !calls_.is_empty();
  if (has_calls) {
    for (const CallQueue::Call& call : calls_.take()) call();
  }
  return work_->update() || has_calls;
}

// Those who help have better things to do than to move a large chunk, or to start anew.
bool UcxWire::progress() {
  if (is_on_thread()) return false;
  std::unique_lock lock(turn_, std::try_to_lock);
  if (!lock) {
    // Another thread that helps may leave without a call that it has come too early for.
    if (!calls_.is_empty()) calls_.wake_owner([this] { work_->worker().wake(); });
    return false;
  }
  const Turn turn(*this, std::move(lock));
  const bool has_worked = round();
  if (work_->has_losses() || work_->is_under_way()) {
    // What has begun since it went to sleep may need more than the events that it waits for.
    calls_.wake_owner([this] { work_->worker().wake(); });
  } else {
    helped_at_.store(Clock::now(), std::memory_order_relaxed);
  }
  return has_worked;
}

bool UcxWire::is_helped() const {
  return Clock::now() < helped_at_.load(std::memory_order_relaxed) + help_gap_max;
}

void UcxWire::sleep() {
  UcxWorker::Rest rest;
  int deaths = -1;
  {
    const Turn turn(*this);
    if (!calls_.may_sleep()) return;
    rest = work_->worker().rest();
    deaths = work_->connections().deaths();
  }
  UcxWorker::wait(rest, deaths);
  calls_.awake();
}

}  // namespace

std::unique_ptr<Wire> make_ucx_wire(WireListener& listener, const UcxWireOptions& options) {
  return std::make_unique<UcxWire>(listener, options);
}

}  // namespace troupe

troupe::Wire* troupe_make_ucx_wire(const char* version, troupe::WireListener& listener,
                                   const troupe::UcxWireOptions& options) {
  if (troupe::version != version) return nullptr;
  return troupe::make_ucx_wire(listener, options).release();
}
