"""Keyword documents and queries: what is found by which words, and that no text is an error."""

# Look-alikes of many scripts are the point.
# ruff: noqa: RUF001

from __future__ import annotations

import unicodedata
from typing import Any, NamedTuple

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg import sql
from psycopg.conninfo import make_conninfo

from tests.conftest import lay

Conn = psycopg.Connection[Any]

MEGABYTE = 1 << 20


class Query(NamedTuple):
    terms: list[str]
    must: str | None


def document(
    conn: Conn, text: str | None, config: str = "english", context: str | None = None
) -> dict[str, list[int]]:
    """Lexemes of a text and the places they stand at."""
    return dict(
        conn.execute(
            """select lexeme, positions::int[]
                 from unnest(memlayer.document(%s, %s, %s::regconfig))""",
            (text, context, config),
        ).fetchall()
    )


def query(conn: Conn, text: str | None, config: str = "english") -> Query:
    """The terms and the condition of a query."""
    [row] = conn.execute(
        "select terms, must::text from memlayer.keyword_query(%s, %s::regconfig)", (text, config)
    ).fetchall()
    return Query(*row)


def found(conn: Conn, text: str, asked: str, config: str = "english") -> bool:
    """Whether a memory with this text satisfies the query."""
    [row] = conn.execute(
        """select coalesce(memlayer.document(%s, null, %s::regconfig) @@ q.must, false)
             from memlayer.keyword_query(%s, %s::regconfig) q""",
        (text, config, asked, config),
    ).fetchall()
    return bool(row[0])


def fold(conn: Conn, text: str | None) -> str | None:
    [row] = conn.execute("select memlayer.fold(%s)", (text,)).fetchall()
    folded: str | None = row[0]
    return folded


# Names


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("  Anna \t\n Lee ", "anna lee"),
        ("ＦＵＬＬ　ｗｉｄｔｈ", "full width"),
        ("ÉCOLE Ünal ΑΘΗΝΑ МОСКВА", "école ünal αθηνα москва"),
        ("ﾃｽﾄ", "テスト"),
        ("", ""),
        (" \u00a0\u3000\u2028 ", ""),
    ],
)
def test_names_are_compared_without_case_width_and_spare_spaces(
    text: str, folded: str, conn: Conn
) -> None:
    assert fold(conn, text) == folded


def test_no_name_folds_to_none(conn: Conn) -> None:
    assert fold(conn, None) is None


# Words


def test_words_are_stemmed_and_stop_words_left_out(conn: Conn) -> None:
    assert document(conn, "She is running in the running shoes") == {"run": [3, 6], "shoe": [7]}


def test_a_context_is_indexed_after_the_text(conn: Conn) -> None:
    assert document(conn, "Yes, daily", context="Do you swim?") == {
        "yes": [1],
        "daili": [2],
        "swim": [5],
    }


def test_nothing_is_indexed_of_no_text(conn: Conn) -> None:
    assert document(conn, "") == document(conn, None) == document(conn, " \n…!? 🙂") == {}


@pytest.mark.parametrize(
    ("config", "text", "asked"),
    [
        ("english", "He bought running shoes", "run shoe"),
        ("german", "Die Häuser sind groß", "Haus"),
        ("german", "DIE HÄUSER SIND GROSS", "Häusern"),
        ("german", "Die Häuser sind groß", "gross"),
        ("german", "Er fährt über die Straße", "strasse"),
        ("spanish", "Vive en el Café", "cafe"),
        ("spanish", "Vive cerca del cafe", "café"),
        ("spanish", "Le gustan las canciones", "canción"),
        ("spanish", "Aprendió una canción", "cancion"),
        ("french", "Élèves de l'été", "eleve"),
        ("english", "They met at the Café Zürich", "cafe zurich"),
        ("english", "They met at the cafe", "CAFÉ"),
        ("english", "Cafe\u0301 (written with a combining accent)", "café"),
        ("english", "Łódź, Ærø and København", "lodz"),
        ("english", "Łódź, Ærø and København", "kobenhavn"),
        ("english", "Phở is her favourite", "pho"),
        ("russian", "Она любит ёлки", "елка"),
        ("greek", "Μένει στην ΑΘΗΝΑ", "Αθήνα"),
        ("english", "Μένει στην Αθήνα", "αθηνα"),
        ("english", "ｆｕｌｌ ｗｉｄｔｈ １２３", "width 123"),
        ("english", "soft\u00adhyphen", "softhyphen"),
        ("simple", "running shoes", "shoes"),
    ],
)
def test_a_word_is_found_by_its_other_forms(config: str, text: str, asked: str, conn: Conn) -> None:
    assert found(conn, text, asked, config)


