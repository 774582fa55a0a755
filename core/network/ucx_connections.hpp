// The endpoints of a Wire over UCX, and which node is at the other end of each.
#pragma once

#include "core/base/id.hpp"
#include "core/network/process_memory.hpp"
#include "core/network/ucx_wire.hpp"
#include "core/network/ucx_worker.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <ucp/api/ucp.h>

namespace troupe {

// Two nodes have one connection, which UCX makes from the addresses of both.
//
// A node is lost when its connection fails, or when it says goodbye, once. All functions are for
// the worker's thread.
class UcxConnections {
 public:
  using Lost = std::function<void(NodeId, const std::string& cause)>;

  // `lost` is called by update().
  UcxConnections(UcxWorker& worker, Lost lost);
  ~UcxConnections();
  UcxConnections(const UcxConnections&) = delete;
  UcxConnections& operator=(const UcxConnections&) = delete;

  const std::string& address() const { return address_; }
  // `place` is that of `address`. Closes what was connected to this node at another address; true
  // if something was.
  bool connect(NodeId node, const std::string& address, const std::string& place);
  // For sending; null if the node isn't connected or lost.
  ucp_ep_h endpoint(NodeId node) const;
  // True until the other end has answered. What is sent now could be overtaken by what is sent
  // later, and would be copied.
  bool is_opening(NodeId node) const;
  // update() calls `ready` when the node is no longer opening; `succeeded` is false if its
  // connection has been closed.
  void when_open(NodeId node, std::function<void(bool succeeded)> ready);
  // Whether the node can read the memory of this process.
  bool is_read_by(NodeId node) const;
  // The memory of the node's process; null if it can't be read.
  std::shared_ptr<const ProcessMemory> memory(NodeId node) const;
  // That are connected and not lost.
  std::vector<NodeId> nodes() const;
  // Why endpoint() is null.
  std::string why_absent(NodeId node) const;
  // Becomes readable when a process at the other end of a connection dies.
  int deaths() const { return deaths_; }
  // Looks after connections that have failed. To be called after progress; cheap if nothing has
  // happened. True if something has.
  bool update();
  // False if messages don't arrive any more, whoever sends them. All nodes write to one queue of
  // this worker: each reserves an element, then fills it. If a process dies in between, UCX waits
  // for this element for ever. Blocks for 0.3 s if that is so.
  bool can_receive();
  // The last call but the destructor, which must come after the worker has been stopped. Says
  // goodbye and closes everything by force. `lost` is not called. Blocks for 1 s at most.
  void close_everything();

 private:
  struct Connection {
    UcxConnections* owner = nullptr;
    ucp_ep_h endpoint = nullptr;
    std::string address;  // of the Wire at the other end; empty: to itself
    std::string failure;
    std::vector<std::function<void(bool succeeded)>> waiting;  // for it to be open
    bool is_greeting = false;                                  // the first message is under way
    bool is_closing = false;
    bool is_closed = false;
    int process = -1;                             // a descriptor of the other process
    std::shared_ptr<const ProcessMemory> memory;  // of that process, if it can be read
  };
  struct Peer {
    Connection* connection = nullptr;  // null: lost
    std::string address;
    std::string cause;  // of the loss
  };
  struct Failure {
    std::string address;  // of the Wire that is lost
    std::string cause;
  };

  Connection& add(std::string address);
  ucs_status_t open_to(Connection& connection, const std::string& place);
  void greet(Connection& connection);
  void watch(Connection& connection, int process_id);
  void look_for_deaths();
  void fail(Connection& connection, std::string_view cause);
  void end_waiting(Connection& connection);
  // The message may be under way for as long as this object lives, as address_ does. Returns a
  // request, null if it has been sent, or an error of UCX.
  void* send_address(unsigned message, ucp_ep_h endpoint, ucp_send_nbx_callback_t done,
                     void* argument);
  void close(Connection& connection);
  void close_all_of(const std::string& address);
  void lose(const std::string& address, const std::string& cause);
  void say_goodbye();

  static void on_failure(void* connection, ucp_ep_h endpoint, ucs_status_t status);
  static void on_closed(void* request, ucs_status_t status, void* connection);
  static void on_greeted(void* request, ucs_status_t status, void* connection);
  static void on_passed_on(void* request, ucs_status_t status, void* nothing);
  static void on_said_goodbye(void* request, ucs_status_t status, void* self);
  static ucs_status_t on_hello(void* self, const void* header, std::size_t header_bytes, void* data,
                               std::size_t bytes, const ucp_am_recv_param_t* param);
  static ucs_status_t on_reads(void* self, const void* header, std::size_t header_bytes, void* data,
                               std::size_t bytes, const ucp_am_recv_param_t* param);
  static ucs_status_t on_probe(void* self, const void* header, std::size_t header_bytes, void* data,
                               std::size_t bytes, const ucp_am_recv_param_t* param);
  static ucs_status_t on_goodbye(void* self, const void* header, std::size_t header_bytes,
                                 void* data, std::size_t bytes, const ucp_am_recv_param_t* param);

  UcxWorker& worker_;
  const Lost lost_;
  ReadableMemory own_memory_;
  std::string address_;
  bool has_news_ = false;                            // for update()
  const int deaths_;                                 // an epoll descriptor of all processes
  std::chrono::steady_clock::time_point next_look_;  // for deaths
  bool is_ending_ = false;
  std::list<Connection> connections_;
  std::vector<Failure> failures_;
  std::set<std::string> gone_;     // addresses of Wires that have said goodbye
  std::set<std::string> readers_;  // of those that can read the memory of this process
  std::unordered_map<NodeId, Peer> peers_;
  int goodbyes_under_way_ = 0;
  Connection* to_itself_ = nullptr;  // for probes
  std::uint64_t probes_arrived_ = 0;
};

}  // namespace troupe
