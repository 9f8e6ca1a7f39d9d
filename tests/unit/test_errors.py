"""The exception tree: what a program may rely on."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import memlayer_pg
from memlayer_pg import errors
from memlayer_pg.errors import BY_SQLSTATE, DatabaseError, MemlayerError

EVERY = [kind for kind in vars(errors).values() if isinstance(kind, type)]
KINDS = [kind for kind in EVERY if issubclass(kind, MemlayerError)]
VALUE_ERRORS = {
    "ValidationError", "InputError", "ConfigError", "ScopeMissing", "MemoryNotFound", "FilterError",
    "EmbeddingMismatch", "NotStorable", "IdempotencyConflict",
}  # fmt: skip


def test_every_sqlstate_of_ours_has_one_class() -> None:
    assert sorted(filter(None, BY_SQLSTATE)) == [f"ML00{n}" for n in range(1, 10)]
    assert all(issubclass(kind, DatabaseError) for kind in BY_SQLSTATE.values())


def test_mistakes_of_the_caller_are_value_errors() -> None:
    assert {kind.__name__ for kind in KINDS if issubclass(kind, ValueError)} == VALUE_ERRORS


@pytest.mark.parametrize("kind", KINDS)
def test_every_error_has_mem0s_attributes_and_its_message_as_text(kind: Any) -> None:
    error = kind("it broke")
    assert str(error) == error.message == "it broke"
    assert error.error_code
    assert (error.details, error.debug_info, error.suggestion) == ({}, {}, None)


@pytest.mark.parametrize("kind", KINDS)
def test_every_error_survives_pickling(kind: Any) -> None:
    error = pickle.loads(pickle.dumps(kind("it broke")))
    assert type(error) is kind
    assert vars(error) == vars(kind("it broke"))


def test_a_database_error_carries_code_and_hint() -> None:
    error = DatabaseError("it broke", sqlstate="57014", hint="Wait.")
    assert (error.sqlstate, error.hint, error.suggestion) == ("57014", "Wait.", "Wait.")


def test_the_package_exports_what_it_says_and_every_error() -> None:
    assert all(getattr(memlayer_pg, name) is not None for name in memlayer_pg.__all__)
    assert {kind.__name__ for kind in KINDS} <= set(memlayer_pg.__all__)
    assert memlayer_pg.__all__ == sorted(memlayer_pg.__all__)


def test_the_tree_in_the_docstring_is_the_tree() -> None:
    text = errors.__doc__ or ""
    for kind in KINDS:
        assert kind.__name__ in text
