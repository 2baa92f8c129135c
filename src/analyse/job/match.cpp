// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Finds which calls of different ranks are one collective. The calls of a group form a stream on
// each rank, in order of launch; sends and receives form one stream for each pair of ranks. Two
// streams are aligned by the numbers that PyTorch writes, by steps, or by the order of calls.

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "analyse/job/job_data.h"
#include "base/format.h"

namespace sonde::detail {
namespace {

constexpr std::int64_t kMostShift = 64;
constexpr std::size_t kCompared = 512;  // calls, where many shifts are tried
constexpr std::int64_t kFewForSwaps = 12;
constexpr Nanos kSameClockNs = 20'000;  // by which the clocks of a host's processes may differ
constexpr std::size_t kUnlikely = 3;    // shared calls that are needed to prefer a shift by times
constexpr double kSameEndNs = 100'000;  // ends of a collective vary by that much anyway

struct Stream {
  std::uint32_t rank = 0;
  std::vector<std::uint32_t> records;
  std::vector<std::uint32_t> kinds;     // places in JobData::kinds
  std::vector<std::int64_t> positions;  // as found
};

using StreamKey =
    std::tuple<std::uint32_t, std::int32_t, std::int32_t>;  // group, source, destination

bool is_p2p(CollectiveClass of) {
  return of == CollectiveClass::Send || of == CollectiveClass::Receive;
}

// Collectives whose sizes may differ from rank to rank.
bool has_sizes_of_its_own(std::string_view name) {
  for (const std::string_view uneven : {"all_to_all", "gather", "scatter", "send", "recv"})
    if (name == uneven) return true;
  return false;
}

class Matcher {
 public:
  explicit Matcher(JobData& data) : data_(data) {}

  void run() {
    share_groups();
    share_kinds();
    make_streams();
    for (auto& [key, streams] : streams_) match_streams(key, streams);
    note_groups();
    index_matches();
  }

 private:
  void share_groups() {
    groups_.resize(data_.ranks.size());
    for (std::size_t r = 0; r < data_.ranks.size(); ++r)
      groups_[r].resize(data_.ranks[r].groups.size());
    for (const bool has_ranks : {true, false})
      for (std::size_t r = 0; r < data_.ranks.size(); ++r)
        for (std::size_t g = 0; g < groups_[r].size(); ++g)
          if (data_.ranks[r].groups[g].ranks.empty() != has_ranks) share_group(r, g);
  }

  void share_group(std::size_t r, std::size_t g) {
    const RankGroup& group = data_.ranks[r].groups[g];
    const std::int32_t size = group.ranks.empty() ? group.size : -1;
    std::uint32_t place = 0;
    if (const auto listed = listed_by_others(group, data_.ranks[r].rank)) {
      place = *listed;
    } else {
      const auto [found, is_new] = known_.try_emplace({group.name, group.ranks, size},
                                                      static_cast<std::uint32_t>(shared().size()));
      if (is_new) add_group(group);
      place = found->second;
    }
    shared()[place].is_assumed |= group.is_assumed;
    groups_[r][g] = place;
  }

  // If a rank does not list the members of a group, it means the group that others list.
  std::optional<std::uint32_t> listed_by_others(const RankGroup& group, std::int32_t rank) const {
    if (!group.ranks.empty() || group.name.empty()) return std::nullopt;
    for (auto one = known_.lower_bound({group.name, {}, INT32_MIN});
         one != known_.end() && std::get<0>(one->first) == group.name; ++one) {
      const std::vector<std::int32_t>& ranks = std::get<1>(one->first);
      if (std::binary_search(ranks.begin(), ranks.end(), rank)) return one->second;
    }
    return std::nullopt;
  }

  void add_group(const RankGroup& group) {
    JobGroup& added = shared().emplace_back();
    added.name = group.name;
    added.description = group.description;
    added.ranks = group.ranks;
    const auto files = static_cast<std::int32_t>(data_.ranks.size());
    const std::int32_t world = data_.report.world_size > 0 ? data_.report.world_size : files;
    if (group.ranks.empty() && group.size >= 0 && group.size < world)
      added.problem = format_text("it is not recorded which {} of the {} ranks belong to it",
                                  group.size, world);
  }

  std::vector<JobGroup>& shared() { return data_.report.groups; }

