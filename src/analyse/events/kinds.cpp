// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyse/events/event_data.h"

namespace sonde::detail {

DeviceType device_of(SpanKind kind) noexcept {
  switch (kind) {
    case SpanKind::Kernel:
    case SpanKind::GpuMemcpy:
    case SpanKind::GpuMemset:
    case SpanKind::GpuUserAnnotation:
    case SpanKind::CudaSync:
    case SpanKind::CudaEvent:
    case SpanKind::HardwareCounters:
    case SpanKind::CudaProfilerRange:
      return DeviceType::Cuda;
    case SpanKind::MtiaCcpEvents:
    case SpanKind::MtiaInsight:
    case SpanKind::MtiaCounters:
      return DeviceType::Mtia;
    case SpanKind::HpuOp:
      return DeviceType::Hpu;
    case SpanKind::XpuSync:
      return DeviceType::Xpu;
    default:
      return DeviceType::Cpu;
  }
}

bool is_operator(SpanKind kind) noexcept {
  switch (kind) {
    case SpanKind::Scope:
    case SpanKind::UserAnnotation:
    case SpanKind::Step:
    case SpanKind::CpuOp:
    case SpanKind::Async:
    case SpanKind::Collective:
    case SpanKind::Other:
      return true;
    default:
      return false;
  }
}

bool is_annotation(SpanKind kind) noexcept {
  switch (kind) {
    case SpanKind::Scope:
    case SpanKind::UserAnnotation:
    case SpanKind::Step:
    case SpanKind::Async:
    case SpanKind::GpuUserAnnotation:
      return true;
    default:
      return false;
  }
}

}  // namespace sonde::detail
