"""Invented memories and questions: everything follows from a seed, a user's number and a place.

A memory is a sentence of about twelve words that names two or three people and places; a question
asks about one memory of the user. Words are real English where that matters to a stemmer or tagger
and made up where a vocabulary has to be large, and come up as unevenly as words do.
"""

from __future__ import annotations

import hashlib
import random
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TOPICS = 60
"""Subjects memories are about: two memories of one topic have near vectors."""

WORDS = {
    kind: words.split()
    for kind, _, words in (
        line.partition(": ")
        for line in (Path(__file__).parent / "words.txt").read_text("utf-8").splitlines()
    )
}
FIRST, PLACES, VERBS = WORDS["first"], WORDS["places"], WORDS["verbs"]
ADJECTIVES, NOUNS, SYLLABLES = WORDS["adjectives"], WORDS["nouns"], WORDS["syllables"]
WHEN = ("in spring", "last summer", "before breakfast", "every weekend", "at dawn", "over lunch")

CATEGORIES = 10
"""Values of the metadata key that the filtered search asks for: one in ten memories matches."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A memory before anybody stores it."""

    id: uuid.UUID
    user: str
    text: str
    entities: tuple[tuple[str, str], ...]
    metadata: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes the memories of a workload: `per_user` of them for each user."""

    seed: int
    per_user: int

    def fact(self, user: str, place: int) -> Fact:
        """The memory of a user at a place, from 0 up."""
        key = f"{self.seed}:{user}:{place}"
        chance = random.Random(key)
        who, whom = (self.person(user, chance) for _ in range(2))
        topic = chance.randrange(TOPICS)
        words = [
            who,
            chance.choice(VERBS),
            "the",
            chance.choice(ADJECTIVES),
            NOUNS[topic % len(NOUNS)],
            rare(topic, chance),
            "with",
            whom,
        ]
        entities = {who: "person", whom: "person"}
        if chance.random() < 0.5:
            where = chance.choice(PLACES)
            words += ["in", where]
            entities[where] = "place"
        words.append(chance.choice(WHEN))
        metadata = {
            "category": f"c{chance.randrange(CATEGORIES)}",
            "source": chance.choice(("chat", "mail", "call")),
            "importance": chance.randint(1, 5),
            "pinned": chance.random() < 0.1,
        }
        id_ = uuid.UUID(bytes=hashlib.md5(key.encode()).digest(), version=4)
        return Fact(id_, user, " ".join(words), tuple(entities.items()), metadata)

    def person(self, user: str, chance: random.Random) -> str:
        """Someone a user speaks of, the closest ones most often."""
        known = max(4, self.per_user // 5)
        number = int(known * chance.random() ** 2)
        home = int(hashlib.md5(user.encode()).hexdigest()[:6], 16) % 5000
        return f"{FIRST[(home + number) % len(FIRST)]} {word(home + number).title()}"

    def question(self, user: str, number: int) -> str:
        """A question about one of the memories of a user."""
        chance = random.Random(f"{self.seed}:{user}:question:{number}")
        fact = self.fact(user, chance.randrange(self.per_user))
        words = fact.text.split()
        name, verb, adjective, noun, special = words[:2], words[2], words[4], words[5], words[6]
        about = chance.choice((special, adjective, verb))
        return f"What did {' '.join(name)} say about the {about} {noun}?"

    def talk(self, user: str, number: int) -> str:
        """What a user says that holds three new facts; the scripted model knows which."""
        return (
            f"Let me tell you what happened, note {user}/{number}. "
            + ". ".join(fact.text for fact in self.told(user, number))
            + "."
        )

    def told(self, user: str, number: int) -> list[Fact]:
        """The three facts of `talk`."""
        return [self.fact(user, 1_000_000 + 3 * number + n) for n in range(3)]


def word(number: int) -> str:
    """A made-up word; no two of the first ten thousand numbers are alike."""
    letters = []
    number += len(SYLLABLES) ** 2
    while number:
        number, rest = divmod(number, len(SYLLABLES))
        letters.append(SYLLABLES[rest])
    return "".join(letters)


def rare(topic: int, chance: random.Random) -> str:
    """A word of a topic's own vocabulary, the first ones most often."""
    return word(100_000 + topic * 200 + int(200 * chance.random() ** 3))
