// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "agent/secrets.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <string_view>
#include <utility>

namespace sonde {
namespace {

constexpr const char* kMasked = "***";
constexpr std::string_view kBlanks = " \t\r\n";

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter_or_digit(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_of_name(char c) {
  return is_letter_or_digit(c) || c == '_' || c == '-' || c == '.';
}
bool is_of_key(char c) {
  return is_letter_or_digit(c) || std::string_view("+/_-").find(c) != std::string_view::npos;
}

template <std::size_t N>
bool ends_in(std::string_view word, const std::array<std::string_view, N>& known) {
  return std::any_of(known.begin(), known.end(),
                     [word](std::string_view end) { return word.ends_with(end); });
}

template <std::size_t N>
bool is_one_of(std::string_view word, const std::array<std::string_view, N>& known) {
  return std::find(known.begin(), known.end(), word) != known.end();
}

// "--apiKey" as {"api", "key"}.
std::vector<std::string> parts_of(std::string_view name) {
  std::vector<std::string> parts(1);
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool begins_word = i > 0 && std::isupper(static_cast<unsigned char>(name[i])) != 0 &&
                             std::islower(static_cast<unsigned char>(name[i - 1])) != 0;
    if ((begins_word || !is_letter_or_digit(name[i])) && !parts.back().empty())
      parts.emplace_back();
    if (is_letter_or_digit(name[i]))
      parts.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(name[i])));
  }
  if (parts.back().empty()) parts.pop_back();
  return parts;
}

// Whether the value of this name is a secret: "--hf-token", but not "--tokenizer" or "--eos-token".
bool names_secret(std::string_view name) {
  constexpr std::array<std::string_view, 10> kSecret = {
      "password", "passwd", "passphrase",  "secret",        "secrets",
      "token",    "apikey", "credentials", "authorization", "credential"};
  // Words of their own only: "bypass" is none, and neither is "cookies", a file of them.
  constexpr std::array<std::string_view, 5> kSecretWords = {"pass", "pw", "passcode", "jwt",
                                                            "cookie"};
  constexpr std::array<std::string_view, 12> kBeforeKey = {
      "api",     "access",  "secret",  "private", "auth",  "encryption",
      "signing", "account", "license", "wandb",   "comet", "openai"};
  constexpr std::array<std::string_view, 8> kOfTokenizers = {"pad", "eos",  "bos",     "unk",
                                                             "sep", "mask", "special", "cls"};
  // As in "--forward-pass".
  constexpr std::array<std::string_view, 6> kOfPasses = {"forward", "backward", "first",
                                                         "second",  "num",      "single"};
  const std::vector<std::string> parts = parts_of(name);
  if (parts.empty()) return false;
  const std::string& last = parts.back();
  const std::string before = parts.size() > 1 ? parts[parts.size() - 2] : "";
  if (last == "token" && is_one_of(before, kOfTokenizers)) return false;
  if (is_one_of(last, kSecretWords)) return !is_one_of(before, kOfPasses);
  if (last == "sig" || (last == "signature" && parts.size() > 1)) return true;  // of an address
  if (last == "pwd") return parts.size() > 1 || name.front() == '-';  // not the shell's PWD
  return ends_in(last, kSecret) || (last == "key" && is_one_of(before, kBeforeKey));
}

