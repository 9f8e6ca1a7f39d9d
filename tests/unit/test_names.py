"""Names are proposed from a text alone, in many languages, and common words are not."""

from __future__ import annotations

import pytest

from memlayer_pg.names import candidates

CASES = {
    "What does Ann think of the University of Oxford?": ["Ann", "University of Oxford"],
    "Where did I go with Maria Garcia in Paris?": ["Maria Garcia", "Paris"],
    "What did John and Mary do in May?": ["John", "Mary"],
    "Is AC-123 fixed in config.py?": ["AC-123", "config.py"],
    "Ask a@b.org about snake_case and getUser": ["a@b.org", "snake_case", "getUser"],
    "version 3.11 on 2024-01-01 at 10:30, 5kg, the 3rd": [],
    "Who is Bob's sister?": ["Bob"],
    "Did Dr. Smith's BMW X5 arrive?": ["Dr. Smith", "BMW X5"],
    "Barnes & Noble and J. K. Rowling": ["Barnes & Noble", "J. K. Rowling"],
    "I'm in New York. The Beatles are great": ["New York", "Beatles"],
    '"Dune" is by Frank Herbert': ["Dune", "Frank Herbert"],
    "She said 'hello there' to me. It's Tom's": ["hello there", "Tom"],
    "Pixel is my dog": ["Pixel"],
    "Does she eat C++ or C#?": ["C++", "C#"],
    "HELLO WORLD I AM HERE TODAY": [],
    "what does she not eat?": [],
    "How are you? When is it? Why not?": [],
    "用户喜欢《三体》和「原神」吗": ["三体", "原神"],
    "我喜欢iPhone和Anki": ["iPhone", "Anki"],
    "彼は『君の名は。』が好き": ["君の名は。"],
    "Wo wohnt Anna von Bülow in Köln?": ["Anna von Bülow", "Köln"],
    "¿Dónde vive Juan de la Cruz?": ["Juan de la Cruz"],
    "Где живёт Анна Каренина?": ["Анна Каренина"],
    "Où est « Le Monde »?": ["Le Monde"],
    "": [],
    " \n": [],
    "🙂 !!! ((": [],
}


@pytest.mark.parametrize(("text", "names"), CASES.items(), ids=CASES)
def test_names_are_found(text: str, names: list[str]) -> None:
    assert candidates(text) == names


def test_no_name_comes_twice_and_at_most_so_many_come() -> None:
    text = "Ann met ANN and ann. " + ", ".join(f"Bo{letter}" for letter in "abcdefghijkl")
    found = candidates(text)
    assert len(found) == 8
    assert found[:2] == ["Ann", "Boa"]
    assert candidates(text, limit=2) == ["Ann", "Boa"]


def test_the_surest_names_stay_when_there_are_too_many() -> None:
    assert candidates('Ann, Bob, "The Long Way" and Carla Bley', limit=2) == [
        "The Long Way",
        "Carla Bley",
    ]


@pytest.mark.parametrize(
    "text", ["Ann went to Paris. ", "A ", "a.", '"', "a-", "Ab", "「", "\x00\ud800"]
)
def test_any_length_of_text_is_looked_through(text: str) -> None:
    assert len(candidates(text * 200_000)) <= 8