  void share_kinds() {
    using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::int32_t, std::int32_t,
                           std::int64_t, std::int64_t>;
    std::map<Key, std::uint32_t> known;
    std::unordered_map<std::string, std::uint32_t> texts;
    const auto text = [&](std::string_view name) {
      const auto [found, is_new] = texts.try_emplace(std::string(name), 0);
      if (is_new) found->second = data_.text(name);
      return found->second;
    };
    kinds_.resize(data_.ranks.size());
    for (std::size_t r = 0; r < data_.ranks.size(); ++r) {
      const RankSummary& rank = data_.ranks[r];
      for (const CollectiveKind& kind : rank.kinds) {
        const std::string_view name = rank.text(kind.name);
        const bool uneven = has_sizes_of_its_own(name);
        SharedKind shared{
            .name = text(is_p2p(kind.of) ? "send_recv" : name),
            .dtype = text(rank.text(kind.dtype)),
            .of = kind.of == CollectiveClass::Receive ? CollectiveClass::Send : kind.of,
            .source = kind.source,
            .destination = kind.destination,
            .in_elements = uneven ? -1 : kind.in_elements,
            .out_elements = uneven ? -1 : kind.out_elements};
        const Key key(shared.name, shared.dtype, groups_[r][kind.group], shared.source,
                      shared.destination, shared.in_elements, shared.out_elements);
        const auto [found, is_new] =
            known.try_emplace(key, static_cast<std::uint32_t>(data_.kinds.size()));
        if (uneven && is_new) shared.in_elements = shared.out_elements = -1;
        if (is_new) data_.kinds.push_back(shared);
        kinds_[r].push_back(found->second);
      }
    }
  }

  void make_streams() {
    for (std::uint32_t r = 0; r < data_.ranks.size(); ++r) {
      const RankSummary& rank = data_.ranks[r];
      std::vector<Stream*> of_kind;
      of_kind.reserve(rank.kinds.size());
      for (std::size_t k = 0; k < rank.kinds.size(); ++k) of_kind.push_back(stream_of(r, k));
      for (std::uint32_t i = 0; i < rank.collectives.size(); ++i) {
        const std::uint32_t kind = rank.collectives[i].kind;
        if (of_kind[kind] == nullptr) {
          ++data_.report.pairs_unknown;
          continue;
        }
        of_kind[kind]->records.push_back(i);
        of_kind[kind]->kinds.push_back(kinds_[r][kind]);
      }
    }
  }

  Stream* stream_of(std::uint32_t r, std::size_t k) {
    const CollectiveKind& kind = data_.ranks[r].kinds[k];
    StreamKey key(groups_[r][kind.group], -1, -1);
    if (is_p2p(kind.of)) {
      if (kind.source < 0 || kind.destination < 0) return nullptr;
      key = {groups_[r][kind.group], kind.source, kind.destination};
    }
    std::vector<Stream>& streams = streams_[key];
    if (streams.empty()) streams.reserve(data_.ranks.size());  // pointers into it stay
    if (streams.empty() || streams.back().rank != r) streams.emplace_back().rank = r;
    return &streams.back();
  }

  void match_streams(const StreamKey& key, std::vector<Stream>& streams) {
    JobGroup& group = shared()[std::get<0>(key)];
    const bool is_pair = std::get<1>(key) >= 0;
    if (group.ranks.size() == 1) return;
    for (const Stream& stream : streams) group.calls += stream.records.size();
    if (group.ranks.empty() && !group.problem.empty()) return;
    if (!place_by_numbers(streams, group)) place_by_order(streams, group);
    make_matches(std::get<0>(key), is_pair, streams);
  }

  const RankCollective& record(const Stream& stream, std::size_t i) const {
    return data_.ranks[stream.rank].collectives[stream.records[i]];
  }

  bool all_have(const std::vector<Stream>& streams, std::uint32_t flag) const {
    for (const Stream& stream : streams)
      for (std::size_t i = 0; i < stream.records.size(); ++i)
        if ((record(stream, i).flags & flag) == 0) return false;
    return true;
  }