// Keys with a well-known prefix.
bool has_known_form(std::string_view text) {
  struct Form {
    std::string_view begin;
    std::size_t least;  // characters after it
  };
  static constexpr std::array<Form, 39> kForms = {
      {{"AKIA", 12},      {"ASIA", 12},     {"AIza", 20},     {"ghp_", 16},       {"gho_", 16},
       {"ghu_", 16},      {"ghs_", 16},     {"ghr_", 16},     {"glpat-", 16},     {"hf_", 20},
       {"npm_", 20},      {"xoxa-", 16},    {"xoxb-", 16},    {"xoxe-", 16},      {"xoxp-", 16},
       {"xoxs-", 16},     {"xapp-", 16},    {"ya29.", 20},    {"SG.", 20},        {"sk-", 16},
       {"sk_live_", 16},  {"sk_test_", 16}, {"rk_live_", 16}, {"rk_test_", 16},   {"whsec_", 16},
       {"eyJ", 30},       {"r8_", 20},      {"gsk_", 20},     {"xai-", 20},       {"pplx-", 20},
       {"nvapi-", 20},    {"pypi-", 16},    {"tskey-", 16},   {"hvs.", 20},       {"shpat_", 16},
       {"dckr_pat_", 16}, {"dop_v1_", 20},  {"lin_api_", 16}, {"github_pat_", 16}}};
  return std::any_of(kForms.begin(), kForms.end(), [&](const Form& form) {
    if (!text.starts_with(form.begin)) return false;
    const std::string_view rest = text.substr(form.begin.size());
    const auto end = std::find_if_not(rest.begin(), rest.end(), is_of_name);
    const auto length = static_cast<std::size_t>(end - rest.begin());
    // Words such as "sk-learn-classifier" have neither.
    const bool is_random = std::any_of(
        rest.begin(), end, [](char c) { return is_digit(c) || (c >= 'A' && c <= 'Z'); });
    return length >= form.least && is_random;
  });
}

// Long text that changes between digits, small and capital letters as no word does. Not paths: they
// consist of names, which may contain checksums.
bool looks_random(std::string_view text) {
  constexpr std::size_t kLeast = 32;
  constexpr std::size_t kChangesPart = 4;
  while (text.ends_with('=')) text.remove_suffix(1);  // padding of base64
  if (text.size() < kLeast || text.front() == '/' || text.front() == '-') return false;
  if (!std::all_of(text.begin(), text.end(), is_of_key)) return false;
  const auto kind = [](char c) {
    return is_digit(c) ? 0 : c >= 'a' && c <= 'z' ? 1 : c >= 'A' && c <= 'Z' ? 2 : 3;
  };
  std::size_t changes = 0;
  for (std::size_t i = 1; i < text.size(); ++i) {
    const bool is_within = kind(text[i]) != 3 && kind(text[i - 1]) != 3;
    if (is_within && kind(text[i]) != kind(text[i - 1])) ++changes;
  }
  return changes >= text.size() / kChangesPart;
}

bool is_quote(char c) {
  return c == '"' || c == '\'';
}

// The end of the text in quotes that begins at `begin`; what is never closed ends at once.
std::size_t end_of_quotes(std::string_view text, std::size_t begin) {
  for (std::size_t i = begin + 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == text[begin]) {
      return i + 1;
    }
  }
  return begin + 1;
}

// "--password=a b" as one word: its value may hold blanks.
bool is_option_with_secret(std::string_view word) {
  const std::size_t equals = word.find('=');
  return word.starts_with('-') && equals != std::string_view::npos &&
         word.find_first_of(kBlanks) > equals && names_secret(word.substr(0, equals));
}

// Where a private key begins; the end of the text if there is none.
std::size_t private_key_in(std::string_view text) {
  if (text.find("PRIVATE KEY-----") == std::string_view::npos) return text.size();
  return std::min(text.find("-----BEGIN"), text.size());
}

bool is_secret(std::string_view text) {
  return has_known_form(text) || looks_random(text);
}

// https://user:password@host
std::string without_password(std::string_view word) {
  const std::size_t scheme = word.find("://");
  if (scheme == std::string_view::npos) return std::string(word);
  const std::size_t user = scheme + 3;
  const std::size_t end = std::min(word.find_first_of("/?#", user), word.size());
  const std::size_t at = word.substr(0, end).rfind('@');
  const std::size_t colon = word.find(':', user);
  if (at == std::string_view::npos || colon >= at) return std::string(word);
  return std::string(word.substr(0, colon + 1)) + kMasked + std::string(word.substr(at));
}

// Whether the option is followed by a name and a password, as in curl's "-u me:X".
bool names_account(std::string_view option) {
  constexpr std::array<std::string_view, 6> kAccounts = {"-u",     "--user",       "--userpwd",
                                                         "--auth", "--proxy-user", "--http-user"};
  return is_one_of(option, kAccounts);
}

// me:password. Docker's "1000:1000" has no password.
std::string without_password_of(std::string_view account) {
  const std::size_t colon = account.find(':');
  if (colon == std::string_view::npos) return std::string(account);
  const std::string_view password = account.substr(colon + 1);
  if (std::all_of(password.begin(), password.end(), is_digit)) return std::string(account);
  return std::string(account.substr(0, colon + 1)) + kMasked;
}

