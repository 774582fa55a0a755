#include "actors/nodes/node_protocol.hpp"

#include "core/network/random_number.hpp"

#include <filesystem>
#include <fstream>
#include <system_error>

#include <fmt/format.h>

namespace troupe {

namespace {

std::string first_word_of(const char* file) {
  std::ifstream in(file);
  std::string word;
  in >> word;
  return word;
}

std::string target_of(const char* link) {
  std::error_code unknown;
  return std::filesystem::read_symlink(link, unknown);
}

}  // namespace

std::string host_id() {
  return first_word_of("/proc/sys/kernel/random/boot_id");
}

std::string pid_namespace() {
  return target_of("/proc/self/ns/pid");
}

std::string clock_namespace() {
  return target_of("/proc/self/ns/time");
}

std::uint64_t process_number() {
  static const std::uint64_t number = random_number();
  return number;
}

std::string process_name() {
  return fmt::format("process {} on {}", target_of("/proc/self"),
                     first_word_of("/proc/sys/kernel/hostname"));
}

std::string signature_of(const OpKind& kind) {
  const auto [least, most] = kind.inputs;
  std::string text =
      least == most ? fmt::format("in: {}", most) : fmt::format("in: {} to {}", least, most);
  if (kind.declares_type) text += ", shape, dtype";
  for (const AttrSpec& spec : kind.attrs) {
    text += fmt::format(", {}: {}", spec.name, type_name(spec.fallback));
  }
  for (const FurtherOutput& output : kind.further_outputs) {
    text += fmt::format(", makes .{}", output.name);
  }
  return text;
}

void add_node_protocol(caf::actor_system_config& config) {
  config.add_message_type<PackedError>("troupe::PackedError")
      .add_message_type<Machine>("troupe::Machine")
      .add_message_type<TensorType>("troupe::TensorType")
      .add_message_type<PackedShare>("troupe::PackedShare")
      .add_message_type<ShareRecords>("troupe::ShareRecords")
      .add_message_type<PackedReplicas>("troupe::PackedReplicas")
      .add_message_type<NodeId>("troupe::NodeId")
      .add_message_type<MemoryId>("troupe::MemoryId")
      .add_message_type<ResourceId>("troupe::ResourceId")
      .add_message_type<UnitId>("troupe::UnitId")
      .add_message_type<ReplicaId>("troupe::ReplicaId")
      .add_message_type<Hello>("troupe::Hello")
      .add_message_type<Welcome>("troupe::Welcome")
      .add_message_type<Refusal>("troupe::Refusal")
      .add_message_type<GpusRequest>("troupe::GpusRequest")
      .add_message_type<MachineIs>("troupe::MachineIs")
      .add_message_type<OwnGpusRequest>("troupe::OwnGpusRequest")
      .add_message_type<OwnGpusAre>("troupe::OwnGpusAre")
      .add_message_type<FilesRequest>("troupe::FilesRequest")
      .add_message_type<BeginRun>("troupe::BeginRun")
      .add_message_type<Prepared>("troupe::Prepared")
      .add_message_type<ChangeTensors>("troupe::ChangeTensors")
      .add_message_type<RenumberTensors>("troupe::RenumberTensors")
      .add_message_type<GiveValues>("troupe::GiveValues")
      .add_message_type<EndRun>("troupe::EndRun")
      .add_message_type<Disconnect>("troupe::Disconnect")
      .add_message_type<Reconnect>("troupe::Reconnect")
      .add_message_type<Reconnected>("troupe::Reconnected")
      .add_message_type<Goodbye>("troupe::Goodbye")
      .add_message_type<ClockRequest>("troupe::ClockRequest")
      .add_message_type<ClockIs>("troupe::ClockIs")
      .add_message_type<JoinRun>("troupe::JoinRun")
      .add_message_type<ShareDone>("troupe::ShareDone")
      .add_message_type<LastRecords>("troupe::LastRecords")
      .add_message_type<NodeSuspected>("troupe::NodeSuspected")
      .add_message_type<StillThere>("troupe::StillThere")
      .add_message_type<DigestsRequest>("troupe::DigestsRequest")
      .add_message_type<Digests>("troupe::Digests")
      .add_message_type<ValuesRequest>("troupe::ValuesRequest")
      .add_message_type<Values>("troupe::Values")
      .add_message_type<Ready>("troupe::Ready")
      .add_message_type<Progress>("troupe::Progress")
      .add_message_type<Watch>("troupe::Watch")
      .add_message_type<Watched>("troupe::Watched")
      .add_message_type<Failure>("troupe::Failure")
      .add_message_type<Stop>("troupe::Stop")
      .add_message_type<Collect>("troupe::Collect")
      .add_message_type<StatusRequest>("troupe::StatusRequest")
      .add_message_type<Status>("troupe::Status");
}

}  // namespace troupe