  bool place_by_numbers(std::vector<Stream>& streams, JobGroup& group) {
    if (all_have(streams, RankCollective::kHasId)) return place_by_ids(streams, group);
    if (!all_have(streams, RankCollective::kHasSequence)) return false;
    for (Stream& stream : streams) {
      stream.positions.clear();
      for (std::size_t i = 0; i < stream.records.size(); ++i)
        stream.positions.push_back(static_cast<std::int64_t>(record(stream, i).key));
      // Coalesced calls share a number; then the order decides.
      if (std::adjacent_find(stream.positions.begin(), stream.positions.end(),
                             std::greater_equal<>()) != stream.positions.end())
        return false;
    }
    group.matched_by = "sequence number";
    return true;
  }

  bool place_by_ids(std::vector<Stream>& streams, JobGroup& group) {
    std::unordered_map<std::uint64_t, std::int64_t> known;
    for (Stream& stream : streams) {
      stream.positions.clear();
      for (std::size_t i = 0; i < stream.records.size(); ++i)
        stream.positions.push_back(
            known.try_emplace(record(stream, i).key, static_cast<std::int64_t>(known.size()))
                .first->second);
      std::vector<std::int64_t> sorted = stream.positions;
      std::sort(sorted.begin(), sorted.end());
      if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) return false;
    }
    group.matched_by = "comms id";
    return true;
  }

  void place_by_order(std::vector<Stream>& streams, JobGroup& group) {
    const auto longest =
        std::max_element(streams.begin(), streams.end(), [this](const Stream& a, const Stream& b) {
          return std::pair(!data_.ranks[a.rank].is_truncated, a.records.size()) <
                 std::pair(!data_.ranks[b.rank].is_truncated, b.records.size());
        });
    // A copy, because the loop clears the positions of all streams.
    // NOLINTNEXTLINE(performance-unnecessary-copy-initialization)
    const Stream reference = *longest;
    bool by_steps = false;
    for (Stream& stream : streams) {
      stream.positions.clear();
      std::optional<std::int64_t> shift = 0;
      if (stream.rank != reference.rank) shift = shift_of(reference, stream, by_steps);
      if (shift && lacks_calls(reference, stream)) {
        leave_out(group, stream);
        continue;
      }
      if (!shift) {
        if (data_.ranks[stream.rank].is_truncated) {
          leave_out(group, stream);
          continue;
        }
        refuse(group, stream, reference);
        continue;
      }
      for (std::size_t i = 0; i < stream.records.size(); ++i)
        stream.positions.push_back(static_cast<std::int64_t>(i) + *shift);
    }
    group.matched_by = by_steps ? "steps" : "order";
  }

  // Calls may be missing in the middle of a file that was cut, because its events are in no order.
  // Then steps before the last one have fewer calls than those of others.
  bool lacks_calls(const Stream& reference, const Stream& stream) const {
    if (!data_.ranks[stream.rank].is_truncated || stream.rank == reference.rank) return false;
    const auto calls_of = [this](const Stream& of) {
      std::map<std::int64_t, std::size_t> calls;
      for (std::size_t i = 0; i < of.records.size(); ++i)
        if (const std::uint32_t step = record(of, i).step; step != RankCollective::kNoStep)
          ++calls[data_.ranks[of.rank].steps[step].number];
      return calls;
    };
    const auto wanted = calls_of(reference);
    const auto found = calls_of(stream);
    for (const auto& [number, calls] : found) {
      const auto same = wanted.find(number);
      const bool is_last = number == found.rbegin()->first;
      if (same != wanted.end() && (is_last ? calls > same->second : calls != same->second))
        return true;
    }
    return stream.records.size() != reference.records.size() && wanted.empty();
  }

  void leave_out(const JobGroup& group, const Stream& stream) {
    data_.report.notes.push_back(
        format_text("Rank {} is left out of group {}: its file is cut, and it is unknown which of "
                    "its calls are "
                    "missing.",
                    data_.ranks[stream.rank].rank, group.name));
  }

  void refuse(JobGroup& group, const Stream& stream, const Stream& reference) const {
    if (!group.problem.empty()) return;
    if (is_ambiguous_) {
      group.problem = format_text(
          "it is unknown which calls of rank {} are those of rank {}: their numbers, or steps "
          "with the same number of calls, are not recorded",
          data_.ranks[stream.rank].rank, data_.ranks[reference.rank].rank);
      return;
    }
    group.problem = format_text("the calls of rank {} do not follow the order of those of rank {}",
                                data_.ranks[stream.rank].rank, data_.ranks[reference.rank].rank);
  }

