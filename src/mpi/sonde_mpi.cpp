// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Compiled by `sonde mpi build` with the cluster's mpicxx; C++17 and MPI 3 are enough. MPI's calls
// wait for ever if a link goes down, so none that may wait is used without a clock beside it.

#include "mpi/sonde_mpi.h"

#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <thread>

namespace {

constexpr int kSizeTag = 1;
constexpr int kBytesTag = 2;
constexpr int kThanksTag = 3;
constexpr unsigned long kPiece = 16UL << 20;
constexpr auto kPause = std::chrono::milliseconds(1);

using Clock = std::chrono::steady_clock;

Clock::time_point after(double seconds) {
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

// Whether the request was done in time.
bool done_in_time(MPI_Request* request, double timeout_s) {
  const Clock::time_point end = after(timeout_s);
  for (int done = 0;;) {
    MPI_Test(request, &done, MPI_STATUS_IGNORE);
    if (done != 0) return true;
    if (Clock::now() > end) return false;
    std::this_thread::sleep_for(kPause);
  }
}

bool send_piece(const void* bytes, unsigned long size, int to, int tag, double timeout_s) {
  MPI_Request request;
  MPI_Isend(bytes, static_cast<int>(size), MPI_BYTE, to, tag, MPI_COMM_WORLD, &request);
  return done_in_time(&request, timeout_s);
}

bool receive_piece(void* bytes, unsigned long size, int from, int tag, double timeout_s) {
  MPI_Request request;
  MPI_Irecv(bytes, static_cast<int>(size), MPI_BYTE, from, tag, MPI_COMM_WORLD, &request);
  return done_in_time(&request, timeout_s);
}

// Ends this process if it is still there by then.
void leave_after(double seconds, int status) {
  std::thread([=] {
    std::this_thread::sleep_until(after(seconds));
    ::_exit(status);
  }).detach();
}

}  // namespace

extern "C" {

int sonde_mpi_version(void) {
  return SONDE_MPI_VERSION;
}

int sonde_mpi_start(int* process, int* processes) {
  int is_started = 0;
  MPI_Initialized(&is_started);
  if (is_started == 0 && MPI_Init(nullptr, nullptr) != MPI_SUCCESS) return 1;
  MPI_Comm_rank(MPI_COMM_WORLD, process);
  MPI_Comm_size(MPI_COMM_WORLD, processes);
  return 0;
}

int sonde_mpi_send(const unsigned char* bytes, unsigned long size, double timeout_s) {
  const std::uint64_t whole = size;
  if (!send_piece(&whole, sizeof(whole), 0, kSizeTag, timeout_s)) return 1;
  for (unsigned long at = 0; at < size; at += kPiece)
    if (!send_piece(bytes + at, std::min(kPiece, size - at), 0, kBytesTag, timeout_s)) return 1;
  char thanks = 0;
  return receive_piece(&thanks, 1, 0, kThanksTag, timeout_s) ? 0 : 1;
}

int sonde_mpi_receive(int* from, unsigned char** bytes, unsigned long* size, double timeout_s) {
  const Clock::time_point end = after(timeout_s);
  MPI_Status status;
  for (int found = 0; found == 0;) {
    MPI_Iprobe(MPI_ANY_SOURCE, kSizeTag, MPI_COMM_WORLD, &found, &status);
    if (found == 0 && Clock::now() > end) return 1;
    if (found == 0) std::this_thread::sleep_for(kPause);
  }
  *from = status.MPI_SOURCE;
  std::uint64_t whole = 0;
  if (!receive_piece(&whole, sizeof(whole), *from, kSizeTag, timeout_s)) return 1;
  *size = static_cast<unsigned long>(whole);
  *bytes = static_cast<unsigned char*>(std::malloc(std::max<unsigned long>(*size, 1)));
  if (*bytes == nullptr) return 1;
  for (unsigned long at = 0; at < *size; at += kPiece) {
    if (receive_piece(*bytes + at, std::min(kPiece, *size - at), *from, kBytesTag, timeout_s))
      continue;
    std::free(*bytes);
    *bytes = nullptr;
    return 1;
  }
  const char thanks = 1;
  return send_piece(&thanks, 1, *from, kThanksTag, timeout_s) ? 0 : 1;
}

void sonde_mpi_finish(double timeout_s) {
  leave_after(timeout_s, 0);
  MPI_Finalize();
}

void sonde_mpi_abort(int status) {
  leave_after(5, status);
  MPI_Abort(MPI_COMM_WORLD, status);
  ::_exit(status);
}

}  // extern "C"
