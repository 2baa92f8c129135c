// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "wire/dictionary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "wire/testing/hand_made.h"

namespace sonde {
namespace {

using testing::Bytes;
using testing::dictionary_entry;
using ::testing::ElementsAre;
using testing::join_bytes;
using testing::name_entry;
using testing::site_entry;
using testing::thread_entry;

std::vector<std::string> names_in(std::span<const std::uint8_t> bytes) {
  std::vector<std::string> names;
  read_dictionary(bytes, [&](const DictionaryEntry& entry) { names.emplace_back(entry.name); });
  return names;
}

TEST(WireDictionary, GivesBackEveryKindOfEntry) {
  const Bytes bytes = join_bytes(
      {site_entry(1, "site", 42), name_entry(70'000, "name"), thread_entry(3, 4'711, "worker")});
  std::vector<DictionaryEntry> entries;
  EXPECT_EQ(read_dictionary(bytes, [&](const DictionaryEntry& e) { entries.push_back(e); }),
            bytes.size());
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0].kind, DictionaryKind::Site);
  EXPECT_EQ(entries[0].number, 42u);
  EXPECT_EQ(entries[0].function, "function");
  EXPECT_EQ(entries[0].file, "file.cpp");
  EXPECT_EQ(entries[1].kind, DictionaryKind::Name);
  EXPECT_EQ(entries[1].id, 70'000u);
  EXPECT_EQ(entries[1].name, "name");
  EXPECT_EQ(entries[2].kind, DictionaryKind::Thread);
  EXPECT_EQ(entries[2].number, 4'711u);
}

TEST(WireDictionary, PadsEntriesToWords) {
  for (std::size_t size = 0; size < 20; ++size) {
    EXPECT_EQ(name_entry(1, std::string(size, 'x')).size() % 8, 0u) << size;
  }
}

TEST(WireDictionary, CutsTextsThatAreTooLongAndSaysSo) {
  const std::string longest(detail::kMaxTextBytes, 'x');
  const DictionaryEntry whole = {.kind = DictionaryKind::Site,
                                 .id = ~std::uint64_t{0},
                                 .number = ~std::uint64_t{0},
                                 .name = longest,
                                 .function = longest,
                                 .file = longest};
  const std::string longer = longest + "tail";
  DictionaryEntry cut = whole;
  cut.function = longer;
  const Bytes bytes = join_bytes({dictionary_entry(whole), dictionary_entry(cut)});
  std::vector<bool> are_cut;
  EXPECT_EQ(read_dictionary(bytes,
                            [&](const DictionaryEntry& e) {
                              are_cut.push_back(e.is_cut);
                              EXPECT_EQ(e.name, longest);
                              EXPECT_EQ(e.function, longest);
                              EXPECT_EQ(e.file, longest);
                            }),
            bytes.size());
  EXPECT_THAT(are_cut, ElementsAre(false, true));
}

TEST(WireDictionary, CutsAnEntryToTheRoomThereIs) {
  const std::string name(5'000, 'n');
  const DictionaryEntry entry = {
      .kind = DictionaryKind::Site, .id = 1, .number = 7, .name = name, .file = "file.cpp"};
  for (std::size_t room = DictionaryEntryWriter::kLeastRoom; room < 6'000; room += 61) {
    Bytes bytes(room);
    const auto laid = lay_entry(bytes, entry);
    EXPECT_LE(laid.size(), room);
    read_dictionary(laid, [&](const DictionaryEntry& e) {
      EXPECT_EQ(e.number, 7u);
      EXPECT_EQ(e.is_cut, e.name.size() < name.size() || e.file != "file.cpp") << room;
    });
  }
}

TEST(WireDictionary, PassesOverKindsItDoesNotKnow) {
  Bytes unknown = name_entry(2, "of another kind");
  unknown[4] = 99;
  const Bytes bytes = join_bytes({name_entry(1, "a"), unknown, name_entry(3, "b")});
  EXPECT_THAT(names_in(bytes), ElementsAre("a", "b"));
}

TEST(WireDictionary, StopsWhereAnEntryMakesNoSense) {
  const Bytes good = name_entry(1, "a");
  for (const std::uint32_t size : {0u, 8u, 15u, 17u, 24u + 8u, ~0u, 0x80000000u}) {
    Bytes bad = name_entry(2, "bad");
    std::memcpy(bad.data(), &size, sizeof(size));
    const Bytes bytes = join_bytes({good, bad});
    EXPECT_THAT(names_in(bytes), ElementsAre("a")) << size;
    EXPECT_EQ(read_dictionary(bytes, [](const DictionaryEntry&) {}), good.size());
  }
}

TEST(WireDictionary, StopsWhereATextReachesPastItsEntry) {
  Bytes bad = name_entry(2, "bad");
  bad[16] = 100;
  EXPECT_THAT(names_in(join_bytes({name_entry(1, "a"), bad, name_entry(3, "b")})),
              ElementsAre("a"));
}

TEST(WireDictionary, KeepsTheEntriesBeforeACut) {
  const Bytes first = name_entry(1, "first");
  const Bytes bytes = join_bytes({first, name_entry(2, "second")});
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto understood =
        read_dictionary(std::span(bytes).first(size), [](const DictionaryEntry&) {});
    EXPECT_EQ(understood, size < first.size() ? 0 : first.size()) << size;
  }
}

TEST(WireDictionary, SurvivesAnyFlippedBit) {
  const Bytes bytes = join_bytes({site_entry(1, "site", 42), thread_entry(3, 4'711, "worker")});
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    Bytes damaged = bytes;
    damaged[bit / 8] = static_cast<std::uint8_t>(damaged[bit / 8] ^ (1u << (bit % 8)));
    EXPECT_LE(names_in(damaged).size(), 2u);
  }
}

}  // namespace
}  // namespace sonde