  // What to add to a position in `stream` to get the position of the same call in `reference`.
  std::optional<std::int64_t> shift_of(const Stream& reference, const Stream& stream,
                                       bool& by_steps) {
    if (const auto shift = shift_by_steps(reference, stream)) {
      if (agreement(reference, stream, *shift, SIZE_MAX) > 0) {
        by_steps = true;
        return shift;
      }
    }
    is_ambiguous_ = false;
    std::vector<std::int64_t> fitting;
    double best = 0;
    const auto longer = static_cast<std::int64_t>(reference.records.size() - stream.records.size());
    for (std::int64_t shift = -kMostShift; shift <= longer + kMostShift; ++shift) {
      const double fit = agreement(reference, stream, shift, kCompared);
      if (fit <= 0 || fit < best) continue;
      if (fit > best) fitting.clear();
      best = fit;
      fitting.push_back(shift);
    }
    if (fitting.size() == 1) return fitting.front();
    if (fitting.empty()) return std::nullopt;
    is_ambiguous_ = true;
    return shift_by_times(reference, stream, fitting);
  }

  // The shift that fits most common steps.
  std::optional<std::int64_t> shift_by_steps(const Stream& reference, const Stream& stream) const {
    const auto first_of = [this](const Stream& of) {
      std::map<std::int64_t, std::int64_t> first;
      for (std::size_t i = 0; i < of.records.size(); ++i) {
        const std::uint32_t step = record(of, i).step;
        if (step == RankCollective::kNoStep) continue;
        const std::int64_t number = data_.ranks[of.rank].steps[step].number;
        if (number >= 0) first.try_emplace(number, static_cast<std::int64_t>(i));
      }
      return first;
    };
    const auto of_reference = first_of(reference);
    std::map<std::int64_t, std::size_t> votes;
    for (const auto& [number, place] : first_of(stream))
      if (const auto found = of_reference.find(number); found != of_reference.end())
        ++votes[found->second - place];
    if (votes.empty()) return std::nullopt;
    return std::max_element(votes.begin(), votes.end(),
                            [](const auto& a, const auto& b) { return a.second < b.second; })
        ->first;
  }

  // The share of equal calls where both streams have one; 0 if more than 2 % differ. Threads that
  // take up two calls at once may swap them, which counts as two differences.
  static double agreement(const Stream& reference, const Stream& stream, std::int64_t shift,
                          std::size_t most) {
    const auto size = static_cast<std::int64_t>(stream.kinds.size());
    const auto wide = static_cast<std::int64_t>(reference.kinds.size());
    const std::int64_t begin = std::max<std::int64_t>(0, -shift);
    const std::int64_t end = std::min(size, wide - shift);
    // A stream that hardly overlaps would fit anywhere.
    if (end - begin < std::max<std::int64_t>(1, std::min(size, wide) / 2)) return 0;
    const std::int64_t stop =
        std::min(end, begin + static_cast<std::int64_t>(std::min<std::size_t>(most, 1U << 30)));
    std::int64_t different = 0;
    const std::int64_t allowed =
        std::max<std::int64_t>((stop - begin) / 50, stop - begin >= kFewForSwaps ? 2 : 0);
    for (std::int64_t i = begin; i < stop && different <= allowed; ++i)
      different += stream.kinds[static_cast<std::size_t>(i)] ==
                           reference.kinds[static_cast<std::size_t>(i + shift)]
                       ? 0
                       : 1;
    if (different > allowed) return 0;
    return 1.0 - static_cast<double>(different) / static_cast<double>(stop - begin);
  }

  // By how much the second rank's clock may be behind the first's, so that neither ends a call
  // before the other begins it.
  struct ClockDifference {
    Nanos low_ns = INT64_MIN;
    Nanos high_ns = INT64_MAX;
    bool is_possible() const { return low_ns <= high_ns; }
    bool may_be_none() const { return low_ns <= kSameClockNs && high_ns >= -kSameClockNs; }
  };

