"""${message}."""

from memlayer_pg import schema

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = ${repr(branch_labels)}
depends_on = ${repr(depends_on)}

# Run again as they stand at this revision.
FILES: dict[str, str] = {}

# Brought to where they stand by the statements below.
ALTERED: dict[str, str] = {}


def upgrade() -> None:
    schema.apply(FILES, at=revision)
    schema.record(revision)


def downgrade() -> None:
    schema.forget(revision)
    schema.restore(FILES, at=down_revision)
