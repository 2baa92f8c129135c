// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A folder with one Parquet file for each table of a trace, or with such a folder for each trace.

#include <filesystem>

#include "convert/columns/parquet_writer.h"
#include "convert/columns/write_tables.h"
#include "sonde/export.h"

namespace sonde {
namespace {

Result<void> write_parquet(const Trace& trace, const std::string& folder) {
  return write_tables<ParquetWriter>(trace, folder, ".parquet");
}

}  // namespace

Result<void> export_parquet(const Trace& trace, const std::string& folder) {
  return make_folder_whole(folder,
                           [&](const std::string& hidden) { return write_parquet(trace, hidden); });
}

Result<void> export_parquet_parts(const std::vector<std::string>& parts,
                                  const std::function<Result<Trace>(std::size_t)>& open,
                                  const std::string& folder) {
  return make_folder_whole(folder, [&](const std::string& hidden) -> Result<void> {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const std::string inside = hidden + "/" + parts[i];
      std::error_code error;
      if (!std::filesystem::create_directory(inside, error))
        return Failure(ErrorCode::Io, folder + ": cannot create a folder in it for " + parts[i] +
                                          (error ? ": " + error.message() : ": it is there twice"));
      SONDE_TRY(const Trace trace, open(i));
      SONDE_TRY_VOID(write_parquet(trace, inside));
    }
    return {};
  });
}

}  // namespace sonde
