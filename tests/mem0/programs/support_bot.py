"""A support bot: one agent, many customers, a run for each ticket."""

import json
import os

from memlayer_pg.compat.mem0 import Memory
from memlayer_pg.compat.mem0.exceptions import MemoryError, ValidationError


class SupportBot:
    def __init__(self) -> None:
        self.memory = Memory.from_config(json.loads(os.environ["MEM0_CONFIG"]))
        self.agent = "support"

    def handle(self, customer: str, ticket: str, text: str) -> list:
        self.memory.add(
            [
                {"role": "user", "content": text},
                {"role": "assistant", "content": "I look into it."},
            ],
            user_id=customer,
            agent_id=self.agent,
            run_id=ticket,
            metadata={"channel": "mail", "priority": 2},
        )
        found = self.memory.search(text, filters={"user_id": customer, "run_id": ticket}, top_k=5)
        return [hit["memory"] for hit in found["results"]]

    def note(self, customer: str, text: str) -> str:
        result = self.memory.add(text, user_id=customer, agent_id=self.agent, infer=False)
        return result["results"][0]["id"]


def main() -> None:
    bot = SupportBot()
    print(bot.handle("cust-1", "T-1", "My order 4711 did not arrive."))
    print(bot.handle("cust-2", "T-2", "I was charged twice."))
    note = bot.note("cust-1", "Customer prefers e-mail.")
    bot.memory.update(note, "Customer prefers phone calls.")
    for change in bot.memory.history(note):
        print(change["event"], change["old_memory"], "->", change["new_memory"])
    of_agent = bot.memory.get_all(filters={"agent_id": "support"}, top_k=50)["results"]
    print(sorted((m["user_id"], m.get("run_id", ""), m["memory"]) for m in of_agent))
    print(bot.memory.delete_all(user_id="cust-1", run_id="T-1"))
    left = bot.memory.get_all(filters={"user_id": "cust-1"})["results"]
    print([m["memory"] for m in left])
    print(bot.memory.delete(note), bot.memory.get(note))
    try:
        bot.memory.add("nobody said this")
    except ValidationError as error:
        print(error.error_code, error.message, isinstance(error, MemoryError))
    try:
        bot.memory.search("orders", user_id="cust-1")
    except ValueError as error:
        print(error)
    try:
        bot.memory.delete(note)
    except ValueError as error:
        print("ValueError", "not found" in str(error))


if __name__ == "__main__":
    main()
