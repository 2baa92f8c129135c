// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/execution_trace/write_chakra.h"

#if SONDE_HAS_PROTOZERO

#include <algorithm>
#include <map>
#include <optional>
#include <protozero/pbf_builder.hpp>
#include <protozero/varint.hpp>
#include <unordered_map>
#include <vector>

#include "base/output_file.h"
#include "convert/execution_trace/chakra_fields.h"
#include "convert/json/json_number.h"
#include "convert/json/json_text.h"
#include "trace/execution_trace_tensors.h"
#include "trace/known_names.h"

namespace sonde {
namespace {

using namespace detail;  // NOLINT(google-build-using-namespace)

constexpr std::size_t kFlushBytes = std::size_t{1} << 20;
constexpr std::string_view kVersion = "0.0.4";
constexpr Nanos kNsPerMicro = 1000;

// A collective's kind as Chakra numbers it, found in its name: "allreduce_coalesced", "_all_gather"
// and "ncclDevKernel_AllGather_RING_LL" alike.
struct Collective {
  std::string_view name;
  std::int64_t number;
};
constexpr Collective kCollectives[] = {
    {"reducescatter", 7}, {"allreduce", 0}, {"allgather", 2}, {"alltoall", 6}, {"broadcast", 5},
    {"barrier", 9},       {"scatter", 4},   {"gather", 3},    {"reduce", 1},
};

std::string letters_of(std::string_view name) {
  std::string letters;
  for (const char c : name) {
    if (c >= 'A' && c <= 'Z') letters += static_cast<char>(c - 'A' + 'a');
    if (c >= 'a' && c <= 'z') letters += c;
  }
  return letters;
}

std::optional<std::int64_t> collective_number(std::string_view letters) {
  for (const Collective& known : kCollectives) {
    if (letters.find(known.name) != std::string_view::npos) return known.number;
  }
  return std::nullopt;
}

// The bytes of an element, by c10::toString's name of its type.
std::int64_t bytes_of_type(std::string_view name) {
  static constexpr std::pair<std::string_view, std::int64_t> kTypes[] = {
      {"Byte", 1},           {"Char", 1},         {"Bool", 1},  {"Float8", 1}, {"Short", 2},
      {"Half", 2},           {"BFloat16", 2},     {"Int", 4},   {"Float", 4},  {"Long", 8},
      {"ComplexDouble", 16}, {"ComplexFloat", 8}, {"Double", 8}};
  for (const auto& [known, bytes] : kTypes) {
    if (name.starts_with(known)) return bytes;
  }
  return 1;
}

// What the attributes of a collective's node say.
struct CollectiveFacts {
  std::string name;
  std::string type;
  std::string group;
  std::int64_t elements = 0;
};

CollectiveFacts facts_of(const ExecutionTraceNode& node) {
  CollectiveFacts facts;
  std::string list = "[" + std::string(node.more_attributes) + "]";
  const std::size_t size = list.size();
  list.resize(size + kJsonPadding, '\0');
  for_each_element(std::string_view(list).substr(0, size), [&](std::string_view attribute) {
    std::string_view name;
    std::string_view value;
    const bool is_object =
        for_each_member(attribute, [&](std::string_view key, std::string_view text) {
          if (key == "name" && is_quoted(text)) name = unquoted(text);
          if (key == "value") value = text;
          return true;
        });
    if (name == "collective_name" && is_quoted(value)) facts.name = unquoted(value);
    if (name == "dtype" && is_quoted(value)) facts.type = unquoted(value);
    if (name == "pg_name" && is_quoted(value)) facts.group = unquoted(value);
    if (name == "in_msg_nelems" || (name == "out_msg_nelems" && facts.elements == 0))
      facts.elements = to_integer(value).value_or(0);
    return is_object;
  });
  return facts;
}

// One Node message under construction.
class NodeMessage {
 public:
  NodeMessage(std::uint64_t id, std::string_view name, ChakraNodeType type) {
    node_.add_uint64(ChakraNodeField::Id, id);
    node_.add_string(ChakraNodeField::Name, name.data(), name.size());
    node_.add_int32(ChakraNodeField::Type, static_cast<std::int32_t>(type));
  }
  void depends_on(std::uint64_t caller, const std::vector<std::uint64_t>& data) {
    node_.add_packed_uint64(ChakraNodeField::ControlDependencies, &caller, &caller + 1);
    node_.add_packed_uint64(ChakraNodeField::DataDependencies, data.begin(), data.end());
  }
  void times(Nanos start_ns, Nanos duration_ns) {
    node_.add_uint64(ChakraNodeField::StartMicros, micros(start_ns));
    node_.add_uint64(ChakraNodeField::DurationMicros, micros(duration_ns));
  }
  void values(ChakraNodeField field, const ExecutionTraceValues& values) {
    using Field = ChakraValuesField;
    protozero::pbf_builder<Field> message(node_, field);
    message.add_string(Field::Values, values.values.data(), values.values.size());
    message.add_string(Field::Shapes, values.shapes.data(), values.shapes.size());
    message.add_string(Field::Types, values.types.data(), values.types.size());
  }
  void attribute(std::string_view name, std::uint64_t value) {
    Attribute(node_, name).add_uint64(ChakraAttributeField::Uint64, value);
  }
  void attribute(std::string_view name, std::int64_t value) {
    Attribute(node_, name).add_int64(ChakraAttributeField::Int64, value);
  }
  void attribute(std::string_view name, bool value) {
    Attribute(node_, name).add_bool(ChakraAttributeField::Bool, value);
  }
  void attribute(std::string_view name, std::string_view value) {
    Attribute(node_, name).add_string(ChakraAttributeField::String, value.data(), value.size());
  }
  const std::string& bytes() const { return bytes_; }