@pytest.mark.parametrize(
    ("config", "text", "asked"),
    [
        ("simple", "running shoes", "run shoe"),
        ("english", "Die Häuser sind groß", "Haus"),
        ("russian", "мой", "мои"),
        ("english", "green tea", "coffee"),
    ],
)
def test_a_word_is_not_found_by_another(config: str, text: str, asked: str, conn: Conn) -> None:
    assert not found(conn, text, asked, config)


def test_a_stop_word_with_an_accent_stays_one(conn: Conn) -> None:
    assert query(conn, "für über", "german") == ([], None)
    assert document(conn, "für", "german") == {}


@pytest.mark.parametrize(
    "sentence",
    [
        "Anna's 3rd cup (of tea): 100% green, costs $5 & she's happy - really. Isn't it? \"Yes!\"",
        "At 5 p. m. it rained, 1,000 people left; 1e5 stayed.",
    ],
)
def test_plain_english_is_indexed_alike_the_short_way_and_the_long_way(
    sentence: str, conn: Conn
) -> None:
    [row] = conn.execute(
        """select memlayer.document(%(s)s) = to_tsvector('english', %(s)s),
                  memlayer.full_document(%(s)s, 'english') = to_tsvector('english', %(s)s)""",
        {"s": sentence},
    ).fetchall()
    assert row == (True, True)


# Scripts without spaces


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("他每天早上在湖边跑步", "跑步"),
        ("他每天早上在湖边跑步", "他在哪里跑步？"),
        ("妹は来月から京都で陶芸を習う", "陶芸"),
        ("彼はコンピューターを買った", "ｺﾝﾋﾟｭｰﾀｰ"),
        ("아버지는 부산에서 서점을 운영한다", "서점"),
        ("아버지는 부산에서 서점을 운영한다", "아버지의 서점"),
        ("ฉันชอบดื่มน้ำชา", "น้ำ"),
        ("ຂ້ອຍມັກດື່ມຊາ", "ດື່ມຊາ"),
        ("ខ្ញុំចូលចិត្តតែ", "ចូលចិត្ត"),
        ("ကျွန်တော် လက်ဖက်ရည် ကြိုက်တယ်", "လက်ဖက်ရည်"),
        ("我用Python写代码", "python"),
        ("我用Python写代码", "代码"),
        ("我用Ｐｙｔｈｏｎ３写代码", "python3"),
        ("她养了一只猫", "猫"),
        ("我喜欢𠮷野家", "𠮷野家"),
    ],
)
def test_a_word_is_found_inside_a_run_without_spaces(text: str, asked: str, conn: Conn) -> None:
    assert found(conn, text, asked)


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("他每天早上在湖边跑步", "游泳"),
        ("他每天早上在湖边跑步", "天气"),
        ("妹は来月から京都で陶芸を習う", "サーフィン"),
        ("妹は来月から京都で陶芸を習う", "水泳"),
        ("아버지는 부산에서 서점을 운영한다", "수영"),
        ("아버지는 부산에서 서점을 운영한다", "도서관"),
        ("ฉันชอบดื่มน้ำชา", "กาแฟ"),
    ],
)
def test_a_word_that_is_not_there_is_not_found_by_a_character_of_it(
    text: str, asked: str, conn: Conn
) -> None:
    assert not found(conn, text, asked)


def test_a_run_is_indexed_by_characters_and_by_pairs_at_their_places(conn: Conn) -> None:
    assert document(conn, "我用Python 3，写") == {
        "我": [1],
        "我用": [1],
        "用": [2],
        "python": [3],
        "3": [4],
        "写": [5],
    }


def test_a_question_is_scored_by_its_characters_and_its_pairs(conn: Conn) -> None:
    assert query(conn, "湖边？").terms == ["湖", "湖边", "边"]


def test_neighbours_across_a_space_or_a_sign_are_no_pair(conn: Conn) -> None:
    assert "好你" not in document(conn, "你好，你好 你好")


