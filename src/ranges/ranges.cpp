// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/profile/ranges.h"

#include <array>
#include <mutex>
#include <string>
#include <vector>

#include "ranges/itt_tool.h"
#include "ranges/nvtx_tool.h"
#include "record/listeners.h"
#include "sonde/source/range_source.h"

namespace sonde {
namespace {

using detail::kItt;
using detail::kNvtx;
using detail::Listeners;

static_assert(kNvtx == SONDE_TOOL_NVTX && kItt == SONDE_TOOL_ITT);

// How many emit_nvtx and emit_itt objects there are, and who else must be notified.
class Emissions {
 public:
  void add(Listeners who, bool record_shapes) { change(who, record_shapes, 1); }
  void remove(Listeners who, bool record_shapes) { change(who, record_shapes, -1); }

  void add_source(const sonde_range_source* source) {
    const std::lock_guard lock(mutex_);
    for (const auto* known : sources_) {
      if (known == source) return;
    }
    sources_.push_back(source);
    if (tools_ != 0) source->listen(tools_, shapes_ > 0 ? 1 : 0);
  }

 private:
  void change(Listeners who, bool record_shapes, int by) {
    const std::lock_guard lock(mutex_);
    const Listeners tools_before = tools_;
    const bool shapes_before = shapes_ > 0;
    int& count = who == kNvtx ? nvtx_ : itt_;
    count += by;
    if (record_shapes) shapes_ += by;
    tools_ = count > 0 ? tools_ | who : tools_ & ~who;
    detail::set_listening(who, count > 0);
    if (tools_ == tools_before && (shapes_ > 0) == shapes_before) return;
    for (const auto* source : sources_) source->listen(tools_, shapes_ > 0 ? 1 : 0);
  }

  std::mutex mutex_;
  std::vector<const sonde_range_source*> sources_;
  Listeners tools_ = 0;
  int nvtx_ = 0;
  int itt_ = 0;
  int shapes_ = 0;
};

// Leaked: an emit_nvtx may be a static of the program.
Emissions& emissions() {
  static auto* const only = new Emissions;
  return *only;
}

const detail::Tool kNvtxCalls = {
    [](const char* name) { static_cast<void>(NvtxTool::get().push(name)); },
    [] { static_cast<void>(NvtxTool::get().pop()); },
    [](const char* name) { NvtxTool::get().mark(name); }};

void itt_mark(const char* name) {
  IttTool::get().push(name);
  IttTool::get().pop();
}

const detail::Tool kIttCalls = {[](const char* name) { IttTool::get().push(name); },
                                [] { IttTool::get().pop(); }, itt_mark};

bool nvtx_tool_wants_scopes() {
  const NvtxTool& tool = NvtxTool::get();
  return tool.is_there() && !tool.is_sonde();
}

bool begin_emission(bool wanted, Listeners who, const detail::Tool& tool, bool record_shapes) {
  if (!wanted) return false;
  detail::set_tool(who, &tool);
  emissions().add(who, record_shapes);
  return true;
}

}  // namespace

emit_nvtx::emit_nvtx(bool enabled, bool record_shapes)
    : is_heard_(
          begin_emission(enabled && nvtx_tool_wants_scopes(), kNvtx, kNvtxCalls, record_shapes)),
      record_shapes_(record_shapes) {}

emit_nvtx::~emit_nvtx() {
  if (is_heard_) emissions().remove(kNvtx, record_shapes_);
}

emit_itt::emit_itt(bool enabled, bool /*record_shapes*/)
    : is_heard_(begin_emission(enabled && IttTool::get().is_there(), kItt, kIttCalls, false)) {}

emit_itt::~emit_itt() {
  if (is_heard_) emissions().remove(kItt, false);
}

namespace nvtx {

bool is_available() {
  return NvtxTool::get().is_there();
}
int range_push(std::string_view message) {
  return NvtxTool::get().push(std::string(message).c_str());
}
int range_pop() {
  return NvtxTool::get().pop();
}
std::uint64_t range_start(std::string_view message) {
  return NvtxTool::get().start(std::string(message).c_str());
}
void range_end(std::uint64_t range) {
  NvtxTool::get().end(range);
}
void mark(std::string_view message) {
  NvtxTool::get().mark(std::string(message).c_str());
}

}  // namespace nvtx

namespace itt {

bool is_available() {
  return IttTool::get().is_there();
}
void range_push(std::string_view message) {
  IttTool::get().push(std::string(message).c_str());
}
void range_pop() {
  IttTool::get().pop();
}
void mark(std::string_view message) {
  itt_mark(std::string(message).c_str());
}

}  // namespace itt
}  // namespace sonde

extern "C" {

int sonde_add_range_source(const sonde_range_source* source) {
  if (source == nullptr || source->size < sizeof(sonde_range_source) || source->listen == nullptr)
    return 1;
  sonde::emissions().add_source(source);
  return 0;
}

uint32_t sonde_tools(void) {
  return sonde::detail::listeners() & (SONDE_TOOL_NVTX | SONDE_TOOL_ITT);
}

sonde_range sonde_tell_begin(uint32_t tools, const char* name) {
  return sonde::detail::begin_told_range(tools & (SONDE_TOOL_NVTX | SONDE_TOOL_ITT), name, {0, 0});
}

}  // extern "C"
