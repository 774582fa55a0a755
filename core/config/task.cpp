#include "core/config/task.hpp"

#include "core/base/exact_double.hpp"
#include "core/base/suggest.hpp"
#include "core/base/text.hpp"
#include "core/base/units.hpp"
#include "core/config/file_tensor.hpp"
#include "core/config/pattern.hpp"
#include "core/config/values.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <span>

#include <fmt/format.h>

namespace troupe {
namespace {

// Reads one task.
class TaskReader {
 public:
  TaskReader(const Node& key, const Node& body, bool is_tensor, const Machine& machine,
             const OpRegistry& ops, InputDataTable& data)
      : body_(body),
        machine_(machine),
        ops_(ops),
        data_(data),
        what_(fmt::format("'{}'", key.text)) {
    task_.name = key.text;
    task_.key = &key;
    task_.body = &body;
    task_.is_tensor = is_tensor;
  }

  Task read() {
    expect_map(body_, what_);
    const Node* only = nullptr;
    std::string_view only_key;
    for (const std::string_view key : {"op", "pattern", "file"}) {
      const Node* const node = find(body_, key);
      if (node == nullptr) continue;
      if (only != nullptr) {
        throw usage_error(node->place(),
                          fmt::format("{} has both '{}' and '{}'", what_, only_key, key),
                          "keep one of them");
      }
      only = node;
      only_key = key;
    }
    if (only_key == "pattern") {
      read_pattern(*only);
    } else if (only_key == "file") {
      read_file(*only);
    } else {
      read_op(require(body_, "op", what_));
    }
    return std::move(task_);
  }

 private:
  std::string of_task(std::string_view key) const { return fmt::format("{} of {}", key, what_); }

  // The name at `node`. If it is none of `choices`, throws an Error with this problem.
  std::string read_name(const Node& node, std::string_view key,
                        std::span<const std::string_view> choices, std::string_view problem) const {
    std::string name = read_string(
        node, of_task(key), fmt::format("the name of {}", key == "op" ? "an op" : "a kernel"));
    if (std::find(choices.begin(), choices.end(), name) != choices.end()) return name;
    std::string remedy = suggestion(name, choices);
    if (key == "op" && nearest(name, choices).empty()) {
      remedy += "; or give --ops the library that has it";
    }
    throw usage_error(node.place(),
                      fmt::format("{} of {} is '{}', {}", key, what_, shortened(name), problem),
                      remedy);
  }

  void read_op(const Node& op) {
    task_.kind = ops_.find(read_name(op, "op", task_kinds(ops_), "which is unknown"));
    const OpKind& kind = ops_[task_.kind];
    check_op_keys(kind);
    read_attrs(op, kind);
    if (kind.declares_type) {
      task_.declared.shape = read_shape(require(body_, "shape", what_), of_task("shape"));
      if (const Node* n = find(body_, "dtype")) {
        task_.declared.dtype = read_dtype(*n, of_task("dtype"));
      }
    }
    if (const Node* n = find(body_, "in")) read_inputs(*n);
    if (const Node* n = find(body_, "on")) read_devices(*n);
    if (kind.moves_data) {
      const Node* to = find(body_, "to");
      if (to == nullptr) {
        throw usage_error(op.place(),
                          fmt::format("{} doesn't say where to {} to", what_, kind.name),
                          "add `to:` with a memory, or a device for its memory");
      }
      task_.to = find_target(*to);
    }
    if (const Node* n = find(body_, "repeat")) {
      task_.repeat = static_cast<std::uint32_t>(read_integer(*n, of_task("repeat"), 1, repeat_max));
    }
  }

  void check_op_keys(const OpKind& kind) const {
    std::vector<std::string_view> known = {"op", "in", "repeat"};
    known.push_back(kind.moves_data ? "to" : "on");
    if (kind.declares_type) known.insert(known.end(), {"shape", "dtype"});
    for (const AttrSpec& spec : kind.attrs) known.push_back(spec.name);
    // A key that only other ops have: the message says what to do instead.
    for (std::size_t i = 0; i < body_.entry_count(); ++i) {
      const Node& key = body_.key(i);
      if (std::find(known.begin(), known.end(), key.text) != known.end()) continue;
      std::string remedy;
      if (key.text == "to") remedy = "use `on:` to say which device runs it; `to:` is for copies";
      if (key.text == "on") remedy = "links do it, not a device; use `to:` to say where it ends";
      if (key.text == "shape" || key.text == "dtype") {
        remedy = "remove it: shape and type of its result follow from the op and its inputs";
      }
      if (!remedy.empty()) {
        throw usage_error(key.place(), fmt::format("'{}' takes no '{}'", kind.name, key.text),
                          remedy);
      }
    }
    check_keys(body_, fmt::format("'{}'", kind.name), known);
  }

