"""A personal assistant: what it knows of the user goes into the prompt, the talk is remembered."""

import json
import os

from openai import OpenAI

from memlayer_pg.compat.mem0 import Memory

config = json.loads(os.environ["MEM0_CONFIG"])
openai_client = OpenAI(base_url=os.environ["CHAT_URL"], api_key="none")
memory = Memory.from_config(config)


def chat_with_memories(message: str, user_id: str = "default_user") -> str:
    relevant = memory.search(query=message, filters={"user_id": user_id}, top_k=3, threshold=0.0)
    known = "\n".join(f"- {entry['memory']}" for entry in relevant["results"])
    system = f"You are a helpful assistant. What you know of the user:\n{known}"
    messages = [{"role": "system", "content": system}, {"role": "user", "content": message}]
    response = openai_client.chat.completions.create(model="chat", messages=messages)
    answer = response.choices[0].message.content or ""
    messages.append({"role": "assistant", "content": answer})
    memory.add(messages, user_id=user_id)
    return answer


def main() -> None:
    for said in ["I am vegetarian and live in Oslo.", "Any dinner ideas?", "exit"]:
        if said.lower() == "exit":
            break
        print("AI:", chat_with_memories(said, user_id="alex"))
    everything = memory.get_all(filters={"user_id": "alex"})
    for entry in sorted(everything["results"], key=lambda item: item["memory"]):
        print(entry["memory"], entry["user_id"], entry["metadata"])
    memory.close()


if __name__ == "__main__":
    main()
