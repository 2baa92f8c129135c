// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/source/plugin.h"

#include <cstddef>
#include <map>
#include <mutex>

#include "collect/record_options.h"
#include "sonde/source/source.h"

namespace sonde {
namespace {

class PluginSource : public Source {
 public:
  explicit PluginSource(const sonde_plugin& plugin) : plugin_(plugin) {}

  std::string name() const override { return plugin_.name; }
  Activity activity() const override { return static_cast<Activity>(plugin_.activity); }

  Result<void> prepare(const RecordOptions& wanted) override {
    const sonde_request asked = plugin_request(wanted);
    char why[512] = "";
    if (plugin_.prepare(plugin_.self, &asked, why, sizeof(why)) == 0) return {};
    why[sizeof(why) - 1] = '\0';
    return Failure(ErrorCode::Unsupported, why[0] != '\0' ? why : "it gave no reason");
  }
  void start() override { plugin_.start(plugin_.self); }
  void stop() override { plugin_.stop(plugin_.self); }
  bool is_flushed() const override {
    constexpr std::size_t kSizeWithFlush = offsetof(sonde_plugin, flush) + sizeof(plugin_.flush);
    return plugin_.size >= kSizeWithFlush && plugin_.flush != nullptr;
  }
  void flush() override { plugin_.flush(plugin_.self); }

 private:
  const sonde_plugin& plugin_;
};

// A plugin that was built before flush() existed.
bool is_understood(const sonde_plugin* plugin) {
  return plugin != nullptr && plugin->size >= offsetof(sonde_plugin, flush) &&
         plugin->name != nullptr && plugin->prepare != nullptr && plugin->start != nullptr &&
         plugin->stop != nullptr &&
         plugin->activity <= static_cast<std::uint32_t>(Activity::PrivateUse1);
}

struct Plugins {
  std::mutex mutex;
  std::map<const sonde_plugin*, std::shared_ptr<Source>> sources;
};

Plugins& plugins() {
  static auto* const instance = new Plugins;  // outlives every thread
  return *instance;
}

}  // namespace
}  // namespace sonde

extern "C" int sonde_add_plugin(const sonde_plugin* plugin) {
  if (!sonde::is_understood(plugin)) return 1;
  auto& [mutex, sources] = sonde::plugins();
  const std::lock_guard lock(mutex);
  std::shared_ptr<sonde::Source>& source = sources[plugin];
  if (source == nullptr) source = std::make_shared<sonde::PluginSource>(*plugin);
  sonde::add_source(source);
  return 0;
}

extern "C" void sonde_remove_plugin(const sonde_plugin* plugin) {
  auto& [mutex, sources] = sonde::plugins();
  const std::lock_guard lock(mutex);
  const auto found = sources.find(plugin);
  if (found == sources.end()) return;
  sonde::remove_source(*found->second);
  sources.erase(found);
}
