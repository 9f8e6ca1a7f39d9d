"""Whole conversations, stored word for word and asked by words, names and identifiers."""
# Full-width signs are part of Chinese.
# ruff: noqa: RUF001

from __future__ import annotations

import pytest

from tests.api.harness import Harness

CHINESE = (
    "我下个月要从北京搬到上海浦东，房子已经租好了",
    "好的，需要我帮你列一份搬家清单吗？",
    "不用，我的同事王小明会来帮忙",
    "我对花生过敏，点外卖的时候要注意",
    "记住了，以后不会推荐含花生的菜",
    "最近在读刘慈欣的《三体》，读到第二部了",
    "周三下午三点我要去协和医院复查膝盖",
    "我女儿叫李思雨，今年七岁，在学钢琴",
    "她的钢琴老师是陈老师，每周六上课",
    "我们公司用的报销单号是 BX-20260318",
    "路由器型号是 AX3000，密码贴在背面",
    "我喜欢吃川菜，尤其是麻婆豆腐",
    "上次去成都住的是锦江宾馆",
    "我的邮箱换成了 liwei@example.cn",
)
GERMAN = (
    "Ich ziehe im März von Köln nach München um.",
    "Soll ich eine Liste für den Umzug schreiben?",
    "Meine Schwester Annegret Müller-Lüdenscheidt hilft mir dabei.",
    "Ich esse kein Fleisch, aber Fisch mag ich sehr.",
    "Der Termin bei Frau Dr. Öztürk ist am Donnerstag um halb neun.",
    "Das Auto muss zum TÜV, das Kennzeichen ist M-AB 1234.",
    "Wir haben zwei Katzen, Mieze und Räuber.",
    "Die Krankenversicherung hat die Nummer A123456789.",
    "Am Wochenende wandern wir auf die Zugspitze.",
    "Mein Lieblingsbuch ist „Der Zauberberg“ von Thomas Mann.",
    "Die Waschmaschine ist kaputt und wird am Freitag repariert.",
    "Unser Sohn Lukas lernt seit September Geige.",
    "Der Fußballverein trainiert dienstags in der Großen Straße.",
    "Die Rechnung 2026/0417 ist noch nicht bezahlt.",
)
CODE = (
    "The build fails since we moved to Python 3.12.4, see issue #4711.",
    "It is the import of psycopg_pool in memlayer/db/pool.py.",
    "getUserById returns None when the cache is cold.",
    "The race is in OrderService.submitOrder(), two threads see the same row.",
    "I fixed it in commit 9f3c2ab on the branch feature/lock-order.",
    "Redis runs on redis-7.internal:6379, the password is in Vault.",
    "The flag --no-verify-ssl must never be used in production.",
    "We pin numpy==1.26.4 because scipy breaks with 2.0.",
    "ERR_CONNECTION_RESET shows up only behind the proxy at 10.20.30.40.",
    "Ticket AC-123 covers the flaky test test_retry_backoff.",
    "The table tbl_customer_orders has 40 million rows.",
    "Grace Hopper reviews all changes of the COBOL bridge.",
    "kubectl rollout restart deployment/api-gateway helped.",
    "Please send logs to ops-team@example.org, not to me.",
)
QUESTIONS = (
    (CHINESE, "我要搬到哪里？", "上海浦东"),
    (CHINESE, "谁来帮我搬家", "王小明"),
    (CHINESE, "花生", "过敏"),
    (CHINESE, "三体是谁写的", "《三体》"),
    (CHINESE, "李思雨", "钢琴"),
    (CHINESE, "膝盖复查在哪家医院", "协和医院"),
    (CHINESE, "BX-20260318", "报销"),
    (CHINESE, "ax3000 的密码", "路由器"),
    (CHINESE, "麻婆豆腐", "川菜"),
    (CHINESE, "liwei@example.cn", "邮箱"),
    (CHINESE, "在成都住哪个宾馆？", "锦江宾馆"),
    (GERMAN, "Wohin ziehe ich um?", "München"),
    (GERMAN, "wann ist der Termin bei Öztürk", "Donnerstag"),
    (GERMAN, "Isst er Fleisch?", "Fisch"),
    (GERMAN, "Wie heißen die Katzen?", "Räuber"),
    (GERMAN, "M-AB 1234", "TÜV"),
    (GERMAN, "Zauberberg", "Thomas Mann"),
    (GERMAN, "Nummer der Krankenversicherung", "A123456789"),
    (GERMAN, "Was lernt lukas?", "Geige"),
    (GERMAN, "2026/0417", "Rechnung"),
    (GERMAN, "annegret", "Schwester"),
    (GERMAN, "die kaputte Waschmaschine", "Freitag"),
    (CODE, "getUserById", "cache is cold"),
    (CODE, "submitOrder race", "two threads"),
    (CODE, "9f3c2ab", "lock-order"),
    (CODE, "which version of numpy do we pin", "1.26.4"),
    (CODE, "ac-123", "flaky"),
    (CODE, "test_retry_backoff", "AC-123"),
    (CODE, "pool.py", "psycopg_pool"),
    (CODE, "grace hopper", "COBOL"),
    (CODE, "tbl_customer_orders rows", "40 million"),
    (CODE, "10.20.30.40", "ERR_CONNECTION_RESET"),
    (CODE, "ops-team@example.org", "logs"),
    (CODE, "python 3.12.4 build", "#4711"),
    (CODE, "no-verify-ssl", "production"),
    (CODE, "restart of the api-gateway", "kubectl"),
)


@pytest.mark.parametrize("said", [CHINESE, GERMAN, CODE], ids=["chinese", "german", "code"])
def test_what_was_asked_for_is_among_the_first_three(
    memory: Harness, said: tuple[str, ...]
) -> None:
    messages = [
        {"role": ("user", "assistant")[place % 2], "content": text}
        for place, text in enumerate(said)
    ]
    for begin in range(0, len(messages), 5):
        memory.add(messages[begin : begin + 5], user_id="ann", infer=False)
    missed = []
    for conversation, question, answer in QUESTIONS:
        if conversation is said:
            found = memory.search(question, filters={"user_id": "ann"}, top_k=3)["results"]
            if not any(answer in item["memory"] for item in found):
                missed.append((question, [item["memory"] for item in found]))
    assert missed == []
