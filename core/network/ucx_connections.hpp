// The endpoints of a Wire over UCX, and which node is at the other end of each.
#pragma once

#include "core/base/id.hpp"
#include "core/network/process_memory.hpp"
#include "core/network/ucx_worker.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <ucp/api/ucp.h>

namespace troupe {

// Over TCP, two nodes have two connections, one for each direction: the sender opens it. Over
// shared memory they have one, which UCX makes from the addresses of both. The first message is the
// address of the sender, so that the receiver of a TCP connection knows whose end it means if it
// fails.
//
// A node is lost when one of its connections fails, or when it says goodbye, once. All functions
// are for the worker's thread.
class UcxConnections {
 public:
  using Lost = std::function<void(NodeId, const std::string& cause)>;

  // `lost` is called by update().
  UcxConnections(UcxWorker& worker, const UcxWireOptions& options, Lost lost);
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
  // True if there are nodes that are connected, and each has connected to this one: no connection
  // is to come until the next connect(). To be asked when update() has returned true.
  bool is_complete() const;
  // Shared memory: whether the node can read the memory of this process.
  bool is_read_by(NodeId node) const;
  // The memory of the node's process; null if it can't be read.
  std::shared_ptr<const ProcessMemory> memory(NodeId node) const;
  // That are connected and not lost.
  std::vector<NodeId> nodes() const;
  // Why endpoint() is null.
  std::string why_absent(NodeId node) const;
  // Becomes readable when a process at the other end of a connection dies; else -1.
  int deaths() const { return deaths_; }
  // Accepts connections and looks after those that have failed. To be called after progress; cheap
  // if nothing has happened. True if something has.
  bool update();
  // TCP: all nodes are lost. To be called before progress where they may have closed their ends
  // while this process was suspended: UCX 1.13 ends a process that finds there what they had said
  // before after it has tried to send (an assertion in tcp_ep.c).
  void lose_all(std::string_view cause);
  // Shared memory only: false if messages don't arrive any more, whoever sends them. All nodes
  // write to one queue of this worker: each reserves an element, then fills it. If a process dies
  // in between, UCX waits for this element for ever. Blocks for 0.3 s if that is so.
  bool can_receive();
  // The last call but the destructor, which must come after the worker has been stopped. Says
  // goodbye and closes everything by force. `lost` is not called. Blocks for 1 s at most.
  void close_everything();

 private:
  struct Connection {
    UcxConnections* owner = nullptr;
    ucp_ep_h endpoint = nullptr;
    std::string address;  // of the Wire at the other end; empty until it is known
    std::string failure;
    std::vector<std::function<void(bool succeeded)>> waiting;  // for it to be open
    bool is_greeting = false;                                  // the first message is under way
    bool is_closing = false;
    bool is_closed = false;
    int process = -1;  // shared memory: a descriptor of the other process
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

  void listen(const std::string& interface_address);
  Connection& add(std::string address);
  ucs_status_t open(Connection& connection, ucp_ep_params_t& params);
  ucs_status_t open_to(Connection& connection, const std::string& place);
  ucs_status_t open_over_memory(Connection& connection, const std::string& place);
  void greet(Connection& connection);
  void watch(Connection& connection, int process_id);
  void look_for_deaths();
  void fail(Connection& connection, std::string_view cause);
  void end_waiting(Connection& connection);
  void accept(ucp_conn_request_h request);
  // The message may be under way for as long as this object lives, as address_ does. Returns a
  // request, null if it has been sent, or an error of UCX.
  void* send_address(unsigned message, ucp_ep_h endpoint, ucp_send_nbx_callback_t done,
                     void* argument);
  void close(Connection& connection);
  void close_all_of(const std::string& address);
  void lose(const std::string& address, const std::string& cause);
  void say_goodbye();
  bool has_met_all() const;

  static void on_request(ucp_conn_request_h request, void* self);
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
  const UcxWireOptions::Transport transport_;
  const Lost lost_;
  std::optional<ReadableMemory> own_memory_;  // shared memory
  ucp_listener_h listener_ = nullptr;
  std::string address_;
  bool has_news_ = false;  // for update()
  int deaths_ = -1;        // shared memory: an epoll descriptor of all processes
  std::chrono::steady_clock::time_point next_look_;  // for deaths
  bool is_ending_ = false;
  std::vector<ucp_conn_request_h> requests_;
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
