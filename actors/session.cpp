#include "actors/session.hpp"

#include "actors/session/device_scope.hpp"
#include "actors/session/given_values.hpp"
#include "actors/session/open_session.hpp"
#include "actors/session/session_core.hpp"
#include "actors/session/tensor_text.hpp"
#include "actors/tensor_ops.hpp"
#include "core/backend/usable_gpus.hpp"
#include "core/base/big_vector.hpp"
#include "core/base/error.hpp"
#include "core/base/huge_pages.hpp"
#include "core/base/random.hpp"
#include "core/base/suggest.hpp"
#include "core/config/machine_file.hpp"
#include "core/files/data_file.hpp"

#include <cstddef>
#include <map>
#include <memory>
#include <new>
#include <numbers>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace troupe {
namespace {

Error no_such(std::string_view what, std::string_view name,
              const std::vector<std::string_view>& names) {
  return usage_error(fmt::format("there is no {} '{}'", what, name),
                     fmt::format("the machine has {}", listing(names)));
}

DeviceId find_device(const Machine& machine, std::string_view name, CallSite where) {
  if (const DeviceId id = machine.find_device(name)) return id;
  std::vector<std::string_view> names;
  for (const Device& device : machine.devices) names.push_back(device.name);
  throw no_such("device", name, names).at(where.place());
}

TensorState& state_of(const Tensor& tensor, CallSite where) {
  if (TensorState* const state = SessionCore::state_of(tensor)) return *state;
  throw usage_error(where.place(), "this handle is empty", "assign a tensor to it first");
}

Tensor call_kind(SessionCore& session, std::string_view kind, std::span<const Tensor> inputs,
                 Attrs attrs, TensorType declared, CallSite where, std::vector<Tensor>* further) {
  std::vector<TensorState*> states;
  for (const Tensor& input : inputs) states.push_back(SessionCore::state_of(input));
  const OpKindId id = session.find_kind(kind, where);
  if (declared != TensorType{} && !session.kind(id).declares_type) {
    throw usage_error(where.place(), fmt::format("'{}' takes no declared type", kind),
                      "leave it out: its inputs decide what it makes");
  }
  return session.call({.kind = id,
                       .inputs = states,
                       .placement = scope_of(session),
                       .attrs = std::move(attrs),
                       .declared = declared},
                      where, further);
}

template <class T>
std::vector<T> read_elements(const Tensor& tensor, DType dtype, CallSite where) {
  TensorState& state = state_of(tensor, where);
  const SessionCore::Values values = state.session->values(state, dtype, where);
  const T* const first = reinterpret_cast<const T*>(values.bytes().data());
  const std::size_t count = values.bytes().size() / sizeof(T);
  try {
    std::vector<T> elements;
    elements.reserve(count);
    const auto memory = std::as_bytes(std::span(elements.data(), count));
    if (memory.size() >= BigAllocator<T>::huge_pages_min_bytes) use_huge_pages(memory);
    elements.assign(first, first + count);
    return elements;
  } catch (const std::bad_alloc&) {
    throw too_little_memory(values.bytes().size(), where);
  }
}

// Does `work` with a file. Errors of the file name the line of the call, too.
template <class Work>
auto with_file(const std::filesystem::path& file, CallSite where, const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    const SourcePlace& place = error.place();
    if (place.file.empty() || place.file != file.string()) throw error.at(where.place());
    throw Error(error.kind(), place,
                fmt::format("{} (called at {}:{})", error.problem(), where.file, where.line),
                error.remedy());
  }
}

}  // namespace

Tensor::Tensor(const Tensor& other) : state_(other.state_) {
  if (state_ != nullptr) SessionCore::add_use(*state_);
}

Tensor::~Tensor() {
  if (state_ != nullptr) state_->session->drop_use(*state_);
}

const TensorType& Tensor::type(CallSite where) const {
  const TensorState& state = state_of(*this, where);
  return state.session->type(state, where);
}

Tensor Tensor::to(std::string_view memory, CallSite where) const {
  TensorState& state = state_of(*this, where);
  SessionCore& session = *state.session;
  const Machine& machine = session.machine();
  MemoryId target = machine.find_memory(memory);
  if (const DeviceId device = machine.find_device(memory); !target && device) {
    target = machine.device(device).memory;
  }
  if (!target) throw no_such("memory", memory, machine.memory_names()).at(where.place());
  return copy_to(session, state, target, where);
}

void Tensor::wait(CallSite where) const {
  const TensorState& state = state_of(*this, where);
  state.session->wait(state, where);
}

bool Tensor::is_made_within(Duration timeout, CallSite where) const {
  TensorState& state = state_of(*this, where);
  return state.session->wait_for(state, timeout, where);
}

