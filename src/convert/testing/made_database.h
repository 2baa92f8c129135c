// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Databases that a test makes with SQL.
//
//   MadeDatabase made;
//   made.run("CREATE TABLE StringIds (id INTEGER, value TEXT); INSERT INTO …");
//   const Trace trace = made.read();

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <memory>
#include <string>

#include "convert/database/database.h"
#include "convert/database/read_database.h"

namespace sonde::testing {

class MadeDatabase {
 public:
  MadeDatabase() {
    sqlite3* made = nullptr;
    EXPECT_EQ(sqlite3_open(":memory:", &made), SQLITE_OK);
    database_.reset(made);
    run("PRAGMA page_size=512");
  }

  void run(const std::string& sql) {
    EXPECT_EQ(sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(database_.get()) << " in " << sql;
  }

  // The bytes of the database as a file.
  std::string bytes() const {
    sqlite3_int64 size = 0;
    unsigned char* data = sqlite3_serialize(database_.get(), "main", &size, 0);
    std::string bytes(reinterpret_cast<const char*>(data), static_cast<std::size_t>(size));
    sqlite3_free(data);
    return bytes;
  }

  // One text of a query's answer, to compare with.
  std::string ask(const std::string& sql) const {
    std::string answer;
    const auto add = [](void* to, int columns, char** values, char**) {
      for (int i = 0; i < columns; ++i) {
        *static_cast<std::string*>(to) += (i == 0 ? "" : " ") + std::string(values[i]);
      }
      *static_cast<std::string*>(to) += "\n";
      return 0;
    };
    EXPECT_EQ(sqlite3_exec(database_.get(), sql.c_str(), add, &answer, nullptr), SQLITE_OK)
        << sqlite3_errmsg(database_.get());
    return answer;
  }

  Result<Trace> try_read() const { return try_read(bytes()); }
  static Result<Trace> try_read(const std::string& bytes) {
    SONDE_TRY(PaddedBytes copy, PaddedBytes::copy_of(bytes));
    return read_profiler_database(std::move(copy), "made.sqlite");
  }
  // Fails the test if there is no trace.
  Trace read() const {
    Result<Trace> trace = try_read();
    EXPECT_TRUE(trace) << trace.error().message;
    return trace ? *std::move(trace) : Trace();
  }
  std::string error() const {
    const Result<Trace> trace = try_read();
    return trace ? "opened" : trace.error().message;
  }

 private:
  std::unique_ptr<sqlite3, CloseSqlite> database_;
};

}  // namespace sonde::testing
