// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program that uses NVTX and knows nothing about Sonde. With USE_NVTX_HEADERS it is built with
// NVTX's own headers; without, it does the same as they do.

#include <thread>

#if USE_NVTX_HEADERS

#include <nvtx3/nvToolsExt.h>

#else

#include "nvtx_client.h"

#endif

namespace {

nvtxEventAttributes_t attributes() {
  nvtxEventAttributes_t made = {};
  made.version = NVTX_VERSION;
  made.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  return made;
}

nvtxEventAttributes_t named(const char* name) {
  nvtxEventAttributes_t made = attributes();
  made.messageType = NVTX_MESSAGE_TYPE_ASCII;
  made.message.ascii = name;
  return made;
}

void in_a_domain() {
  nvtxDomainHandle_t domain = nvtxDomainCreateA("solver");
  nvtxDomainNameCategoryA(domain, 4, "linear");
  nvtxEventAttributes_t registered = attributes();
  registered.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  registered.message.registered = nvtxDomainRegisterStringA(domain, "factorise");
  registered.category = 4;
  registered.payloadType = NVTX_PAYLOAD_TYPE_INT64;
  registered.payload.llValue = -12;
  nvtxDomainRangePushEx(domain, &registered);
  nvtxRangePushW(L"größer");  // in another domain: ends after the one around it
  nvtxDomainRangePop(domain);
  nvtxRangePop();
}

}  // namespace

int main() {
  if (nvtxRangePushA("outer") != 0 || nvtxRangePushA("inner") != 1) return 2;
  nvtxMarkA("moment");
  if (nvtxRangePop() != 1 || nvtxRangePop() != 0) return 3;
  if (nvtxRangePop() >= 0) return 4;
  const nvtxRangeId_t transfer = nvtxRangeStartA("transfer");
  std::thread([transfer] { nvtxRangeEnd(transfer); }).join();
  const nvtxEventAttributes_t step = named("step");
  nvtxRangePushEx(&step);
  in_a_domain();
  nvtxRangePop();
  return 0;
}