template <>
std::vector<float> Tensor::read<float>(CallSite where) const {
  return read_elements<float>(*this, DType::f32, where);
}
template <>
std::vector<double> Tensor::read<double>(CallSite where) const {
  return read_elements<double>(*this, DType::f64, where);
}
template <>
std::vector<std::int32_t> Tensor::read<std::int32_t>(CallSite where) const {
  return read_elements<std::int32_t>(*this, DType::i32, where);
}
template <>
std::vector<std::int64_t> Tensor::read<std::int64_t>(CallSite where) const {
  return read_elements<std::int64_t>(*this, DType::i64, where);
}

std::string Tensor::text(CallSite where) const {
  TensorState& state = state_of(*this, where);
  SessionCore& session = *state.session;
  const TensorType& type = session.type(state, where);
  session.wait(state, where);
  if (!session.has_values()) return to_string(type);
  return tensor_text(type, session.values(state, type.dtype, where).bytes());
}

std::ostream& operator<<(std::ostream& out, const Tensor& tensor) {
  return out << tensor.text({});
}

void Tensor::save(const std::filesystem::path& file, std::string_view name, CallSite where) const {
  TensorState& state = state_of(*this, where);
  const NamedType named{.name = std::string(name), .type = type(where)};
  with_file(file, where, [&] {
    if ((format_of(file) == DataFormat::npy) != name.empty()) {
      throw usage_error({file.string()},
                        name.empty() ? "a tensor in a .safetensors file must have a name"
                                     : "a .npy file has no names",
                        name.empty() ? "give one" : "leave it out");
    }
    SessionCore::Values values;
    save_tensors(file, {&named, 1}, [&](std::size_t) {
      values = state.session->values(state, named.type.dtype, where);
      return values.bytes();
    });
  });
}

Session::Session(const SessionOptions& options, CallSite where)
    : Session(open_session({}, options, where)) {}
Session::Session(const std::filesystem::path& machine_file, const SessionOptions& options,
                 CallSite where)
    : Session(with_file(machine_file, where,
                        [&] { return load_machine_file(machine_file, options.ops, usable_gpus); }),
              options, where) {}
Session::Session(Machine machine, const SessionOptions& options, CallSite where)
    : Session(open_session(std::move(machine), options, where)) {}
Session::~Session() {
  if (core_ != nullptr) core_->close();
}

SessionCore& Session::core(CallSite where) const {
  if (core_ != nullptr) return *core_;
  throw usage_error(where.place(), "this session was moved from",
                    "use the one that it was moved to");
}

const Machine& Session::machine() const {
  return core({}).machine();
}

DeviceScope Session::on(std::string_view device, CallSite where) const {
  return {core(where).number(), find_device(machine(), device, where)};
}

Tensor Session::uniform(const Shape& shape, std::int64_t seed, DType dtype, CallSite where) {
  static const OpKindId kind = builtin_ops().find("uniform");
  return core(where).call({.kind = kind,
                           .placement = scope_of(core(where)),
                           .attrs = {{"seed", seed}},
                           .declared = {.dtype = dtype, .shape = shape}},
                          where);
}

// Box, Muller: A Note on the Generation of Random Normal Deviates, 1958.
Tensor Session::normal(const Shape& shape, std::int64_t seed, DType dtype, CallSite where) {
  constexpr int bits_above = 24;  // seeds have up to 40 bits
  const auto other_seed =
      static_cast<std::int64_t>(mix(static_cast<std::uint64_t>(seed)) >> bits_above);
  const auto argument = [&](const Tensor& x) { return Argument(x, where); };
  const Tensor u = uniform(shape, seed, dtype, where);
  const Tensor logarithm = log(argument(Scalar(1.0, where) - argument(u)));  // of (0, 1]
  const Tensor radius = sqrt(argument(Scalar(-2.0, where) * argument(logarithm)));
  const Tensor turns = uniform(shape, other_seed, dtype, where);
  const Tensor angle = Scalar(2 * std::numbers::pi, where) * argument(turns);
  return argument(radius) * cos(argument(angle));
}

Tensor Session::constant(const Shape& shape, double value, DType dtype, CallSite where) {
  return constant_of(core(where), {.dtype = dtype, .shape = shape}, value, where);
}

Tensor Session::zeros(const Shape& shape, DType dtype, CallSite where) {
  static const OpKindId kind = builtin_ops().find("zeros");
  return core(where).call({.kind = kind,
                           .placement = scope_of(core(where)),
                           .declared = {.dtype = dtype, .shape = shape}},
                          where);
}

Tensor Session::arange(Extent count, DType dtype, CallSite where) {
  static const OpKindId kind = builtin_ops().find("arange");
  return core(where).call({.kind = kind,
                           .placement = scope_of(core(where)),
                           .declared = {.dtype = dtype, .shape = Shape({count}, where)}},
                          where);
}

Tensor Session::tensor(std::span<const float> elements, const Shape& shape, CallSite where) {
  return copy_in(core(where), elements, shape, DType::f32, where);
}

Tensor Session::tensor(std::span<const double> elements, const Shape& shape, CallSite where) {
  return copy_in(core(where), elements, shape, DType::f64, where);
}