  void read_attrs(const Node& op, const OpKind& kind) {
    for (const AttrSpec& spec : kind.attrs) {
      const Node* n = find(body_, spec.name);
      if (n == nullptr && spec.required) {
        throw usage_error(op.place(), fmt::format("'{}' needs '{}'", kind.name, spec.name),
                          fmt::format("add `{}: …`", spec.name));
      }
      task_.attrs.set(spec.name, n == nullptr ? spec.fallback : read_attr(*n, spec));
    }
  }

  Attr read_attr(const Node& node, const AttrSpec& spec) const {
    const std::string what = of_task(spec.name);
    struct Reader {
      const Node& node;
      const std::string& what;
      const AttrSpec& spec;
      Attr operator()(bool) const { return read_bool(node, what); }
      Attr operator()(std::int64_t) const { return read_whole(node); }
      // A whole number as such, which then isn't rounded in silence.
      Attr operator()(double) const {
        const double number = read_number(node, what);
        const std::optional<std::int64_t> whole = whole_number(node.text);
        return whole && *whole != 0 ? Attr(*whole) : Attr(number);  // -0 isn't 0
      }
      Attr operator()(Duration) const { return read_duration(node, what); }
      Attr operator()(const std::string&) const { return read_text(node); }
      Attr operator()(const Texts&) const {
        Texts list;
        for (const Node& n : expect_list(node, what).children) list.push_back(read_text(n));
        return list;
      }
      Attr operator()(const Numbers&) const {
        Numbers list;
        for (const Node& n : expect_list(node, what).children) {
          list.push_back(read_number(n, what));
          const std::optional<std::int64_t> whole = whole_number(n.text);
          if (!whole || exact_double(*whole)) continue;
          throw usage_error(n.place(), fmt::format("{} has {}", what, n.text),
                            "it must be a number that float64 holds exactly");
        }
        return list;
      }
      std::string read_text(const Node& n) const {
        if (spec.choices.empty()) return read_string(n, what, "text");
        return std::string(spec.choices[read_choice(n, what, spec.choices)]);
      }
      Attr operator()(const Integers&) const {
        Integers list;
        for (const Node& n : expect_list(node, what).children) list.push_back(read_whole(n));
        return list;
      }
      std::int64_t read_whole(const Node& n) const {
        return read_integer(n, what, spec.value_min, spec.value_max);
      }
      Attr operator()(const std::shared_ptr<const ValueSource>& none) const { return none; }
    };
    return std::visit(Reader{node, what, spec}, spec.fallback);
  }

  void read_file(const Node& file) {
    constexpr std::array<std::string_view, 5> known = {"file", "tensor", "shape", "dtype", "on"};
    check_keys(body_, fmt::format("{}, whose values are in a file,", what_), known);
    task_.kind = ops_.find("load");
    if (const Node* n = find(body_, "on")) read_devices(*n);
    FileTensor tensor = read_file_tensor(body_, file, what_, data_);
    task_.declared = tensor.type;
    task_.attrs = {{"values", std::move(tensor.values)}};
  }

  void read_inputs(const Node& in) {
    if (in.type != Node::Type::list) {
      task_.inputs.push_back(read_task_input(in, of_task("in")));
      return;
    }
    for (const Node& n : in.children) task_.inputs.push_back(read_task_input(n, of_task("in")));
  }

  void read_devices(const Node& on) {
    if (on.type != Node::Type::list) {
      task_.devices.push_back(find_device(on));
      return;
    }
    for (const Node& n : on.children) task_.devices.push_back(find_device(n));
    if (task_.devices.empty()) {
      throw usage_error(on.place(), fmt::format("{} is an empty list", of_task("on")),
                        "name a device, or remove `on` to let the planner choose");
    }
  }

  DeviceId find_device(const Node& node) const {
    const std::string name = read_string(node, of_task("on"), "the name of a device");
    if (const DeviceId device = machine_.find_device(name)) return device;
    if (machine_.find_memory(name)) {
      throw usage_error(node.place(),
                        fmt::format("{} is '{}', which is a memory", of_task("on"), name),
                        "name a device");
    }
    throw is_missing(node, "device", name, device_names());
  }

  MemoryId find_target(const Node& node) const {
    const std::string name = read_string(node, of_task("to"), "the name of a memory or a device");
    if (const MemoryId memory = machine_.find_memory(name)) return memory;
    if (const DeviceId device = machine_.find_device(name)) return machine_.device(device).memory;
    std::vector<std::string_view> names = device_names();
    const std::vector<std::string_view> memories = machine_.memory_names();
    names.insert(names.end(), memories.begin(), memories.end());
    throw is_missing(node, "memory or device", name, names);
  }

