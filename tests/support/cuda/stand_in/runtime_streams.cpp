// libcudart: streams, events and host functions.
#include "tests/support/cuda/stand_in/api.hpp"
#include "tests/support/cuda/stand_in/capture.hpp"

using namespace troupe::testing;

namespace {

cudaError_t create_stream(std::string_view what, cudaStream_t* stream, unsigned flags) {
  return api(what, [&](Engine& e) {
    if (flags != cudaStreamNonBlocking) {
      e.control.fail(std::string(what) +
                     ": the stream would wait for the default stream; only non-blocking streams "
                     "are supported");
      throw CudaFailure{cudaErrorInvalidValue};
    }
    *stream = e.add_stream(current_device()).get();
  });
}

// The point that an event has recorded last; null if it has recorded none.
std::shared_ptr<Moment> recorded(Engine& e, cudaEvent_t handle, std::string_view what) {
  const auto event = e.event(handle, what);
  e.throw_if_broken(event->device);
  if (event->recorded != nullptr) {
    require(event->recorded->capture == nullptr, cudaErrorCapturedEvent);
  }
  return event->recorded;
}

}  // namespace

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return create_stream("cudaStreamCreateWithFlags", stream, flags);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int /*priority*/) {
  return create_stream("cudaStreamCreateWithPriority", stream, flags);
}

cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  return api(
      "cudaStreamDestroy",
      [&](Engine& e) {
        e.stream(handle, "cudaStreamDestroy")->is_destroyed = true;
        e.handles.remove(handle);
      },
      CallKind::release);
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  return api("cudaStreamSynchronize", [&](Engine& e) {
    e.wait_for_stream(e.stream(handle, "cudaStreamSynchronize"), "cudaStreamSynchronize");
  });
}

cudaError_t cudaStreamQuery(cudaStream_t handle) {
  return api("cudaStreamQuery", [&](Engine& e) {
    const auto stream = e.stream(handle, "cudaStreamQuery");
    e.throw_if_broken(stream->device);
    if (stream->capture != nullptr) stream->capture->invalidate();
    require(stream->finished == stream->issued, cudaErrorNotReady);
    e.host_learns(stream->order.all);
  });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned flags) {
  return api("cudaStreamWaitEvent", [&](Engine& e) {
    require(flags == cudaEventWaitDefault);
    const auto stream = e.stream(handle, "cudaStreamWaitEvent");
    const auto moment = e.event(event, "cudaStreamWaitEvent")->recorded;
    if (moment != nullptr) e.order_after(*stream, moment, "cudaStreamWaitEvent");
  });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  return api("cudaEventCreateWithFlags", [&](Engine& e) {
    require((flags & ~(cudaEventBlockingSync | cudaEventDisableTiming)) == 0);
    auto made = std::make_shared<CUevent_st>();
    made->device = current_device();
    made->is_timed = (flags & cudaEventDisableTiming) == 0;
    *event = e.handles.add(std::move(made));
  });
}

cudaError_t cudaEventDestroy(cudaEvent_t handle) {
  return api(
      "cudaEventDestroy",
      [&](Engine& e) {
        e.event(handle, "cudaEventDestroy");
        e.handles.remove(handle);
      },
      CallKind::release);
}

cudaError_t cudaEventRecord(cudaEvent_t handle, cudaStream_t on) {
  return api("cudaEventRecord", [&](Engine& e) {
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
      "cudaEventQuery",
      [&](Engine& e) {
        const auto moment = recorded(e, handle, "cudaEventQuery");
        if (moment == nullptr) return;
        require(moment->is_reached, cudaErrorNotReady);
        e.host_learns(moment->order.all);
      },
      CallKind::poll);
}

cudaError_t cudaEventSynchronize(cudaEvent_t handle) {
  return api("cudaEventSynchronize", [&](Engine& e) {
    const auto moment = recorded(e, handle, "cudaEventSynchronize");
    if (moment == nullptr) return;
    const int device = e.event(handle, "cudaEventSynchronize")->device;
    e.wait(device, "cudaEventSynchronize", [&] { return moment->is_reached; });
    e.host_learns(moment->order.all);
  });
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  return api("cudaEventElapsedTime", [&](Engine& e) {
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

cudaError_t cudaLaunchHostFunc(cudaStream_t on, cudaHostFn_t function, void* data) {
  return api("cudaLaunchHostFunc", [&](Engine& e) {
    require(function != nullptr);
    e.enqueue(*e.stream(on, "cudaLaunchHostFunc"), {.what = "a host function",
                                                    .run = [=] { function(data); },
                                                    .marks = std::make_shared<Moment>(),
                                                    .is_host_function = true});
  });
}
