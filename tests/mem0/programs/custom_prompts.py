"""A configuration with everything in it, and a program that looks behind the methods."""

import json
import os

from memlayer_pg.compat.mem0 import Memory
from memlayer_pg.compat.mem0.configs.base import MemoryConfig

given = json.loads(os.environ["MEM0_CONFIG"])
given |= {
    "custom_instructions": "Only remember what the user eats.",
    "custom_fact_extraction_prompt": "Only remember what the user eats.",
    "custom_update_memory_prompt": None,
    "graph_store": None,
    "version": "v1.1",
    "reranker": None,
}


def main() -> None:
    memory = Memory.from_config(given)
    print(memory.config.llm.provider, memory.config.embedder.provider)
    print(memory.config.vector_store.provider, memory.config.vector_store.config.collection_name)
    print(memory.config.custom_instructions, memory.config.version, memory.api_version)
    added = memory.add("I eat porridge. I own a car.", user_id="kim", prompt="Only food, please.")
    [fact] = added["results"]
    print(fact["memory"], fact["event"])
    [rows] = memory.vector_store.list(filters={"user_id": "kim"}, top_k=5)
    print([(row.payload["data"], row.payload["user_id"]) for row in rows])
    print(memory.vector_store.get(fact["id"]).payload["hash"] == rows[0].payload["hash"])
    print([change["event"] for change in memory.db.get_history(fact["id"])])
    print(len(memory.embedding_model.embed("porridge")), memory.embedding_model.config.model)
    print(memory.llm.generate_response(messages=[{"role": "user", "content": "Say hello."}]))
    print(memory.reranker, memory.collection_name)
    memory.reset()
    print(memory.get_all(filters={"user_id": "kim"}))
    again = Memory(config=MemoryConfig(**{key: given[key] for key in ("vector_store", "llm")}))
    print(again.config.vector_store.config.embedding_model_dims)


if __name__ == "__main__":
    main()