// Masks words one after the other, because a word may announce that the next is a secret.
class Masker {
 public:
  // A word may be a whole script, as after `sh -c`.
  std::string word(std::string_view text) {
    if (next_is_secret_ && !text.starts_with('-') && !announces(text)) {
      next_is_secret_ = false;
      return kMasked;
    }
    if (const std::size_t key = private_key_in(text); key < text.size())
      return word(text.substr(0, key)) + kMasked;
    if (is_option_with_secret(text)) {
      next_is_secret_ = false;
      return std::string(text.substr(0, text.find('=') + 1)) + kMasked;
    }
    std::string out;
    while (!text.empty()) {
      const std::size_t begin = std::min(text.find_first_not_of(kBlanks), text.size());
      out += text.substr(0, begin);
      text.remove_prefix(begin);
      const std::size_t end = end_of_piece(text);
      if (end > 0) out += piece(text.substr(0, end));
      text.remove_prefix(end);
    }
    return out;
  }

 private:
  // At the first blank, but for blanks of a secret in quotes.
  std::size_t end_of_piece(std::string_view text) const {
    std::size_t i = 0;
    if (next_is_secret_ && !text.empty() && is_quote(text[0])) i = end_of_quotes(text, 0);
    for (std::size_t name = i; i < text.size(); ++i) {
      if (kBlanks.find(text[i]) != std::string_view::npos) return i;
      const bool is_pair = text[i] == '=' || text[i] == ':';
      if (is_pair && i + 1 < text.size() && is_quote(text[i + 1]) &&
          names_secret(text.substr(name, i - name)))
        i = end_of_quotes(text, i + 1) - 1;
      if (!is_of_name(text[i]) && !is_quote(text[i])) name = i + 1;
    }
    return text.size();
  }

  std::string piece(std::string_view text) {
    const bool is_option = text.front() == '-' && text.size() > 1;
    if (std::exchange(next_is_account_, is_option && names_account(text)) && !is_option)
      return without_password_of(text);
    if (next_is_secret_ && !is_option) {
      next_is_secret_ = announces(text);
      return next_is_secret_ ? std::string(text) : kMasked;
    }
    next_is_secret_ = announces(text) || (is_option && names_secret(text));
    return next_is_secret_ ? std::string(text) : values(without_password(text));
  }

  // Whether a secret follows, as in a header: "Authorization: Bearer X".
  static bool announces(std::string_view text) {
    constexpr std::array<std::string_view, 4> kSchemes = {"Bearer", "bearer", "Basic", "basic"};
    return is_one_of(text, kSchemes) || (text.ends_with(':') && names_secret(text));
  }

  // Masks the values in "api_key=X", "--token=X", "?user=a&token=X" and {"password":"X"}.
  static std::string values(std::string_view text) {
    if (is_secret(text)) return kMasked;
    std::string out;
    std::size_t name = 0;  // start of the current name
    for (std::size_t i = 0; i < text.size(); ++i) {
      out += text[i];
      if (is_of_name(text[i]) || is_quote(text[i])) continue;
      const bool is_pair = text[i] == '=' || text[i] == ':';
      const std::size_t end = is_pair ? end_of_value(text, i + 1, name == 0) : i;
      const std::string_view value = text.substr(std::min(i + 1, end), end - std::min(i + 1, end));
      if (is_pair && !value.empty() &&
          (names_secret(text.substr(name, i - name)) || is_secret(value))) {
        out += kMasked;
        i = end - 1;
      }
      name = i + 1;
    }
    return out;
  }

  // The end of the word, or where the next value begins, as in a query.
  static std::size_t end_of_value(std::string_view text, std::size_t begin, bool is_whole) {
    if (is_whole) return text.size();
    return std::min(text.find_first_of("&;,}", begin), text.size());
  }

  bool next_is_secret_ = false;
  bool next_is_account_ = false;
};

}  // namespace

std::vector<std::string> without_secrets(const std::vector<std::string>& words) {
  std::vector<std::string> shown;
  shown.reserve(words.size());
  Masker masker;
  for (const std::string& word : words) shown.push_back(masker.word(word));
  return shown;
}

}  // namespace sonde
