"""A research agent: notes with metadata, found again through filters."""

import json
import os
from datetime import date, timedelta

from memlayer_pg.compat.mem0 import Memory

NOTES = [
    ("Transformers scale with data.", {"topic": "ml", "year": 2020, "tags": "nlp,scaling"}),
    ("Diffusion models draw images.", {"topic": "ml", "year": 2022, "tags": "vision"}),
    ("CRISPR edits genes.", {"topic": "bio", "year": 2012, "tags": "genes"}),
    ("AlphaFold predicts proteins.", {"topic": "bio", "year": 2021, "tags": "proteins,ml"}),
]
ME = {"user_id": "lab", "agent_id": "researcher"}


def texts(found: dict) -> list:
    return sorted(item["memory"] for item in found["results"])


def main() -> None:
    memory = Memory.from_config(json.loads(os.environ["MEM0_CONFIG"]))
    ids = {}
    for text, metadata in NOTES:
        added = memory.add(text, **ME, infer=False, metadata=metadata)
        ids[text] = added["results"][0]["id"]

    def ask(query: str, **conditions: object) -> list:
        return texts(
            memory.search(query, filters={"user_id": "lab", **conditions}, top_k=10, threshold=0.0)
        )

    print(ask("what is known", topic="ml"))
    print(ask("what is known", year={"gte": 2020, "lt": 2022}))
    print(ask("what is known", topic={"in": ["bio"]}, year={"gt": 2015}))
    print(ask("what is known", tags={"contains": "ml"}))
    print(ask("what is known", AND=[{"topic": "ml"}, {"year": 2022}]))
    print(ask("what is known", OR=[{"topic": "ml"}, {"year": {"lte": 2012}}]))
    print(ask("what is known", NOT=[{"topic": "ml"}]))
    print(ask("what is known", tags="*", agent_id="researcher"))
    print(texts(memory.get_all(filters={"agent_id": "researcher", "topic": "bio"}, top_k=100)))
    memory.update(ids["CRISPR edits genes."], metadata={"reviewed": True})
    print(memory.get(ids["CRISPR edits genes."])["metadata"])
    print(ask("what is known", reviewed=True))
    yesterday = (date.today() - timedelta(days=2)).isoformat()
    memory.update(ids["CRISPR edits genes."], expiration_date=yesterday)
    print(ask("what is known", topic="bio"))
    shown = memory.search(
        "genes", filters={"user_id": "lab", "topic": "bio"}, show_expired=True, threshold=0.0
    )
    print(texts(shown))
    try:
        ask("what is known", topic={"like": "b%"})
    except ValueError:
        print("no such operator")


if __name__ == "__main__":
    main()