Tensor Session::tensor(std::span<const std::int32_t> elements, const Shape& shape, CallSite where) {
  return copy_in(core(where), elements, shape, DType::i32, where);
}

Tensor Session::tensor(std::span<const std::int64_t> elements, const Shape& shape, CallSite where) {
  return copy_in(core(where), elements, shape, DType::i64, where);
}

Tensor Session::load(const std::filesystem::path& file, std::string_view name, CallSite where) {
  return with_file(file, where, [&] { return load_from(core(where), file, name, where); });
}

Tensor Session::adopt(std::span<const float> elements, const Shape& shape,
                      std::function<void()> deleter, CallSite where) {
  return take_in(core(where), elements, shape, DType::f32, std::move(deleter), where);
}

Tensor Session::adopt(std::span<const double> elements, const Shape& shape,
                      std::function<void()> deleter, CallSite where) {
  return take_in(core(where), elements, shape, DType::f64, std::move(deleter), where);
}

Tensor Session::adopt(std::span<const std::int32_t> elements, const Shape& shape,
                      std::function<void()> deleter, CallSite where) {
  return take_in(core(where), elements, shape, DType::i32, std::move(deleter), where);
}

Tensor Session::adopt(std::span<const std::int64_t> elements, const Shape& shape,
                      std::function<void()> deleter, CallSite where) {
  return take_in(core(where), elements, shape, DType::i64, std::move(deleter), where);
}

Tensor Session::call(std::string_view kind, std::initializer_list<Tensor> inputs, Attrs attrs,
                     TensorType declared, CallSite where) {
  return call(kind, std::span<const Tensor>(inputs.begin(), inputs.size()), std::move(attrs),
              declared, where);
}

Tensor Session::call(std::string_view kind, std::span<const Tensor> inputs, Attrs attrs,
                     TensorType declared, CallSite where) {
  return call_kind(core(where), kind, inputs, std::move(attrs), declared, where, nullptr);
}

std::vector<Tensor> Session::call_all(std::string_view kind, std::initializer_list<Tensor> inputs,
                                      Attrs attrs, TensorType declared, CallSite where) {
  return call_all(kind, std::span<const Tensor>(inputs.begin(), inputs.size()), std::move(attrs),
                  declared, where);
}

std::vector<Tensor> Session::call_all(std::string_view kind, std::span<const Tensor> inputs,
                                      Attrs attrs, TensorType declared, CallSite where) {
  std::vector<Tensor> made(1);
  made[0] = call_kind(core(where), kind, inputs, std::move(attrs), declared, where, &made);
  return made;
}

void Session::save(const std::filesystem::path& file, const std::map<std::string, Tensor>& tensors,
                   CallSite where) {
  SessionCore& own = core(where);
  std::vector<NamedType> types;
  std::vector<TensorState*> states;
  for (const auto& [name, tensor] : tensors) {
    states.push_back(&state_of(tensor, where));
    if (states.back()->session != &own) {
      throw usage_error(where.place(), fmt::format("'{}' belongs to another session", name),
                        "save tensors that this session has made");
    }
    types.push_back({.name = name, .type = tensor.type(where)});
  }
  with_file(file, where, [&] {
    if (format_of(file) == DataFormat::npy) {
      throw usage_error({file.string()}, "a .npy file has no names",
                        "save a tensor by itself, or to a .safetensors file");
    }
    SessionCore::Values values;
    save_tensors(file, types, [&](std::size_t i) {
      values = {};  // the tensor before may have to make room
      values = own.values(*states[i], types[i].type.dtype, where);
      return values.bytes();
    });
  });
}

void Session::wait_all(CallSite where) {
  core(where).wait_all(where);
}

void Session::wait(std::string_view device, CallSite where) {
  core(where).wait(find_device(machine(), device, where), where);
}

const ScenarioReport& Session::measure(std::string_view name, const std::function<void()>& work,
                                       CallSite where) {
  return core(where).measure(name, work, where);
}

Report Session::report() const {
  return core({}).report();
}

Tensor constant_of(SessionCore& session, const TensorType& type, double value, CallSite where) {
  static const OpKindId kind = builtin_ops().find("constant");
  Attrs attrs;
  attrs.set("value", value);
  return session.call(
      {.kind = kind, .placement = scope_of(session), .attrs = std::move(attrs), .declared = type},
      where);
}

Tensor call_op(OpKindId kind, std::span<TensorState* const> inputs, Attrs attrs, CallSite where) {
  if (inputs.empty()) throw usage_error(where.place(), "there are no inputs", "give at least one");
  if (inputs[0] == nullptr) {
    throw usage_error(where.place(), "an input is an empty handle", "assign a tensor to it first");
  }
  SessionCore& session = *inputs[0]->session;
  return session.call(
      {.kind = kind, .inputs = inputs, .placement = scope_of(session), .attrs = std::move(attrs)},
      where);
}

}  // namespace troupe
