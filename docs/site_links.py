# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""For mkdocs: what documents name in backticks as `docs/run.md` is a link on the site, and so is the C++ interface;
decisions have a list, and search needs no web server."""

import posixpath
import re
from pathlib import Path

NAMED = re.compile(r"(?<![`\[])`docs/([\w/.-]+\.md)`(?!`)")
DECISIONS = "`docs/decisions/`"
HEADERS = "`include/sonde/README.md`"


def on_page_markdown(markdown, page, config, files):
    here = posixpath.dirname(page.file.src_uri)

    def link(found):
        if files.get_file_from_path(found.group(1)) is None:
            return found.group(0)
        return f"[{found.group(0)}]({posixpath.relpath(found.group(1), here or '.')})"

    # Doxygen writes these pages after mkdocs has looked for dead links.
    interface = f'<a href="{posixpath.relpath("api/index.html", here or ".")}"><code>{HEADERS.strip("`")}</code></a>'
    markdown = markdown.replace(HEADERS, interface)
    markdown = markdown.replace(DECISIONS, f"[{DECISIONS}]({posixpath.relpath('decisions/index.md', here or '.')})")
    parts = re.split(r"(^```.*?^```$)", markdown, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if part.startswith("```") else NAMED.sub(link, part) for part in parts)


def on_config(config):
    """A page that lists the decisions. In the menu they would be a part without a page, to which the theme scrolls."""
    folder = Path(config["docs_dir"], "decisions")
    listed = [f"- [{path.read_text(encoding='utf-8').splitlines()[0].removeprefix('# ')}]({path.name})\n" for path in sorted(folder.glob("0*.md"))]
    (folder / "index.md").write_text("# Decisions\n\nWhy Sonde was built this way:\n\n" + "".join(listed), encoding="utf-8")
    config["nav"][-1]["Explanation"].append({"Decisions": "decisions/index.md"})
    return config


SCRIPT = re.compile(r'<script[^>]*\bsrc="([^"?#]+)"[^>]*></script>')
POINTER = re.compile(r'(?:href|src)="(?!\w+:|//)([^"?#]+)')


def mend_page(page, site):
    """Debian's theme names scripts that it does not have. What is still missing then is an error."""
    text = SCRIPT.sub(lambda tag: tag.group(0) if (page.parent / tag.group(1)).exists() else "", page.read_text(encoding="utf-8"))
    page.write_text(text, encoding="utf-8")
    for name in set(POINTER.findall(text)):
        target = (page.parent / name).resolve()
        if not target.exists() and site / "api" not in target.parents:
            raise SystemExit(f"{page.relative_to(site)}: a dead link: {name}")


def on_post_build(config):
    site = Path(config["site_dir"]).resolve()
    (site / "js" / "jquery-3.6.0.min.js").write_bytes((site / "js" / "jquery-2.1.1.min.js").read_bytes())
    for page in site.rglob("*.html"):
        if page.name == "404.html":  # for web servers, with names from their root
            page.unlink()
        else:
            mend_page(page, site)
    folder = Path(config["site_dir"], "search")
    index = (folder / "search_index.json").read_text(encoding="utf-8")
    (folder / "site_index.js").write_text(f"var site_index = {index};\n", encoding="utf-8")
    (folder / "main.js").write_text(Path(__file__).with_name("site_search.js").read_text(encoding="utf-8"), encoding="utf-8")
    for unused in ("worker.js", "search_index.json"):
        (folder / unused).unlink()
