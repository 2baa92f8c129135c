// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/sql/sql.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <sstream>

#include "base/output_file.h"
#include "cli/commands.h"
#include "cli/compare/inputs.h"

namespace sonde::cli {
namespace {

bool exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

bool looks_like_query(const std::string& word) {
  return !exists(word) &&
         (word.starts_with('.') || word.find_first_of(" \t\n;") != std::string::npos);
}

// The first word of a query that was not put in quotes.
bool begins_a_query(std::string word) {
  std::transform(word.begin(), word.end(), word.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return (word == "SELECT" || word == "WITH" || word == "VALUES" || word == "EXPLAIN") &&
         !exists(word);
}

struct Asked {
  std::vector<std::string> traces;
  std::string query;  // empty: none
};

Asked split(const SqlCommand& command) {
  Asked asked;
  for (const std::string& word : command.words) {
    if (!asked.query.empty()) {
      asked.query += ' ' + word;  // .schema spans
    } else if (looks_like_query(word)) {
      asked.query = word;
    } else {
      asked.traces.push_back(word);
    }
  }
  return asked;
}

Result<SqlDatabase> open_database(const std::vector<std::string>& words, const OpenOptions& open) {
  SONDE_TRY(const std::vector<std::string> files, trace_files(words));
  std::vector<NamedTrace> traces;
  for (const std::string& file : files) {
    SONDE_TRY(Trace trace, open_to_answer(file, open));
    traces.push_back({file, std::move(trace)});
  }
  return SqlDatabase::over(std::move(traces));
}

void note_interrupt(int /*signal*/) {
  interrupted().store(true, std::memory_order_relaxed);
}

void catch_interrupts() {
  struct sigaction action = {};
  action.sa_handler = note_interrupt;
  ::sigaction(SIGINT, &action, nullptr);
}

void leave_memory_for_others() {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page = ::sysconf(_SC_PAGESIZE);
  if (pages > 0 && page > 0)
    SqlDatabase::limit_memory(static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page) /
                              2);
}

std::string all_input() {
  return {std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n;") == std::string_view::npos;
}

std::string table_text(const SqlTable& table) {
  std::string text =
      (table.is_view ? "-- (view) " : "-- ") + table.doc + "\nCREATE TABLE " + table.name + " (\n";
  for (const SqlColumn& column : table.columns) {
    const bool is_last = &column == &table.columns.back();
    std::string line = "  " + column.name + " " + column.type + (is_last ? "" : ",");
    std::string note = column.doc;
    if (!column.unit.empty()) note += (note.empty() ? "in " : "; in ") + column.unit;
    if (!note.empty())
      line += std::string(line.size() < 34 ? 34 - line.size() : 1, ' ') + "-- " + note;
    text += line + "\n";
  }
  return text + ");\n";
}

constexpr std::string_view kShellHelp =
    ".tables             list the tables\n"
    ".schema [TABLE]     show the columns of a table, or of all\n"
    ".functions          list Sonde's own functions\n"
    ".format FORMAT      table, markdown, csv or json\n"
    ".quit               leave (or Ctrl-D)\n"
    "Everything else is SQL, up to a semicolon. Ctrl-C stops a query.\n";

}  // namespace

std::atomic<bool>& interrupted() {
  static std::atomic<bool> flag{false};
  return flag;
}

Result<void> check(const SqlCommand& command) {
  const Asked asked = split(command);
  if (asked.traces.empty())
    return Failure(ErrorCode::Invalid, "no trace given: sonde sql TRACE... 'SELECT ...'");
  for (const std::string& trace : asked.traces) {
    if (trace.empty()) return Failure(ErrorCode::Invalid, "the query is empty");
    if (begins_a_query(trace))
      return Failure(ErrorCode::Invalid,
                     trace + ": put the query in quotes: sonde sql TRACE... 'SELECT ...'");
  }
  const bool is_file = command.output.ends_with(".parquet");
  if (command.format == "parquet" && command.output.empty())
    return Failure(ErrorCode::Invalid, "--format parquet needs a file: -o rows.parquet");
  if (is_file && command.format != "parquet")
    return Failure(ErrorCode::Invalid, command.output + ": add --format parquet");
  return {};
}

Result<void> SqlSession::run_dot(const std::string& command, Output& out) {
  std::istringstream words(command);
  std::string name;
  std::string argument;
  words >> name >> argument;
  if (name == ".quit" || name == ".exit") {
    is_over_ = true;
  } else if (name == ".help") {
    out.write(kShellHelp);
  } else if (name == ".tables") {
    for (const SqlTable& table : database_.tables())
      out.line(table.name + std::string(table.name.size() < 16 ? 16 - table.name.size() : 1, ' ') +
               table.doc);
  } else if (name == ".functions") {
    for (const SqlFunction& function : SqlDatabase::functions())
      out.line(function.usage +
               std::string(function.usage.size() < 34 ? 34 - function.usage.size() : 1, ' ') +
               function.doc);
  } else if (name == ".schema") {
    bool found = false;
    for (const SqlTable& table : database_.tables()) {
      if (!argument.empty() && argument != table.name) continue;
      out.write(table_text(table));
      found = true;
    }
    if (!found)
      return Failure(ErrorCode::NotFound, "no table '" + argument + "'; .tables lists them");
  } else if (name == ".format" && (argument == "table" || argument == "markdown" ||
                                   argument == "csv" || argument == "json")) {
    format_ = argument;
  } else {
    return Failure(ErrorCode::Invalid, "unknown command '" + command + "'; try .help");
  }
  return {};
}

Result<void> SqlSession::run(std::string_view text, Output& out) {
  while (!is_blank(text)) {
    const std::size_t begin = text.find_first_not_of(" \t\r\n;");
    text.remove_prefix(begin);
    if (text.front() == '.') {
      const std::size_t end = std::min(text.find('\n'), text.size());
      std::string command(text.substr(0, end));
      while (!command.empty() &&
             (command.back() == ';' || command.back() == ' ' || command.back() == '\r'))
        command.pop_back();
      SONDE_TRY_VOID(run_dot(command, out));
      text.remove_prefix(end);
      if (is_over_) break;
      continue;
    }
    interrupted() = false;
    QueryWatch watch(time_limit_s_);
    SONDE_TRY(SqlQuery query, database_.query(text, {time_limit_s_, &interrupted()}));
    if (format_ == "parquet") {
      if (!is_blank(query.rest()))
        return Failure(ErrorCode::Invalid, "a Parquet file holds the rows of one query");
      return write_rows_parquet(query, watch, output_);
    }
    SONDE_TRY_VOID(print_rows(query, watch, format_, out));
    text.remove_prefix(text.size() - query.rest().size());
  }
  return {};
}

Result<void> run_sql(const SqlCommand& command, Output& out) {
  const Asked asked = split(command);
  SONDE_TRY(const SqlDatabase database, open_database(asked.traces, command.open));
  SqlSession session(database, command);
  leave_memory_for_others();
  catch_interrupts();
  const bool is_shell = asked.query.empty() && ::isatty(STDIN_FILENO) != 0;
  if (is_shell && command.output.empty()) return run_shell(session);
  if (is_shell) return Failure(ErrorCode::Invalid, "--output needs a query");
  const std::string text = asked.query.empty() ? all_input() : asked.query;
  if (is_blank(text)) return Failure(ErrorCode::Invalid, "there is no query in the text");
  if (command.output.empty() || command.format == "parquet") return session.run(text, out);
  Output kept;
  SONDE_TRY_VOID(session.run(text, kept));
  return write_file_whole(command.output, kept.take());
}

}  // namespace sonde::cli
