"""A page as a tree of elements, read strictly."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser

VOID = {"meta", "link", "input", "br", "img"}


class Node:
    """One element of a parsed page."""

    def __init__(self, tag: str, attributes: dict[str, str], above: Node | None) -> None:
        self.tag, self.attributes, self.above = tag, attributes, above
        self.children: list[Node | str] = []

    def all(self, tag: str = "", **wanted: str) -> Iterator[Node]:
        for child in self.children:
            if isinstance(child, Node):
                if (not tag or child.tag == tag) and wanted.items() <= child.attributes.items():
                    yield child
                yield from child.all(tag, **wanted)

    def one(self, tag: str = "", **wanted: str) -> Node:
        found = list(self.all(tag, **wanted))
        assert len(found) == 1, (tag, wanted, len(found))
        return found[0]

    @property
    def text(self) -> str:
        return "".join(child if isinstance(child, str) else child.text for child in self.children)


class Reader(HTMLParser):
    """A strict reader: every element that opens is closed where it should be."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = self.at = Node("", {}, None)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({key for key, _ in attrs}) == len(attrs), f"{tag} has an attribute twice"
        made_ = Node(tag, {key: value or "" for key, value in attrs}, self.at)
        self.at.children.append(made_)
        if tag not in VOID:
            self.at = made_

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.at.tag == tag, f"</{tag}> closes <{self.at.tag}>"
        assert self.at.above is not None
        self.at = self.at.above

    def handle_data(self, data: str) -> None:
        self.at.children.append(data)


def parsed(html: str) -> Node:
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert reader.at is reader.root
    return reader.root


def squeezed(node: Node) -> str:
    return " ".join(node.text.split())