 private:
  struct Attribute : protozero::pbf_builder<ChakraAttributeField> {
    Attribute(protozero::pbf_builder<ChakraNodeField>& node, std::string_view name)
        : protozero::pbf_builder<ChakraAttributeField>(node, ChakraNodeField::Attribute) {
      add_string(ChakraAttributeField::Name, name.data(), name.size());
    }
  };
  static std::uint64_t micros(Nanos ns) {
    return static_cast<std::uint64_t>(std::max<Nanos>(ns, 0) / kNsPerMicro);
  }

  std::string bytes_;
  protozero::pbf_builder<ChakraNodeField> node_{bytes_};
};

class ChakraExport {
 public:
  ChakraExport(const ExecutionTrace& et, const Trace* times, OutputFile& file)
      : et_(et), times_(times), file_(file) {}

  Result<void> run() {
    find_dependencies();
    if (times_ != nullptr) find_spans();
    std::string head;
    protozero::pbf_builder<ChakraMetadataField> metadata(head);
    metadata.add_string(ChakraMetadataField::Version, kVersion.data(), kVersion.size());
    write(head);
    for (const std::size_t i : by_id_) write_node(i);
    if (times_ != nullptr) write_device_work();
    flush(0);
    return std::move(result_);
  }

 private:
  // Nodes are in the order in which they ended, so an earlier node cannot contain a later one.
  void find_dependencies() {
    const std::size_t count = et_.nodes.size();
    by_id_.resize(count);
    for (std::size_t i = 0; i < count; ++i) by_id_[i] = i;
    std::stable_sort(by_id_.begin(), by_id_.end(), [this](std::size_t a, std::size_t b) {
      return et_.nodes[a].id < et_.nodes[b].id;
    });
    dependencies_.resize(count);
    std::unordered_map<std::uint64_t, std::size_t> last_of_caller;
    std::unordered_map<std::uint64_t, std::size_t> maker;
    for (const std::size_t i : by_id_) {
      const ExecutionTraceNode& node = et_.nodes[i];
      if (node.parent != kRootNodeId) {
        const auto [last, is_first] = last_of_caller.try_emplace(node.parent, i);
        if (!is_first) depend(i, std::exchange(last->second, i));
      }
      for_each_tensor(node.inputs.values, [&](const TensorValue& tensor) {
        const auto made = maker.find(tensor.id);
        if (tensor.id != 0 && made != maker.end()) depend(i, made->second);
      });
      for_each_tensor(node.outputs.values,
                      [&](const TensorValue& tensor) { maker[tensor.id] = i; });
    }
  }

  void depend(std::size_t node, std::size_t on) {
    std::vector<std::uint64_t>& list = dependencies_[node];
    const std::uint64_t id = et_.nodes[on].id;
    if (on < node && std::find(list.begin(), list.end(), id) == list.end()) list.push_back(id);
  }

  void find_spans() {
    for (const SpanId span : times_->all_spans()) {
      const std::int64_t id = times_->spans().record_function_id[span];
      if (id > 0) span_of_.emplace(static_cast<std::uint64_t>(id), span);
    }
  }