  ClockDifference clock_difference(const Stream& reference, const Stream& stream,
                                   std::int64_t shift) const {
    ClockDifference difference;
    for (std::size_t i = 0; i < stream.records.size(); ++i) {
      const std::int64_t at = static_cast<std::int64_t>(i) + shift;
      if (at < 0 || at >= static_cast<std::int64_t>(reference.records.size())) continue;
      const RankCollective& a = record(reference, static_cast<std::size_t>(at));
      const RankCollective& b = record(stream, i);
      if (data_.kinds[stream.kinds[i]].of != CollectiveClass::All ||
          ((a.flags | b.flags) & RankCollective::kUnfinished) != 0)
        continue;
      difference.low_ns = std::max(difference.low_ns, a.start_ns - b.end_ns);
      difference.high_ns = std::min(difference.high_ns, a.end_ns - b.start_ns);
    }
    return difference;
  }

  bool are_on_one_host(const Stream& a, const Stream& b) const {
    const std::string& host = data_.ranks[a.rank].host;
    return !host.empty() && host == data_.ranks[b.rank].host;
  }

  // Those of the shifts that the times of the calls allow: on the clock of a host if both ranks
  // are on one, unless none is possible then.
  std::vector<std::int64_t> possible_shifts(const Stream& reference, const Stream& stream,
                                            const std::vector<std::int64_t>& fitting) const {
    const bool is_one_host = are_on_one_host(reference, stream);
    std::vector<std::int64_t> possible;
    std::vector<std::int64_t> on_one_clock;
    for (const std::int64_t shift : fitting) {
      const ClockDifference difference = clock_difference(reference, stream, shift);
      if (!difference.is_possible()) continue;
      possible.push_back(shift);
      if (is_one_host && difference.may_be_none()) on_one_clock.push_back(shift);
    }
    return on_one_clock.empty() ? possible : on_one_clock;
  }

  // The ends of all collectives differ by the same amount, the difference of the clocks.
  std::optional<std::int64_t> shift_by_times(const Stream& reference, const Stream& stream,
                                             std::vector<std::int64_t> fitting) const {
    std::vector<std::int64_t> possible = possible_shifts(reference, stream, fitting);
    if (possible.size() == 1) return possible.front();
    if (!possible.empty()) fitting = std::move(possible);
    std::vector<std::pair<double, std::int64_t>> spreads;
    for (const std::int64_t shift : fitting) {
      std::vector<double> differences;
      for (std::size_t i = 0; i < stream.records.size() && differences.size() < kCompared; ++i) {
        const std::int64_t at = static_cast<std::int64_t>(i) + shift;
        if (at < 0 || at >= static_cast<std::int64_t>(reference.records.size())) continue;
        differences.push_back(static_cast<double>(
            record(stream, i).end_ns - record(reference, static_cast<std::size_t>(at)).end_ns));
      }
      if (differences.size() < kUnlikely) continue;
      const double centre = median(differences);
      for (double& one : differences) one = std::abs(one - centre);
      spreads.emplace_back(median(differences), shift);
    }
    std::sort(spreads.begin(), spreads.end());
    if (spreads.empty())
      return stream.records.size() == reference.records.size() ? std::optional<std::int64_t>(0)
                                                               : std::nullopt;
    const auto as_they_are = std::find_if(spreads.begin(), spreads.end(),
                                          [](const auto& one) { return one.second == 0; });
    // If both sides have as many calls, they are most likely the same calls.
    if (stream.records.size() == reference.records.size() && as_they_are != spreads.end() &&
        as_they_are->first <= std::max(spreads[0].first * 5, kSameEndNs))
      return 0;
    // Where all steps last as long, any shift by whole steps fits, and the best one only by chance.
    if (spreads.size() == 1 || std::max(spreads[0].first * 2, kSameEndNs) < spreads[1].first)
      return spreads[0].second;
    return std::nullopt;
  }

  void make_matches(std::uint32_t group, bool is_pair, const std::vector<Stream>& streams) {
    std::vector<std::int64_t> places;
    for (const Stream& stream : streams)
      places.insert(places.end(), stream.positions.begin(), stream.positions.end());
    std::sort(places.begin(), places.end());
    places.erase(std::unique(places.begin(), places.end()), places.end());
    std::vector<std::size_t> next(streams.size(), 0);
    std::vector<std::vector<std::uint32_t>> order(streams.size());
    for (std::size_t s = 0; s < streams.size(); ++s) order[s] = by_position(streams[s]);
    for (const std::int64_t place : places) {
      Match match{.group = group, .first = static_cast<std::uint32_t>(data_.members.size())};
      States states;
      for (std::size_t s = 0; s < streams.size(); ++s) {
        if (next[s] == order[s].size()) continue;
        const std::uint32_t i = order[s][next[s]];
        if (streams[s].positions[i] != place) continue;
        ++next[s];
        add_member(streams[s], i, match, states);
      }
      match.state = state_of(group, is_pair, match, states);
      ++shared()[group].states[static_cast<std::size_t>(match.state)];
      data_.matches.push_back(match);
    }
  }

