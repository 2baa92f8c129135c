// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Descriptors, folders and the environment.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>

#include "awkward.h"

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace awkward {
namespace {

int close_all() {
  for (int fd = 3; fd < 4096; ++fd) ::close(fd);
  work(100000);
  return 4;
}

int close_everything_and_reuse() {
  for (int fd = 3; fd < 1024; ++fd) ::close(fd);
  for (int i = 0; i < 300; ++i) {
    const std::string name = "own-" + std::to_string(i);
    const int fd = ::open(name.c_str(), O_RDWR | O_CREAT, 0600);
    if (fd < 0 || ::write(fd, name.data(), name.size()) < 0) return 98;
  }
  for (int i = 0; i < 10; ++i) {
    work(10000);
    pause_ms(10);
  }
  return 0;
}

int close_standard(int which) {
  ::close(which);
  work(1000);
  const int fd = ::open("/dev/null", O_RDWR);
  return fd == which ? 0 : 1;
}

// What a program opens has the numbers that it would have had.
int number_descriptors() {
  for (int i = 0; i < 5; ++i) say(std::to_string(::open("/dev/null", O_RDONLY)));
  return 0;
}

int copy_input() {
  for (std::string line; std::getline(std::cin, line);) say("got " + line);
  return 0;
}

int write_much() {
  const std::string line(1023, 'x');
  for (int i = 0; i < 3000; ++i) say(line);
  return 0;
}

int write_to_broken_pipe() {
  int ends[2];
  if (::pipe(ends) != 0) return 98;
  ::close(ends[0]);
  return static_cast<int>(::write(ends[1], "x", 1)) + 97;
}

int change_folder() {
  if (::mkdir("inner", 0700) != 0 || ::chdir("inner") != 0) return 98;
  std::ofstream("made-here") << "text";
  work(1000);
  return 0;
}

int remove_folder() {
  if (::mkdir("gone", 0700) != 0 || ::chdir("gone") != 0 || ::rmdir("../gone") != 0) return 98;
  work(1000);
  return 0;
}

int change_mask() {
  ::umask(0777);
  work(1000);
  std::ofstream("masked") << "x";
  return 0;
}

int clear_environment() {
  ::clearenv();
  work(100);
  return std::system("echo ${HOME:-none}") == 0 ? 0 : 1;
}

int replace_environment() {
  static char own[] = "ONLY=this";
  static char* replaced[] = {own, nullptr};
  environ = replaced;
  work(100);
  say(std::getenv("ONLY"));
  return 0;
}

const Add added{
    {"close_all", close_all},
    {"close_and_reuse", close_everything_and_reuse},
    {"close_stdin", [] { return close_standard(0); }},
    {"close_stdout", [] { return close_standard(1); }},
    {"close_stderr", [] { return close_standard(2); }},
    {"number_descriptors", number_descriptors},
    {"copy_input", copy_input},
    {"write_much", write_much},
    {"write_to_broken_pipe", write_to_broken_pipe},
    {"change_folder", change_folder},
    {"remove_folder", remove_folder},
    {"change_mask", change_mask},
    {"clear_environment", clear_environment},
    {"replace_environment", replace_environment},
};

}  // namespace
}  // namespace awkward
