// libcudart: streams and events.
#include "tests/support/cuda/stand_in/api.hpp"

#include <string_view>

using namespace troupe::testing;

namespace {

// The point that an event has recorded last; null if it has recorded none.
std::shared_ptr<Moment> recorded(Engine& e, cudaEvent_t handle, std::string_view what) {
  const auto event = e.event(handle, what);
  e.throw_if_broken(event->device);
  return event->recorded;
}

}  // namespace

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return api([&](Engine& e) {
    if (flags != cudaStreamNonBlocking) {
      e.control.fail(
          "cudaStreamCreateWithFlags: the stream would wait for the default stream; only "
          "non-blocking streams are supported");
      throw CudaFailure{cudaErrorInvalidValue};
    }
    *stream = e.add_stream(current_device()).get();
  });
}

cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  return api(
      [&](Engine& e) {
        e.stream(handle, "cudaStreamDestroy")->is_destroyed = true;
        e.handles.remove(handle);
      },
      CallKind::release);
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  return api([&](Engine& e) {
    e.wait_for_stream(e.stream(handle, "cudaStreamSynchronize"), "cudaStreamSynchronize");
  });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned flags) {
  return api([&](Engine& e) {
    require(flags == cudaEventWaitDefault);
    const auto stream = e.stream(handle, "cudaStreamWaitEvent");
    const auto moment = e.event(event, "cudaStreamWaitEvent")->recorded;
    if (moment != nullptr) e.order_after(*stream, moment, "cudaStreamWaitEvent");
  });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  return api([&](Engine& e) {
    require((flags & ~(cudaEventBlockingSync | cudaEventDisableTiming)) == 0);
    auto made = std::make_shared<CUevent_st>();
    made->device = current_device();
    made->is_timed = (flags & cudaEventDisableTiming) == 0;
    *event = e.handles.add(std::move(made));
  });
}

cudaError_t cudaEventDestroy(cudaEvent_t handle) {
  return api(
      [&](Engine& e) {
        e.event(handle, "cudaEventDestroy");
        e.handles.remove(handle);
      },
      CallKind::release);
}

cudaError_t cudaEventRecord(cudaEvent_t handle, cudaStream_t on) {
  return api([&](Engine& e) {
    const auto event = e.event(handle, "cudaEventRecord");
    const auto stream = e.stream(on, "cudaEventRecord");
    require(event->device == stream->device, cudaErrorInvalidResourceHandle);
    auto moment = std::make_shared<Moment>();
    e.enqueue(*stream, {.what = "cudaEventRecord", .marks = moment});
    event->recorded = std::move(moment);
  });
}

cudaError_t cudaEventQuery(cudaEvent_t handle) {
  return api(
      [&](Engine& e) {
        const auto moment = recorded(e, handle, "cudaEventQuery");
        if (moment == nullptr) return;
        require(moment->is_reached, cudaErrorNotReady);
        e.host_learns(moment->order.all);
      },
      CallKind::poll);
}

cudaError_t cudaEventSynchronize(cudaEvent_t handle) {
  return api([&](Engine& e) {
    const auto moment = recorded(e, handle, "cudaEventSynchronize");
    if (moment == nullptr) return;
    const int device = e.event(handle, "cudaEventSynchronize")->device;
    e.wait(device, "cudaEventSynchronize", [&] { return moment->is_reached; });
    e.host_learns(moment->order.all);
  });
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  return api([&](Engine& e) {
    for (const cudaEvent_t event : {start, end}) {
      const bool is_usable = e.event(event, "cudaEventElapsedTime")->is_timed &&
                             recorded(e, event, "cudaEventElapsedTime") != nullptr;
      require(is_usable, cudaErrorInvalidResourceHandle);
    }
    const auto from = recorded(e, start, "cudaEventElapsedTime");
    const auto to = recorded(e, end, "cudaEventElapsedTime");
    require(from->is_reached && to->is_reached, cudaErrorNotReady);
    *milliseconds = static_cast<float>(static_cast<double>(to->at - from->at) / 1e6);
  });
}