# Identifiers


@pytest.mark.parametrize(
    ("text", "lexemes"),
    [
        ("AC-123", {"ac-123", "ac", "123"}),
        ("memlayer_pg.flows", {"memlayer_pg.flows", "memlay", "pg", "flow"}),
        ("foo/bar.py", {"foo/bar.py", "foo", "bar", "py"}),
        ("v1.2.3", {"v1.2.3", "v1", "2", "3"}),
        ("ann.lee+x@example.com", {"ann.lee+x@example.com", "ann", "lee", "x", "exampl", "com"}),
        ("#rust", {"#rust", "rust"}),
        ("@ann", {"@ann", "ann"}),
        ("C++, C#", {"c++", "c#", "c"}),
        ("std::sort", {"std::sort", "std", "sort"}),
        ("10:30", {"10:30", "10", "30"}),
        ("-5 +49 3.2", {"5", "49", "3.2", "3", "2"}),
        ("<b>bold</b> &amp; x|y", {"b", "bold", "amp", "x", "y"}),
        ("https://example.com/a?page=1", {"https://example.com/a", "https", "exampl", "com"}
         | {"page", "1"}),
        ("state-of-the-art", {"state-of-the-art", "state", "art"}),
        ("the end.Next (word).", {"end.next", "end", "next", "word"}),
        ("Müller-Lüdenscheidt", {"muller-ludenscheidt", "muller", "ludenscheidt"}),
    ],
)  # fmt: skip
def test_an_identifier_is_indexed_whole_and_split(text: str, lexemes: set[str], conn: Conn) -> None:
    assert set(document(conn, text)) == lexemes


@pytest.mark.parametrize("asked", ["ac-123", "AC-123", "123", "ac", '"AC-123"', "AC 123"])
def test_a_ticket_is_found_by_its_name_and_its_parts(asked: str, conn: Conn) -> None:
    assert found(conn, "Ticket AC-123: the pump leaks", asked)


def test_the_whole_identifier_ranks_above_its_parts(conn: Conn) -> None:
    assert query(conn, "AC-123").terms == ["ac", "ac-123", "123"]
    assert "ac-123" not in document(conn, "AC 123")


# Phrases


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("She likes green tea a lot", '"green tea"'),
        ("She likes green tea a lot", "“green tea”"),
        ("She likes green tea a lot", "„Green Teas“"),
        ("She likes green tea a lot", "＂green tea＂"),
        ("The end of the world", '"end of the world"'),
        ("see foo/bar.py now", '"bar.py now"'),
        ("see AC-123 now", '"see ac-123 now"'),
        ("我用Python写代码", '"用Python写"'),
        ("妹は来月から京都で陶芸を習う", "「京都で陶芸」"),
        ("他每天早上在湖边跑步", "“湖边跑步”"),
        ("아버지는 부산에서 서점을 운영한다", '"서점을 운영"'),
        ("Er fährt über die Straße", '"Strasse"'),
        ("an unbalanced quote", 'unbalanced "quote'),
        ('a 5" pipe', '5" pipe'),
        ("tea", '"the of" tea'),
    ],
)
def test_quoted_words_are_found_one_after_the_other(text: str, asked: str, conn: Conn) -> None:
    assert found(conn, text, asked, "german" if "Straße" in text else "english")


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("She likes tea that is green", '"green tea"'),
        ("She likes green and black tea", '"green tea"'),
        ("京都で料理、東京で陶芸", "「京都で陶芸」"),
        ("湖边有人，他跑步", "“湖边跑步”"),
        ("AC 5 and 123", '"AC-123"'),
        ("green tea", '"green tea" "red wine"'),
    ],
)
def test_quoted_words_elsewhere_are_not_found(text: str, asked: str, conn: Conn) -> None:
    assert not found(conn, text, asked)


def test_a_long_citation_in_a_question_is_plain_text(conn: Conn) -> None:
    cited = (
        "Bring boots, water, bread, cheese, maps, rope, gloves, soap, tea, " + "hats and socks " * 5
    )
    assert found(conn, "Boots are in the cellar", f'Where are the boots for "{cited}"?')


def test_a_phrase_is_scored_by_its_words(conn: Conn) -> None:
    assert query(conn, 'cup "green tea"').terms == ["cup", "green", "tea"]


