"""Checks the pages of a built book: links, anchors, and that nothing is loaded from elsewhere."""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Elements and attributes whose addresses a browser loads with the page.
LOADS = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "src")}


class Page(HTMLParser):
    """The anchors, links and loads of a page."""

    def __init__(self):
        super().__init__()
        self.anchors, self.links, self.loads = set(), [], []

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name == "id":
                self.anchors.add(value)
            elif (tag, name) in LOADS:
                self.loads.append(value)
            elif tag == "a" and name == "href":
                self.links.append(value)


def read(path):
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def main(folder):
    root = Path(folder).resolve()
    # Not checked: the page for printing, which has all others, the page for addresses that do not
    # exist, and the playground, whose fragments are no anchors.
    others = root / "print.html", root / "404.html", root / "playground" / "index.html"
    paths = [path for path in sorted(root.rglob("*.html")) if path not in others]
    pages = {path: read(path) for path in paths}
    wrong, count = [], 0
    for path, page in pages.items():
        for link in page.links + page.loads:
            parts = urlsplit(link)
            place = f"{path.relative_to(root)}: {link}"
            if parts.scheme or parts.netloc:
                if link in page.loads:
                    wrong.append(f"{place} is loaded from elsewhere")
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.is_relative_to(root) or not target.exists():
                wrong.append(f"{place} leads nowhere")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                wrong.append(f"{place} has no such anchor")
            count += 1
    for line in wrong:
        print(line, file=sys.stderr)
    print(f"{len(pages)} pages, {count} links")
    if wrong or len(pages) < 50 or count < 1000:
        sys.exit(1)


if __name__ == "__main__":
    main(sys.argv[1])
