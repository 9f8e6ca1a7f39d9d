"""The list of cases is complete, and what holds each is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.readme.test_links import anchors

TESTS = Path(__file__).parent
LIST = TESTS / "cases.md"

LISTED = """
    B001 B002 B003 B005 B009 B010 B011 B012 B013 B014 B017 B018 B019 B020 B024 B025 B026 B027
    B028 B030 B032 B033 B034 B036 B037 B038 B040 B041 B042 B044 B045 B046 B048 B049 B050 B054
    B055 B057 B058 B060 B062 B063 B064 B065 B067 B069 B071 B073 B074 B076 B077 B078 B080 B081
    B085 B086 B087 B088 B089 B090 B092 B093 B094 B096 B097 B099 B100 B101 B102 B104 B107 B109
    B110 B111 B113 B114 B115 B116 B117 B118 B119 B120 B121 B122 B124 B126 B128 B129 B130 B131
    B135 B136 B138 B139 B140 B142 B144 B145 B146 B148 B150 B152 B154
"""
IDS = LISTED.split()

ROW = re.compile(r"^\| (B\d+) \| ([\w-]+) \| (.+?) \| (.+?) \|$", re.MULTILINE)
HOLDERS = {case: held for case, _, _, held in ROW.findall(LIST.read_text("utf-8"))}


def test_every_case_is_listed_once_in_order() -> None:
    assert [row[0] for row in ROW.findall(LIST.read_text("utf-8"))] == IDS


@pytest.mark.parametrize("case", IDS)
def test_what_holds_a_case_is_there(case: str) -> None:
    held = HOLDERS[case]
    tests = re.findall(r"`([\w/]+\.py)::(\w+)`", held)
    sections = re.findall(r"\]\(\.\./(docs/\w+\.md)#([\w-]+)\)", held)
    assert len(tests) + len(sections) == held.count(", ") + 1
    for path, name in tests:
        assert re.search(
            rf"^(async )?def {name}\(", (TESTS / path).read_text("utf-8"), re.MULTILINE
        )
    for page, section in sections:
        assert section in anchors(TESTS.parent / page)