  void write_node(std::size_t i) {
    const ExecutionTraceNode& node = et_.nodes[i];
    last_id_ = std::max(last_id_, node.id);
    const bool is_collective = node.name == kCollectiveOperator;
    const CollectiveFacts facts = is_collective ? facts_of(node) : CollectiveFacts();
    NodeMessage message(node.id, node.name, is_collective ? type_of(facts) : type_of(node));
    if (node.id != node.parent) message.depends_on(node.parent, dependencies_[i]);
    if (const auto span = span_of_.find(node.record_function_id); span != span_of_.end()) {
      message.times(times_->spans().start_ns[span->second],
                    times_->spans().duration_ns[span->second]);
      remember_launcher(span->second, node.id);
    }
    message.values(ChakraNodeField::Inputs, node.inputs);
    message.values(ChakraNodeField::Outputs, node.outputs);
    message.attribute("rf_id", node.record_function_id);
    message.attribute("fw_parent", node.forward_parent);
    message.attribute("seq_id", node.sequence_number);
    message.attribute("scope", node.scope);
    message.attribute("tid", node.thread);
    message.attribute("fw_tid", node.forward_thread);
    message.attribute("op_schema", node.schema);
    message.attribute("is_cpu_op", true);
    if (is_collective) add_collective(message, facts);
    write(message.bytes());
  }

  static ChakraNodeType type_of(const ExecutionTraceNode& node) {
    return node.scope == kUserScope ? ChakraNodeType::Metadata : ChakraNodeType::Compute;
  }
  static ChakraNodeType type_of(const CollectiveFacts& facts) {
    const std::string letters = letters_of(facts.name);
    if (collective_number(letters)) return ChakraNodeType::Collective;
    if (letters.find("send") != std::string::npos) return ChakraNodeType::Send;
    if (letters.find("recv") != std::string::npos) return ChakraNodeType::Receive;
    return ChakraNodeType::Compute;
  }
  static void add_collective(NodeMessage& message, const CollectiveFacts& facts) {
    if (const auto number = collective_number(letters_of(facts.name)))
      message.attribute("comm_type", *number);
    message.attribute("comm_size", facts.elements * bytes_of_type(facts.type));
    message.attribute("pg_name", std::string_view(facts.group));
  }

  void remember_launcher(SpanId span, std::uint64_t node) {
    const std::int64_t id = times_->spans().external_id[span];
    if (id != 0) launcher_.emplace(id, node);
  }

  // Each follows the operator that launched it and the work before it on its stream.
  void write_device_work() {
    const SpanTable& spans = times_->spans();
    std::map<TrackId, std::uint64_t> last_of_stream;
    for (const SpanId span : times_->all_spans()) {
      if (!is_device_work(spans.kind[span])) continue;
      const auto launcher = launcher_.find(spans.external_id[span]);
      if (spans.external_id[span] == 0 || launcher == launcher_.end()) continue;
      const std::string letters = letters_of(times_->name(span));
      const bool is_nccl = letters.starts_with("nccl");
      const auto collective = is_nccl ? collective_number(letters) : std::nullopt;
      NodeMessage message(++last_id_, times_->name(span),
                          collective ? ChakraNodeType::Collective : ChakraNodeType::Compute);
      std::uint64_t& before = last_of_stream[spans.track[span]];
      std::vector<std::uint64_t> data = {launcher->second};
      if (before != 0) data.push_back(before);
      before = last_id_;
      message.depends_on(launcher->second, data);
      message.times(spans.start_ns[span], spans.duration_ns[span]);
      message.attribute("is_cpu_op", false);
      message.attribute("stream", times_->tracks().id[spans.track[span]]);
      if (collective) message.attribute("comm_type", *collective);
      write(message.bytes());
    }
  }

  void write(const std::string& message) {
    protozero::add_varint_to_buffer(&out_, message.size());
    out_ += message;
    flush(kFlushBytes);
  }
  void flush(std::size_t at_least) {
    if (out_.size() < at_least) return;
    if (result_) result_ = file_.append(out_);
    out_.clear();
  }

  const ExecutionTrace& et_;
  const Trace* const times_;
  OutputFile& file_;
  std::vector<std::size_t> by_id_;
  std::vector<std::vector<std::uint64_t>> dependencies_;      // data dependencies, by node
  std::unordered_map<std::uint64_t, SpanId> span_of_;         // by record-function id
  std::unordered_map<std::int64_t, std::uint64_t> launcher_;  // node by external id
  std::uint64_t last_id_ = 0;
  std::string out_;
  Result<void> result_;
};

}  // namespace

Result<void> write_chakra(const ExecutionTrace& et, const std::string& path, const Trace* times) {
  SONDE_TRY(OutputFile file, OutputFile::create(path));
  SONDE_TRY_VOID(ChakraExport(et, times, file).run());
  return file.commit();
}

}  // namespace sonde

#else

namespace sonde {

Result<void> write_chakra(const ExecutionTrace& /*et*/, const std::string& path,
                          const Trace* /*times*/) {
  return Failure(ErrorCode::Unsupported, path +
                                             ": this Sonde cannot write Chakra's protobuf format; "
                                             "it was built without libprotozero-dev");
}

}  // namespace sonde

#endif
