// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "record/dictionary.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "record/testing/chunk_memory.h"
#include "wire/dictionary.h"

namespace sonde::detail {
namespace {

using Entries = std::map<std::uint64_t, std::string>;

Entries names_in(std::span<const std::uint8_t> bytes) {
  Entries entries;
  const std::size_t understood = read_dictionary(
      bytes, [&](const DictionaryEntry& entry) { entries[entry.id] = std::string(entry.name); });
  EXPECT_EQ(understood, bytes.size());
  return entries;
}

Entries names_in(const Dictionary& words) {
  Entries all;
  std::vector<std::uint8_t> bytes;
  for (std::uint64_t at = words.copy_since(0, bytes); !bytes.empty();
       at = words.copy_since(at, bytes))
    all.merge(names_in(bytes));
  return all;
}

// Its slabs are never given back, like those of the process's own.
class DictionaryTest : public ::testing::Test {
 protected:
  const std::unique_ptr<Dictionary> owner_ = std::make_unique<Dictionary>();
  Dictionary& words = *owner_;
};

TEST_F(DictionaryTest, GivesANameByItsNumber) {
  const std::uint32_t first = words.name_id("aten::mm");
  char text[6] = "?";
  words.copy_name(first + 1, text, sizeof(text));
  EXPECT_STREQ(text, "");
  const std::uint32_t second = words.name_id("relu");
  words.copy_name(second, text, sizeof(text));
  EXPECT_STREQ(text, "relu");
  words.copy_name(first, text, sizeof(text));
  EXPECT_STREQ(text, "aten:");
}

TEST_F(DictionaryTest, GivesASiteItsNumberOnce) {
  sonde_site first = {"first", "f", "a.cpp", 1, 0};
  sonde_site second = {"second", "f", "a.cpp", 2, 0};
  const std::uint32_t id = words.site_id(&first);
  EXPECT_NE(id, 0u);
  EXPECT_EQ(first.id, id);
  EXPECT_EQ(words.site_id(&first), id);
  EXPECT_NE(words.site_id(&second), id);
  EXPECT_EQ(names_in(words).size(), 2u);
}

TEST_F(DictionaryTest, KeepsAllThatASiteSays) {
  sonde_site site = {"name", "function", "file.cpp", 4'000'000'000u, 0};
  words.site_id(&site);
  std::vector<std::uint8_t> bytes;
  words.copy_since(0, bytes);
  read_dictionary(bytes, [](const DictionaryEntry& entry) {
    EXPECT_EQ(entry.kind, DictionaryKind::Site);
    EXPECT_EQ(entry.name, "name");
    EXPECT_EQ(entry.function, "function");
    EXPECT_EQ(entry.file, "file.cpp");
    EXPECT_EQ(entry.number, 4'000'000'000u);
  });
}

TEST_F(DictionaryTest, TakesASiteWithoutTexts) {
  sonde_site site = {nullptr, nullptr, nullptr, 0, 0};
  EXPECT_NE(words.site_id(&site), 0u);
  EXPECT_EQ(names_in(words)[site.id], "");
}

TEST_F(DictionaryTest, GivesEqualNamesOneNumber) {
  const std::uint32_t id = words.name_id("step");
  EXPECT_EQ(words.name_id(std::string("step")), id);
  EXPECT_NE(words.name_id("steps"), id);
  EXPECT_NE(words.name_id(""), id);
  EXPECT_EQ(words.name_id(""), words.name_id(std::string_view()));
}

TEST_F(DictionaryTest, KeepsNamesOfAnyBytes) {
  const std::string odd("a\0b\xff\n\"", 6);
  const std::uint32_t id = words.name_id(odd);
  EXPECT_NE(words.name_id("a"), id);
  EXPECT_EQ(names_in(words)[id], odd);
}

TEST_F(DictionaryTest, CutsNamesBeyondALimit) {
  const std::string name(kMaxTextBytes, 'x');
  const std::uint32_t id = words.name_id(name + "tail");
  EXPECT_EQ(words.name_id(name), id);
  EXPECT_EQ(names_in(words)[id], name);
}

TEST_F(DictionaryTest, GivesNumbersBeyondAWordWhenThoseInItAreSpent) {
  constexpr std::uint32_t kNames = 20'000;
  constexpr std::uint32_t kSites = 60'000;
  std::vector<sonde_site> sites(kSites, {"site", "f", "a.cpp", 1, 0});
  std::map<std::uint32_t, int> seen;
  for (std::uint32_t i = 0; i < kNames; ++i) ++seen[words.name_id("name " + std::to_string(i))];
  for (sonde_site& site : sites) ++seen[words.site_id(&site)];
  EXPECT_EQ(seen.size(), kNames + kSites) << "no number twice";
  EXPECT_EQ(seen.count(0), 0u);
  EXPECT_GT(seen.rbegin()->first, kMaxWordId);
  EXPECT_EQ(names_in(words).size(), kNames + kSites);
}

TEST_F(DictionaryTest, CopiesOnlyWhatIsNew) {
  words.name_id("old");
  std::vector<std::uint8_t> bytes;
  const std::uint64_t total = words.copy_since(0, bytes);
  EXPECT_EQ(total, bytes.size());
  EXPECT_EQ(words.copy_since(total, bytes), total);
  EXPECT_TRUE(bytes.empty());
  const std::uint32_t id = words.name_id("new");
  words.copy_since(total, bytes);
  EXPECT_EQ(names_in(bytes), (Entries{{id, "new"}}));
}

TEST_F(DictionaryTest, CopiesAcrossTheEndsOfItsSlabs) {
  std::uint64_t total = 0;
  std::vector<std::uint8_t> piece;
  Entries pieces;
  for (int i = 0; i < 1'000; ++i) {
    words.name_id(std::to_string(i) + std::string(3'000, 'x'));
    total = words.copy_since(total, piece);
    pieces.merge(names_in(piece));
  }
  EXPECT_EQ(pieces.size(), 1'000u);
  EXPECT_EQ(pieces, names_in(words));
}

// Who cannot write what was copied asks for it again and again.
TEST_F(DictionaryTest, CopiesNoMoreThanAMebibyteAtOnce) {
  for (int i = 0; i < 1'000; ++i) words.name_id(std::to_string(i) + std::string(3'000, 'x'));
  std::vector<std::uint8_t> bytes;
  const std::uint64_t end = words.copy_since(0, bytes);
  EXPECT_EQ(end, bytes.size());
  EXPECT_LE(bytes.size(), std::size_t{1} << 20);
  EXPECT_GT(names_in(bytes).size(), 300u);
  words.copy_since(end, bytes);
  EXPECT_LE(bytes.size(), std::size_t{1} << 20);
}

TEST_F(DictionaryTest, TellsManyThreadsTheSameNumbers) {
  constexpr std::uint32_t kSites = 500;
  std::vector<sonde_site> sites(kSites, {"site", "f", "a.cpp", 1, 0});
  std::atomic<int> differing{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (std::uint32_t i = 0; i < kSites; ++i) {
          const std::uint32_t id = words.site_id(&sites[i]);
          if (id != words.site_id(&sites[i])) differing.fetch_add(1);
          if (words.name_id(std::to_string(i)) == id) differing.fetch_add(1);
        }
      });
    }
  }
  EXPECT_EQ(differing.load(), 0);
  EXPECT_EQ(names_in(words).size(), 2 * kSites);
}

class MirroredDictionary : public DictionaryTest {
 protected:
  void make_pool(std::uint32_t chunks) { pool.reset(testing::chunk_memory(chunks), chunks, 9, {}); }
  // What a reader of the mapping would find.
  Entries mirrored() const {
    Entries entries;
    for (std::uint32_t i = 0; i < pool.chunk_count(); ++i) {
      const ChunkHeader* chunk = pool.chunk(i);
      if (chunk->state != kChunkDictionary || chunk->stream != pool.stream()) continue;
      const auto* bytes = reinterpret_cast<const std::uint8_t*>(chunk);
      entries.merge(names_in({bytes + kChunkFirstWord, bytes + chunk->committed}));
    }
    return entries;
  }
  Pool pool;
};

TEST_F(MirroredDictionary, IsInTheChunksAsWell) {
  make_pool(8);
  words.name_id("before");
  words.mirror_to(&pool);
  words.name_id("while");
  words.add_thread(77, 4711, "worker");
  EXPECT_EQ(mirrored(), names_in(words));
  words.mirror_to(nullptr);
  words.name_id("after");
  EXPECT_EQ(mirrored().size(), 3u);
}

TEST_F(MirroredDictionary, FillsSeveralChunks) {
  make_pool(64);
  words.mirror_to(&pool);
  for (int i = 0; i < 100; ++i) words.name_id(std::to_string(i) + std::string(4'000, 'x'));
  EXPECT_EQ(mirrored(), names_in(words));
  EXPECT_GT(pool.fresh_used(), 10u);
}

TEST_F(MirroredDictionary, HasTheBeginningOfANameThatNoChunkHolds) {
  make_pool(16);
  words.mirror_to(&pool);
  const std::string name(40'000, 'x');
  const std::uint32_t id = words.name_id(name);
  const std::uint32_t next = words.name_id("next");
  EXPECT_EQ(names_in(words)[id], name);
  EXPECT_GT(mirrored()[id].size(), 32'000u);
  EXPECT_EQ(mirrored()[id], name.substr(0, mirrored()[id].size()));
  EXPECT_EQ(mirrored()[next], "next");
}

TEST_F(MirroredDictionary, LeavesMostChunksToTheEvents) {
  make_pool(32);
  for (int i = 0; i < 1'000; ++i) words.name_id(std::to_string(i) + std::string(4'000, 'x'));
  words.mirror_to(&pool);
  for (int i = 0; i < 1'000; ++i) words.name_id(std::to_string(i) + std::string(4'000, 'y'));
  EXPECT_EQ(pool.fresh_used(), 8u);
  EXPECT_EQ(names_in(words).size(), 2'000u) << "none is lost to the files";
}

}  // namespace
}  // namespace sonde::detail