# Exclusions


@pytest.mark.parametrize(
    ("text", "asked", "expected"),
    [
        ("green tea and coffee", "tea -coffee", False),
        ("green tea", "tea -coffee", True),
        ("green tea, Coffees", "tea -coffee", False),
        ("red wine", 'wine -"red wine"', False),
        ("wine, the red one", 'wine -"red wine"', True),
        ("ticket AC-123", "ticket -AC-123", False),
        ("ticket AC-124", "ticket -AC-123", True),
        ("我喜欢绿茶和咖啡", "绿茶 -咖啡", False),
        ("我喜欢绿茶", "绿茶 -咖啡", True),
        ("un café con leche", "leche －cafe", False),
        ("5 degrees", "degrees -5", True),
        ("x-ray of a hand", "x-ray hand", True),
        ("tea - coffee", "tea - coffee", True),
    ],
)
def test_a_minus_excludes_a_word_or_phrase_and_nothing_else(
    text: str, asked: str, expected: bool, conn: Conn
) -> None:
    assert found(conn, text, asked) is expected


@pytest.mark.parametrize(
    "asked",
    ["-tea", '-"green tea"', "-茶", "the and of", "", None, " ", "🙂", "!!!", '"the"', "-", '""'],
)
def test_a_query_with_nothing_to_look_for_says_so(asked: str | None, conn: Conn) -> None:
    assert query(conn, asked) == ([], None)


# Any text


@pytest.mark.parametrize(
    ("asked", "terms"),
    [
        ("speed > 3.2 (x|y) & !z:*", ["speed", "3", "3.2", "2", "x", "y", "z"]),
        ("it's foo:*", ["foo"]),
        ("'", []),
        ("\\", []),
        ("x <-> y", ["x", "y"]),
        ("100%", ["100"]),
        ("a " * 500, []),
        ("C:\\temp\\x", ["c", "temp", "x"]),
        ("tea':1A & 'b' \\", ["tea", "1a", "b"]),
    ],
)
def test_operators_and_quotes_are_plain_text(asked: str, terms: list[str], conn: Conn) -> None:
    assert query(conn, asked).terms == terms


def test_terms_are_distinct_in_order_and_limited(conn: Conn) -> None:
    assert query(conn, "tea or cups of Tea, cup").terms == ["tea", "cup"]
    many = query(conn, " ".join(f"w{n}" for n in range(10000)))
    assert many.terms == [f"w{n}" for n in range(len(many.terms))]
    assert len(many.terms) == 512
    assert len(query(conn, "".join(chr(0x4E00 + n) for n in range(10000))).terms) == 512


def test_a_question_at_the_end_of_a_long_chinese_text_is_still_seen(conn: Conn) -> None:
    noise = "今天天气很好我和朋友一起去公园散步看见很多花还有小鸟在树上唱歌大家都很开心" * 4
    assert "陶芸" in query(conn, f"{noise}。陶芸在哪里学？").terms


