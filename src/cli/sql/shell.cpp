// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The shell of `sonde sql`: lines from the terminal, with history and completion where editline is
// there.

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "cli/sql/sql.h"

#if SONDE_HAS_EDITLINE
#include <editline/readline.h>
#endif

namespace sonde::cli {
namespace {

#if SONDE_HAS_EDITLINE

// Where lines of earlier sessions are kept; empty: nowhere.
std::string history_file() {
  const char* const state = std::getenv("XDG_STATE_HOME");
  const char* const home = std::getenv("HOME");
  if ((state == nullptr || *state != '/') && (home == nullptr || *home != '/')) return {};
  const std::filesystem::path folder = (state != nullptr && *state == '/')
                                           ? std::filesystem::path(state) / "sonde"
                                           : std::filesystem::path(home) / ".local/state/sonde";
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  return error ? std::string() : (folder / "sql_history").string();
}

std::vector<std::string>& completions() {
  static std::vector<std::string> words;
  return words;
}

// The next word that begins with `text`, for editline, which frees it.
char* next_completion(const char* text, int state) {
  static std::size_t at = 0;
  if (state == 0) at = 0;
  while (at < completions().size()) {
    const std::string& word = completions()[at++];
    if (word.starts_with(text)) return ::strdup(word.c_str());
  }
  return nullptr;
}

char** completions(const char* text, int /*start*/, int /*end*/) {
  rl_attempted_completion_over = 1;
  return rl_completion_matches(text, next_completion);
}

class Lines {
 public:
  explicit Lines(const SqlDatabase& database) : file_(history_file()) {
    completions() = {"SELECT",  "FROM",    "WHERE",      "GROUP BY", "ORDER BY", "LIMIT", "JOIN",
                     "AND",     "DESC",    "count(",     "sum(",     "avg(",     "max(",  "min(",
                     ".tables", ".schema", ".functions", ".format",  ".help",    ".quit"};
    for (const SqlTable& table : database.tables()) {
      completions().push_back(table.name);
      for (const SqlColumn& column : table.columns) completions().push_back(column.name);
    }
    for (const SqlFunction& function : SqlDatabase::functions())
      completions().push_back(function.usage.substr(0, function.usage.find('(') + 1));
    std::sort(completions().begin(), completions().end());
    completions().erase(std::unique(completions().begin(), completions().end()),
                        completions().end());
    rl_attempted_completion_function = completions;
    using_history();
    if (!file_.empty()) ::read_history(file_.c_str());
  }
  ~Lines() {
    constexpr int kLinesKept = 1000;
    stifle_history(kLinesKept);
    if (!file_.empty()) ::write_history(file_.c_str());
  }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;

  std::optional<std::string> next(const char* prompt) {
    char* const line = readline(prompt);
    if (line == nullptr) return std::nullopt;
    std::string text(line);
    std::free(line);
    if (!text.empty()) add_history(text.c_str());
    return text;
  }

 private:
  std::string file_;
};

#else

class Lines {
 public:
  explicit Lines(const SqlDatabase& /*database*/) {}
  std::optional<std::string> next(const char* prompt) {
    std::cout << prompt << std::flush;
    std::string line;
    if (!std::getline(std::cin, line)) return std::nullopt;
    return line;
  }
};

#endif

bool is_whole(const std::string& text) {
  const std::size_t last = text.find_last_not_of(" \t");
  return last == std::string::npos || text.front() == '.' || text[last] == ';';
}

}  // namespace

Result<void> run_shell(SqlSession& session) {
  std::cout << "Ask in SQL; .tables lists the tables, .help the commands, .quit leaves.\n";
  Lines lines(session.database());
  std::string text;
  while (!session.is_over()) {
    const std::optional<std::string> line = lines.next(text.empty() ? "sonde> " : "   ...> ");
    if (!line && interrupted().exchange(false)) {  // Ctrl-C forgets what was typed
      std::cout << '\n' << std::flush;
      text.clear();
      continue;
    }
    if (!line) break;
    text += (text.empty() ? "" : "\n") + *line;
    if (!is_whole(text)) continue;
    Output out(STDOUT_FILENO, "standard output");
    if (const Result<void> done = session.run(text, out); !done) say(done.error().message);
    if (const Result<void> written = out.finish(); !written) return written;
    text.clear();
  }
  return {};
}

}  // namespace sonde::cli
