// What a Wire over UCX does, whichever thread does it.
#pragma once

#include "core/network/ucx_connections.hpp"
#include "core/network/ucx_messages.hpp"
#include "core/network/ucx_wire.hpp"
#include "core/network/ucx_worker.hpp"
#include "core/network/wire.hpp"
#include "core/network/wire_rest.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <ucp/api/ucp.h>

namespace troupe {

// See PolledWire for what the functions do.
class UcxWork {
 public:
  using Options = UcxWireOptions;

  UcxWork(WireListener& listener, const Options&) : listener_(listener) { start(); }
  ~UcxWork() { stop(); }
  UcxWork(const UcxWork&) = delete;
  UcxWork& operator=(const UcxWork&) = delete;

  std::string address() const {
    const std::lock_guard lock(address_mutex_);
    return address_;
  }
  static std::string place_of(const std::string& address);
  void connect(NodeId node, const std::string& address, const std::string& place);
  void send(NodeId to, const ChunkHeader& header, const std::byte* bytes, ChunkDone done);
  bool take(ArrivedChunk chunk, std::byte* target, ChunkDone done);
  void drop(ArrivedChunk chunk);
  bool update();
  bool has_losses() const { return !losses_.empty(); }
  // The worker may become another one.
  void report_losses();
  bool has_more() const { return !finished_.empty() || !reading_.empty(); }
  // Not counting what other nodes have to give back.
  bool has_large() const { return !transfers_.empty() || !reading_.empty(); }
  WireRest rest() { return has_more() ? WireRest{} : worker_->rest(connections_->deaths()); }
  void wake() { worker_->wake(); }

 private:
  // A chunk or a loan that is being sent.
  struct Transfer {
    UcxWork* work = nullptr;
    message::Loan header;
    ChunkDone done;
    std::list<Transfer>::iterator self;
  };
  struct Arrival {
    enum class Data : std::uint8_t {
      none,      // the chunk is empty
      borrowed,  // of UCX, for as long as the callback on_chunk runs
      kept,      // of UCX, until it is released
      copied,    // in `copy`
      lent,      // in the memory of the sender, until it is given back
    };
    Data state = Data::none;
    bool is_in_callback = true;
    bool is_over = false;  // taken or dropped
    void* data = nullptr;
    std::size_t bytes = 0;
    std::vector<std::byte> copy;
    NodeId from;                // of a loan, as what follows
    std::uint64_t loan = 0;     // its number
    std::uint64_t address = 0;  // of its bytes, in the memory of the sender
    std::shared_ptr<const ProcessMemory> memory;
    std::list<Arrival>::iterator self;
  };
  struct Finished {
    ChunkDone done;
    std::string failure;
  };
  // A large chunk that was lent, and is copied in parts.
  struct Reading {
    Arrival* chunk = nullptr;
    std::span<std::byte> left;  // of the target
    ChunkDone done;
  };
  // A chunk that another node has yet to give back.
  struct Lent {
    NodeId to;
    ChunkDone done;
  };
  struct Loss {
    NodeId node;
    std::string cause;
  };

  void start();
  void stop();
  void start_anew();
  Transfer& begin(ChunkDone done);
  void end(Transfer& transfer, const std::string& failure);
  // What the loan of a chunk says, if it can be lent.
  std::optional<message::Loan> loan_of(NodeId to, const ChunkHeader& header,
                                       const std::byte* bytes) const;
  void lend(NodeId to, const message::Loan& loan, ChunkDone done);
  void end_loan(std::uint64_t number, const std::string& failure);
  void fail_loans(NodeId to, const std::string& failure);
  bool is_lent(const Arrival& chunk) const;
  // The bytes of the chunk from `offset` on. Why it fails; else empty.
  std::string read_loan(const Arrival& chunk, std::size_t offset,
                        std::span<std::byte> target) const;
  // A part of the first of those that are being read. False if there is none.
  bool read_part();
  void give_back(const Arrival& chunk);
  // `header`, of a transfer, and `data` must stay until it ends.
  static void post(ucp_ep_h endpoint, unsigned message, std::span<const std::byte> header,
                   std::span<const std::byte> data, Transfer& transfer);
  void arrive(const message::Loan& loan);
  ucs_status_t arrive(const ChunkHeader& header, void* data, std::size_t bytes,
                      std::uint64_t attributes);
  ucs_status_t keep(Arrival& chunk, bool ucx_can_keep_it);
  void copy(Arrival& chunk);
  void forget(Arrival& chunk);

  static void on_sent(void* request, ucs_status_t status, void* transfer);
  static ucs_status_t on_loan(void* self, const void* header, std::size_t header_bytes, void* data,
                              std::size_t bytes, const ucp_am_recv_param_t* param);
  static ucs_status_t on_given_back(void* self, const void* header, std::size_t header_bytes,
                                    void* data, std::size_t bytes,
                                    const ucp_am_recv_param_t* param);
  static ucs_status_t on_chunk(void* self, const void* header, std::size_t header_bytes, void* data,
                               std::size_t bytes, const ucp_am_recv_param_t* param);

  WireListener& listener_;
  std::optional<UcxWorker> worker_;
  std::optional<UcxConnections> connections_;
  mutable std::mutex address_mutex_;
  std::string address_;
  std::vector<Loss> losses_;
  std::list<Transfer> transfers_;
  std::unordered_map<std::uint64_t, Lent> lent_;  // by number
  std::uint64_t loans_ = 0;                       // made so far
  std::list<Arrival> arrivals_;
  std::deque<Reading> reading_;
  std::vector<Finished> finished_;
  bool is_ending_ = false;
};

}  // namespace troupe