SIGNS = list("\"'\\&|!:*()<>-+@#%_.,;/~^$[]{}? \t\n“”„「」")
PIECES = ["<->", "<2>", " -", ' -"', "tea", "the", "café", "AC-123", "我喜欢", "パ", "서점", "น้ำ"]
RARITIES = ["ﷺ", "\u0301", "\u200d", "🙂", "ß", "İ", "x" * 3000, "字" * 900]
WORDS = st.sampled_from([*SIGNS, *PIECES, *RARITIES])
TEXTS = st.lists(
    WORDS | st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8), max_size=30
).map("".join)
FUZZ = settings(
    max_examples=150,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@FUZZ
@given(text=TEXTS)
def test_no_text_is_an_error_or_noticed(text: str, conn: Conn) -> None:
    notices: list[psycopg.errors.Diagnostic] = []
    conn.add_notice_handler(notices.append)
    try:
        for config in ("english", "german", "simple"):
            asked = query(conn, text, config)
            assert (asked.must is None) == (asked.terms == [])
            assert len(set(asked.terms)) == len(asked.terms) <= 512
            document(conn, text, config, context=text)
            fold(conn, text)
    finally:
        conn.remove_notice_handler(notices.append)
    assert notices == []


@FUZZ
@given(text=TEXTS)
def test_a_text_is_found_by_itself_unless_it_excludes(text: str, conn: Conn) -> None:
    plain = text.replace("-", " ")
    plain = "".join(
        " " if unicodedata.normalize("NFKC", c) in '-"“”„‟«»「」『』' else c for c in plain
    )
    assert found(conn, plain, plain) is (query(conn, plain).terms != [])


@FUZZ
@given(
    text=st.text(
        st.sampled_from("abcxyzABC019 \n,;:!?.()\"'%$&-"), max_size=60
    )
)  # fmt: skip
def test_the_short_way_and_the_long_way_agree(text: str, conn: Conn) -> None:
    [row] = conn.execute(
        """select memlayer.document(%(s)s, null, 'simple'),
                  memlayer.full_document(%(s)s, 'simple')""",
        {"s": text},
    ).fetchall()
    assert row[0] == row[1]


@pytest.mark.parametrize(
    "text",
    [
        "x" * 10_000_000,
        "tea, " * 2_000_000,
        "".join(f"w{n} " for n in range(1_000_000)),
        "".join(f"w-{n} " for n in range(300_000)),
        "".join(chr(0x4E00 + n * n % 20000) for n in range(1_000_000)),
        "字" * 3_000_000,
        "ﷺ" * 3_000_000,
        "é" * 3_000_000,
        "\u0301" * 3_000_000,
        "a-" * 4_000_000,
        "\\' " * 2_000_000,
    ],
    ids=lambda text: text[:4].encode("unicode_escape").decode(),
)
def test_a_huge_text_is_indexed_as_far_as_it_fits(text: str, conn: Conn) -> None:
    [row] = conn.execute(
        """select pg_column_size(d.document), memlayer.document_length(d.document),
                  cardinality(q.terms)
             from (select memlayer.document(%(s)s) as document offset 0) d,
                  memlayer.keyword_query(%(s)s) q""",
        {"s": text},
    ).fetchall()
    assert row[0] < MEGABYTE
    assert row[2] <= 512
    assert (row[1] > 0) is (row[2] > 0)


def test_the_beginning_of_a_huge_text_is_found(conn: Conn) -> None:
    assert found(conn, "pelican AC-7 " + "word-of-filler " * 100_000, '"pelican AC-7"')
    assert found(conn, "陶芸と" + "水" * 300_000, "陶芸")


def test_a_very_long_word_is_found_by_itself(conn: Conn) -> None:
    word = "x" * 3000
    assert found(conn, f"see {word}", word)
    assert found(conn, f"see {word} at foo/bar.py", word)


# Length


def test_the_length_counts_repeats_but_no_stop_words(conn: Conn) -> None:
    [row] = conn.execute(
        """select memlayer.document_length(memlayer.document('The tea, the tea and a cup')),
                  memlayer.document_length(''), memlayer.document_length('stripped lexemes')"""
    ).fetchall()
    assert row == (3, 0, 2)


# Where the database knows nothing but ASCII


@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_the_locale_of_the_database_makes_no_difference(
    locale: str, server: str, conn: Conn
) -> None:
    texts = [
        "ÀÉÎÕÜŁŻŠÑ ΑΘΗΝΑ МОСКВА ԵՐԵՎԱՆ ĐƠN İstanbul",
        "“Café” — Straße… ¿qué? 🙂 ﷽",
        "我用Ｐｙｔｈｏｎ写代码，ภาษาไทย 서점을",
        "नमस्ते दुनिया। ආයුබෝවන් שָׁלוֹם العَرَبِيَّة",
    ]
    dsn = make_conninfo(server, dbname="keyword_locale")
    with psycopg.connect(server, autocommit=True) as admin:
        try:
            admin.execute(
                sql.SQL("create database keyword_locale template template0 locale {}").format(
                    locale
                )
            )
        except psycopg.errors.WrongObjectType:
            pytest.skip(f"this machine has no locale {locale}")
        try:
            lay(dsn)
            with psycopg.connect(dsn) as other:
                assert [document(other, text) for text in texts] == [
                    document(conn, text) for text in texts
                ]
                assert [fold(other, text) for text in texts] == [fold(conn, text) for text in texts]
                assert found(other, texts[0], "Łżšñ αθηνα istanbul")
        finally:
            admin.execute("drop database keyword_locale")
