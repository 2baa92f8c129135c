// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Search of the site. mkdocs' own needs a web server; this one also works for files on a disk.

function load(script, then) {
  const element = document.createElement("script");
  element.src = base_url + "/search/" + script;
  element.onload = then;
  document.head.appendChild(element);
}

function indexed() {
  return lunr(function () {
    this.ref("location");
    this.field("title", { boost: 10 });
    this.field("text");
    for (const page of site_index.docs) this.add(page);
  });
}

function show(hits, into) {
  const pages = new Map(site_index.docs.map((page) => [page.location, page]));
  into.replaceChildren();
  if (hits.length === 0) into.textContent = "Nothing was found.";
  for (const hit of hits.slice(0, 50)) {
    const page = pages.get(hit.ref), title = document.createElement("h3"), link = document.createElement("a");
    const text = document.createElement("p");
    link.href = base_url + "/" + page.location;
    link.textContent = page.title;
    text.textContent = page.text.slice(0, 300);
    title.appendChild(link);
    into.append(title, text);
  }
}

// A part of a word finds it too; signs are no commands.
function question(text) {
  const words = text.toLowerCase().split(/[^\p{L}\p{N}_]+/u).filter((word) => word !== "");
  return words.map((word) => `+${word}*`).join(" ");
}

const results = document.getElementById("mkdocs-search-results");
if (results) {
  load("lunr.js", () => load("site_index.js", () => {
    const index = indexed(), input = document.getElementById("mkdocs-search-query");
    const search = () => show(input.value.length > 1 ? index.search(question(input.value)) : [], results);
    input.value = new URLSearchParams(location.search).get("q") ?? "";
    input.addEventListener("input", search);
    search();
  }));
}
