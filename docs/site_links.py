# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""For mkdocs: what documents name in backticks as `docs/run.md` is a link on the site, decisions are in the menu, and
search needs no web server."""

import posixpath
import re
from pathlib import Path

NAMED = re.compile(r"(?<![`\[])`docs/([\w/.-]+\.md)`(?!`)")


def on_page_markdown(markdown, page, config, files):
    here = posixpath.dirname(page.file.src_uri)

    def link(found):
        if files.get_file_from_path(found.group(1)) is None:
            return found.group(0)
        return f"[{found.group(0)}]({posixpath.relpath(found.group(1), here or '.')})"

    parts = re.split(r"(^```.*?^```$)", markdown, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if part.startswith("```") else NAMED.sub(link, part) for part in parts)


def on_config(config):
    """The decisions, in order, without listing each."""
    decisions = sorted(Path(config["docs_dir"], "decisions").glob("*.md"))
    config["nav"][-1]["Explanation"].append({"Decisions": [f"decisions/{path.name}" for path in decisions]})
    return config


def on_post_build(config):
    folder = Path(config["site_dir"], "search")
    index = (folder / "search_index.json").read_text(encoding="utf-8")
    (folder / "site_index.js").write_text(f"var site_index = {index};\n", encoding="utf-8")
    (folder / "main.js").write_text(Path(__file__).with_name("site_search.js").read_text(encoding="utf-8"), encoding="utf-8")
    for unused in ("worker.js", "search_index.json"):
        (folder / unused).unlink()
