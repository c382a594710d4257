"""A figure's SVG, made fit to stand inside a page with a strict content policy and a dark mode."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

from stablechoice.errors import AnalysisError

_SVG = "{http://www.w3.org/2000/svg}"
_XLINK_HREF = "{http://www.w3.org/1999/xlink}href"
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_DROPPED = ("metadata", "style", "title", "desc")


def inline_svg(document: bytes, name: str, label: str) -> str:
    """The drawing as an `<svg>` element for HTML.

    Inline styles become presentation attributes: a page that forbids inline styles still paints them, and a page's
    own rules (a dark colour for `[fill="#22262b"]`) win over them. Ids begin with the figure's name, since many
    figures share a page; ids that nothing refers to are dropped.

    Args:
        document: SVG as matplotlib writes it.
        name: the figure's file name without its ending.
        label: what the figure shows, for those who do not see it.

    Raises:
        AnalysisError: the document is not SVG.
    """
    try:
        root = ET.fromstring(document)
    except ET.ParseError as problem:
        raise AnalysisError(f"figure {name} is no readable SVG ({problem}): draw it again") from problem
    if root.tag != f"{_SVG}svg":
        raise AnalysisError(f"figure {name} is no SVG but {root.tag!r}: draw it again")
    _drop(root)
    used = _referenced(root)
    for element in root.iter():
        _restyle(element)
        _rename(element, name, used)
    root.attrib = {
        "viewBox": root.attrib["viewBox"],
        "role": "img",
        "aria-label": label,
        "stroke-linejoin": "round",
        "stroke-linecap": "butt",
    }
    for element in root.iter():
        element.tag = element.tag.removeprefix(_SVG)
    _unwrap(root)
    return ET.tostring(root, encoding="unicode", short_empty_elements=True)


def _drop(parent: ET.Element) -> None:
    """Take out what a page does not need: metadata, and the style element, whose one rule the root inherits instead."""
    for child in list(parent):
        if child.tag.removeprefix(_SVG) in _DROPPED:
            parent.remove(child)
        else:
            _drop(child)


def _referenced(root: ET.Element) -> frozenset[str]:
    found: set[str] = set()
    for element in root.iter():
        for value in element.attrib.values():
            found.update(_REFERENCE.findall(value))
        target = element.attrib.get(_XLINK_HREF, "")
        found.update([target[1:]] if target.startswith("#") else [])
    return frozenset(found)


def _restyle(element: ET.Element) -> None:
    declarations = element.attrib.pop("style", "")
    for declaration in filter(None, (part.strip() for part in declarations.split(";"))):
        key, _, value = declaration.partition(":")
        # The face is the page's; the size is the figure's.
        if key.strip() != "font-family":
            element.set(key.strip(), value.strip())
    path = element.attrib.get("d")
    if path is not None:
        element.set("d", " ".join(path.split()))


def _rename(element: ET.Element, name: str, used: frozenset[str]) -> None:
    identity = element.attrib.pop("id", None)
    if identity in used:
        element.set("id", f"{name}-{identity}")
    for key, value in list(element.attrib.items()):
        if key == _XLINK_HREF:
            del element.attrib[key]
            element.set("href", f"#{name}-{value[1:]}")
        elif "url(#" in value:
            element.set(key, _REFERENCE.sub(lambda match: f"url(#{name}-{match.group(1)})", value))


def _unwrap(parent: ET.Element) -> None:
    """Drop white space between elements; text keeps its own."""
    for element in parent.iter():
        if element.tag != "text" and element.tag != "tspan":
            element.text = (element.text or "").strip() or None
        if element.tail and not element.tail.strip():
            element.tail = None
