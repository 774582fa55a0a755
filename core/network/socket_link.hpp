// A connection of a Wire over sockets, and the chunks that are on their way over it.
#pragma once

#include "core/network/chunk_buffers.hpp"
#include "core/network/frame_stream.hpp"
#include "core/network/host_port.hpp"
#include "core/network/wire.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>

namespace troupe {

struct SocketLink {
  using Number = std::uint64_t;  // never used twice by a Wire
  static constexpr Number none = 0;
  // The failure of what was under way over a link that is gone.
  static constexpr const char* closed_meanwhile = "the connection was closed";

  // A large chunk that the other end has yet to answer.
  struct Offer {
    std::span<const std::byte> bytes;
    ChunkDone done;
  };
  // A chunk that has come, or that is offered. May outlive its link.
  struct Arrival {
    Number link = none;
    ChunkBuffers::Buffer bytes = {};  // of one that has come
    std::size_t count = 0;
    std::uint32_t number = 0;  // of one that is offered
    bool is_offered = false;
    std::byte* target = nullptr;  // of one that is wanted
    std::size_t received = 0;
    Number parts_from = none;  // the link over which they come
    ChunkDone done = {};
    std::list<Arrival>::iterator self = {};
  };

  bool is_ready() const { return stream.is_open() && !address.empty(); }

  Number number = none;
  FrameStream stream;

  // Of SocketConnections.
  std::uint32_t watched_events = 0;
  std::string hello = {};
  std::string address = {};            // of the Wire at the other end; empty until it says hello
  std::string key = {};                // by which a link for parts says whose it is
  std::optional<HostPort> place = {};  // where this side may open a link for parts, once
  bool is_for_parts = false;           // of large chunks, and for nothing else
  bool is_welcome = false;             // of such a link: both sides may use it
  // Of a link for parts: the one whose chunks they belong to. Of another one: its link for parts.
  Number partner = none;
  std::chrono::steady_clock::time_point deadline = {};  // for one that isn't ready

  // Of SocketWork.
  bool is_pending = false;
  std::uint32_t next_number = 0;  // of a chunk that this side offers
  std::uint32_t offered = 0;      // chunks, by the other side
  std::unordered_map<std::uint32_t, Offer> offers = {};
  ChunkBuffers::Buffer chunk = {};  // that is coming
  std::unordered_map<std::uint32_t, Arrival*> wanted = {};
};

}  // namespace troupe
