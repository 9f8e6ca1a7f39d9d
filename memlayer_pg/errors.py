"""What memlayer_pg raises.

MemlayerError
├── ValidationError      an argument of add() that mem0 refuses with a code (also a ValueError)
├── InputError           any other argument that cannot be used (also a ValueError)
├── ConfigError          a setting is unknown, missing or wrong (also a ValueError)
├── SchemaError          the schema in the database does not fit this version of the package
│   ├── SchemaMissing    there is none
│   ├── SchemaTooOld     it lacks what this version needs
│   └── SchemaTooNew     it was changed in a way this version cannot work with
├── ModelError           a model failed, or answered what cannot be used
│   ├── LLMError         LLM_001
│   └── EmbeddingError   EMBEDDING_001
└── DatabaseError        Postgres refused; the classes below have a SQLSTATE of their own
    ├── ScopeMissing        ML001 (also a ValueError)
    ├── MemoryNotFound      ML002 (also a ValueError)
    ├── FilterError         ML003 (also a ValueError)
    ├── EmbeddingMismatch   ML004 (also a ValueError)
    ├── NotStorable         ML005 (also a ValueError)
    ├── VersionConflict     ML006
    ├── TenantNotAllowed    ML007
    ├── IdempotencyConflict ML008 (also a ValueError)
    └── HistoryTooShort     ML009
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar


class MemlayerError(Exception):
    """Base of everything memlayer_pg raises on purpose; `str()` of it is `message`.

    `error_code` is a word for programs, `details` what the message was about, `suggestion` what to
    do about it, `debug_info` what a developer may want to see. None holds a password or key.
    """

    default_code: ClassVar[str] = "MEMLAYER"

    def __init__(
        self,
        message: str,
        error_code: str | None = None,
        details: Mapping[str, Any] | None = None,
        suggestion: str | None = None,
        debug_info: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.error_code = error_code or self.default_code
        self.details = dict(details or {})
        self.suggestion = suggestion
        self.debug_info = dict(debug_info or {})

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.message, self.__dict__.copy())


def _restored(kind: type[MemlayerError], message: str, state: dict[str, Any]) -> MemlayerError:
    """An error as it was before pickling: a worker process hands its errors to its parent."""
    error = kind.__new__(kind, message)
    error.args = (message,)
    error.__dict__.update(state)
    return error


class ValidationError(MemlayerError, ValueError):
    """An argument of `add` was refused; `error_code` is VALIDATION_001, _002 or _003 as in mem0."""

    default_code = "VALIDATION"


class InputError(MemlayerError, ValueError):
    """An argument cannot be used; the message names it."""

    default_code = "INPUT"


class ConfigError(MemlayerError, ValueError):
    """A setting is unknown, missing or wrong; the message names it."""

    default_code = "CONFIG"


class SchemaError(MemlayerError):
    """The schema in the database is not one that this version works with."""

    default_code = "SCHEMA"


class SchemaMissing(SchemaError):
    """The database has no memlayer schema yet."""


class SchemaTooOld(SchemaError):
    """The schema lacks a revision that this version needs."""


class SchemaTooNew(SchemaError):
    """A newer version changed the schema in a way that breaks this one."""


class ModelError(MemlayerError):
    """A model failed or answered what cannot be used; `__cause__` is the client's own error."""

    default_code = "MODEL"


class LLMError(ModelError):
    """The language model failed, or nothing of its answer could be read."""

    default_code = "LLM_001"


class EmbeddingError(ModelError):
    """The embedder failed, or gave other vectors than were asked for."""

    default_code = "EMBEDDING_001"


class DatabaseError(MemlayerError):
    """Postgres refused or could not be reached.

    `sqlstate` is its five-letter code (None when there was no answer), `hint` what it says to do.
    """

    default_code = "DATABASE"
    code: ClassVar[str | None] = None

    def __init__(
        self, message: str, *, sqlstate: str | None = None, hint: str | None = None
    ) -> None:
        self.sqlstate = sqlstate or self.code
        self.hint = hint
        super().__init__(message, error_code=self.sqlstate, suggestion=hint)


class ScopeMissing(DatabaseError, ValueError):
    """No user, agent or run was named."""

    code = "ML001"


class MemoryNotFound(DatabaseError, ValueError):
    """There is no memory, version or change of that name."""

    code = "ML002"


class FilterError(DatabaseError, ValueError):
    """A filter or a scope id was not understood."""

    code = "ML003"


class EmbeddingMismatch(DatabaseError, ValueError):
    """The vector is of another size or model than the tenant's active one."""

    code = "ML004"


class NotStorable(DatabaseError, ValueError):
    """The value is too large or holds characters that Postgres cannot keep."""

    code = "ML005"


class VersionConflict(DatabaseError):
    """Somebody changed the memory in the meantime; nothing was written."""

    code = "ML006"


class TenantNotAllowed(DatabaseError):
    """The database login is not bound to this tenant."""

    code = "ML007"


class IdempotencyConflict(DatabaseError, ValueError):
    """The idempotency key was used before, with other input."""

    code = "ML008"


class HistoryTooShort(DatabaseError):
    """The history does not reach back that far."""

    code = "ML009"


BY_SQLSTATE: dict[str | None, type[DatabaseError]] = {
    kind.code: kind for kind in DatabaseError.__subclasses__()
}
"""The class for each SQLSTATE of ours; any other SQLSTATE is a plain DatabaseError."""
