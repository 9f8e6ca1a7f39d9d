"""The links of the pages lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.readme.pages import NAMES, PAGES, ROOT, prose

LINK = re.compile(r"\[[^]]*\]\(([^)\s]+)\)")
ELSEWHERE = ("https://", "http://")


def anchors(page: Path) -> set[str]:
    """The places in a page that can be linked to, as GitHub names them."""
    headings = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", heading).strip().lower() for heading in headings)
    return {heading.replace(" ", "-") for heading in plain}


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_link_leads_to_a_file_and_a_heading_that_are_there(page: Path) -> None:
    for link in LINK.findall(prose(page)):
        if link.startswith(ELSEWHERE):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.is_relative_to(ROOT), link
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_every_page_is_linked_from_the_readme() -> None:
    linked = LINK.findall(prose(PAGES[0]))
    for page in PAGES[1:]:
        assert f"docs/{page.name}" in linked