  Error is_missing(const Node& node, std::string_view what, const std::string& name,
                   std::span<const std::string_view> names) const {
    std::string problem =
        fmt::format("the machine '{}' has no {} '{}'", machine_.name, what, shortened(name));
    for (const std::string& gpu : machine_.gpus_left_out) {
      problem += fmt::format("; it is without {}", gpu);
    }
    const bool is_of_node = machine_.nodes.empty() && name.find('.') != std::string::npos;
    return usage_error(
        node.place(), problem,
        suggestion(name, names) +
            (is_of_node ? "; nodes, such as n1, come with --local-nodes or --nodes, or "
                          "with `nodes:` in the machine"
                        : ""));
  }

  std::vector<std::string_view> device_names() const {
    std::vector<std::string_view> names;
    for (const Device& d : machine_.devices) names.push_back(d.name);
    return names;
  }

  void read_pattern(const Node& node) {
    const PatternReader reader(body_, what_);
    const Pattern pattern = reader.read(node);
    task_.pattern = pattern;
    const Node& kernel = require(body_, "kernel", what_);
    const std::string name = read_name(kernel, "kernel", kernels(), "which can't be one");
    if (reader.is_point_work(pattern, name)) {
      task_.kind = ops_.find("point");
      task_.attrs = to_attrs(reader.read_point(pattern, kernel));
    } else {
      task_.kind = ops_.find(name);
      const OpKind& kind = ops_[task_.kind];
      std::vector<std::string_view> known;
      for (const AttrSpec& spec : kind.attrs) known.push_back(spec.name);
      reader.check_keys(pattern, kind.name, std::move(known));
      read_attrs(kernel, kind);
    }
    if (const Node* n = find(body_, "on")) {
      read_devices(*n);
      if (task_.devices.size() > pattern.width) {
        throw usage_error(n->place(),
                          fmt::format("{} has {}, but `on` lists {} devices", what_,
                                      format_count(pattern.width, "column"), task_.devices.size()),
                          "list at most as many devices as there are columns");
      }
    }
  }

  // The ops that take as many inputs as the pattern may give them, and the works of points.
  std::vector<std::string_view> kernels() const {
    std::vector<std::string_view> names = task_kinds(ops_);
    std::erase_if(names, [&](std::string_view name) {
      const OpKind& kind = ops_[ops_.find(name)];
      return kind.moves_data || kind.declares_type || !kind.further_outputs.empty() ||
             kind.inputs.min > 0 || kind.inputs.max < task_.pattern->inputs_max();
    });
    for (const std::string_view work : point_work_names) {
      if (std::find(names.begin(), names.end(), work) == names.end()) names.push_back(work);
    }
    return names;
  }

  const Node& body_;
  const Machine& machine_;
  const OpRegistry& ops_;
  InputDataTable& data_;
  std::string what_;
  Task task_;
};

}  // namespace

std::vector<std::string_view> task_kinds(const OpRegistry& ops) {
  std::vector<std::string_view> names = ops.names();
  std::erase_if(names, [&](std::string_view name) {
    if (name == "point") return true;  // patterns make them
    const std::vector<AttrSpec>& attrs = ops[ops.find(name)].attrs;
    return std::any_of(attrs.begin(), attrs.end(), [](const AttrSpec& spec) {  // `file` gives them
      return std::holds_alternative<std::shared_ptr<const ValueSource>>(spec.fallback);
    });
  });
  return names;
}

TaskInput read_task_input(const Node& node, const std::string& what) {
  TaskInput input{.name = read_string(node, what, "the name of a tensor or task"),
                  .element = {},
                  .node = &node};
  const std::size_t bracket = input.name.find('[');
  if (bracket == std::string::npos) return input;
  std::string_view index = std::string_view(input.name).substr(bracket + 1);
  bool is_readable = index.ends_with(']');
  if (is_readable) index.remove_suffix(1);
  if (index == "*") {
    input.is_all = true;
  } else {
    std::uint32_t element = 0;
    const char* const end = index.data() + index.size();
    const auto [rest, status] = std::from_chars(index.data(), end, element);
    is_readable = is_readable && status == std::errc{} && rest == end;
    input.element = element;
  }
  if (!is_readable) {
    throw usage_error(node.place(),
                      fmt::format("{} can't be read: '{}'", what, shortened(input.name)),
                      "name a task, one element of it as in \"run[3]\", or all as in \"run[*]\"");
  }
  input.name.resize(bracket);
  return input;
}

Task read_task(const Node& key, const Node& body, bool is_tensor, const Machine& machine,
               const OpRegistry& ops, InputDataTable& inputs) {
  expect_identifier(key, "a task");
  if (key.text == "wait") {
    throw usage_error(key.place(), "a task can't be named 'wait': that is a step of scenarios",
                      "rename it");
  }
  return TaskReader(key, body, is_tensor, machine, ops, inputs).read();
}

}  // namespace troupe