  static std::vector<std::uint32_t> by_position(const Stream& stream) {
    std::vector<std::uint32_t> order(stream.positions.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return stream.positions[a] < stream.positions[b];
    });
    return order;
  }

  struct States {
    std::uint32_t calls = 0;
    std::uint32_t unfinished = 0;
    bool names_differ = false;
    bool dtypes_differ = false;
    bool sizes_differ = false;
  };

  void add_member(const Stream& stream, std::uint32_t i, Match& match, States& states) {
    const std::uint32_t kind = stream.kinds[i];
    if (states.calls++ == 0) {
      match.kind = kind;
    } else if (kind != match.kind) {
      const SharedKind& a = data_.kinds[match.kind];
      const SharedKind& b = data_.kinds[kind];
      states.names_differ |= a.name != b.name;
      states.dtypes_differ |= a.dtype != b.dtype;
      states.sizes_differ |= a.in_elements != b.in_elements || a.out_elements != b.out_elements;
    }
    if ((record(stream, i).flags & RankCollective::kUnfinished) != 0) {
      ++states.unfinished;
      return;
    }
    data_.members.push_back({stream.rank, stream.records[i]});
    ++match.count;
  }

  MatchState state_of(std::uint32_t group, bool is_pair, const Match& match, const States& states) {
    if (states.names_differ) return MatchState::CollectiveTypeMismatch;
    if (states.dtypes_differ) return MatchState::CollectiveDtypeMismatch;
    if (states.sizes_differ) return MatchState::SizeOrSyntaxMismatch;
    if (states.unfinished > 0 && match.count > 0) return MatchState::CollectiveStateMismatch;
    const std::size_t members = is_pair                         ? 2
                                : shared()[group].ranks.empty() ? data_.ranks.size()
                                                                : shared()[group].ranks.size();
    return match.count == members ? MatchState::FullyMatched : MatchState::Undecided;
  }

  void note_groups() {
    for (JobGroup& group : shared()) {
      std::vector<std::string> hosts;
      for (const RankSummary& rank : data_.ranks) {
        if (!group.ranks.empty() &&
            !std::binary_search(group.ranks.begin(), group.ranks.end(), rank.rank))
          continue;
        hosts.push_back(rank.host);
      }
      for (const std::int32_t rank : group.ranks) {
        const auto found = std::lower_bound(
            data_.ranks.begin(), data_.ranks.end(), rank,
            [](const RankSummary& one, std::int32_t wanted) { return one.rank < wanted; });
        if (found == data_.ranks.end() || found->rank != rank) group.missing.push_back(rank);
      }
      for (const std::string& host : hosts)
        group.spans_hosts |= !host.empty() && !hosts.front().empty() && host != hosts.front();
    }
  }

  void index_matches() {
    data_.match_of.resize(data_.ranks.size());
    for (std::size_t r = 0; r < data_.ranks.size(); ++r)
      data_.match_of[r].assign(data_.ranks[r].collectives.size(), kNoMatch);
    for (std::uint32_t m = 0; m < data_.matches.size(); ++m)
      for (const Member& member : data_.of(data_.matches[m]))
        data_.match_of[member.rank][member.record] = m;
  }

  JobData& data_;
  // By name, ranks and size: places in JobReport::groups.
  std::map<std::tuple<std::string, std::vector<std::int32_t>, std::int32_t>, std::uint32_t> known_;
  std::vector<std::vector<std::uint32_t>> groups_;  // of each rank: places in JobReport::groups
  std::vector<std::vector<std::uint32_t>> kinds_;   // of each rank: places in JobData::kinds
  std::map<StreamKey, std::vector<Stream>> streams_;
  bool is_ambiguous_ = false;  // the last shift that was looked for: several fit
};

}  // namespace

void match(JobData& data) {
  Matcher(data).run();
}

}  // namespace sonde::detail
