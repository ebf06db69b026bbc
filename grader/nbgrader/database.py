"""nbgrader's database: a connection for reading, and sentences that explain its errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from grader import INSTALL_NBGRADER
from grader.errors import UsageError

EXAMPLE = "sqlite:///gradebook.db"
TABLE = "handgrad_assignment"  # beside nbgrader's own tables


@contextmanager
def connect_read_only(url: str) -> Iterator[Any]:
    """Connect to an existing gradebook without making or writing anything, as a context manager.

    Args:
        url: any SQLAlchemy URL that nbgrader accepts.

    Yields:
        The SQLAlchemy connection.

    Raises:
        UsageError: nbgrader is not installed, or `url` is not the address of a gradebook of its.
    """
    with needs_nbgrader():
        import nbgrader.api  # noqa: F401
        from sqlalchemy import create_engine, inspect
    with explain_errors(url, "read"):
        _check_file(url)
        engine = create_engine(url)
        try:
            if not inspect(engine).has_table("submitted_notebook"):
                raise UsageError(
                    f"{url_without_password(url)} is no gradebook of nbgrader's: name the one that nbgrader wrote."
                )
            with engine.connect() as connection:
                yield connection
        finally:
            engine.dispose()


@contextmanager
def needs_nbgrader() -> Iterator[None]:
    """Explain a missing nbgrader, as a context manager around imports that only instructors need.

    Raises:
        UsageError: nbgrader is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise UsageError(f"--gradebook needs nbgrader: install it with {INSTALL_NBGRADER}") from error


@contextmanager
def explain_errors(url: str, action: str) -> Iterator[None]:
    """Explain the errors of a database, as a context manager around work on it.

    Args:
        url: the URL of the database.
        action: `read` or `written`, for the message.

    Raises:
        UsageError: the database cannot be used.
    """
    from sqlalchemy.exc import ArgumentError, SQLAlchemyError

    try:
        yield
    except ModuleNotFoundError as error:
        raise UsageError(
            f"{url_without_password(url)} needs the Python package {error.name}: install it with pip."
        ) from error
    except ArgumentError as error:
        raise UsageError(f"--gradebook takes the address of a database, such as {EXAMPLE}") from error
    except SQLAlchemyError as error:
        why = str(getattr(error, "orig", None) or error).splitlines()[0]
        raise UsageError(
            f"{url_without_password(url)} cannot be {action} ({why}): put that right, and run the same command "
            "again; an old gradebook needs nbgrader db upgrade first."
        ) from error


def url_without_password(url: str) -> str:
    """Return a database's URL with its password hidden."""
    from sqlalchemy import make_url

    return make_url(url).render_as_string(hide_password=True)


def database_address(url: str) -> str:
    """Return a database's URL without its password; the URLs of one SQLite file, however it is named, are the same."""
    from sqlalchemy import make_url

    parsed = make_url(url)
    if parsed.get_backend_name() == "sqlite" and parsed.database:
        parsed = parsed.set(database=str(Path(parsed.database).resolve()))
    return parsed.render_as_string(hide_password=True)


def assignments_of_units(connection: Any) -> dict[str, str]:
    """Return by the id of a unit the assignment of `class.yaml` whose points a gradebook has; other units are missing.

    Args:
        connection: a SQLAlchemy connection to the gradebook.
    """
    from sqlalchemy import inspect, text

    if not inspect(connection).has_table(TABLE):
        return {}
    return {row.unit: row.name for row in connection.execute(text(f"SELECT unit, name FROM {TABLE}"))}


def note_assignment(connection: Any, unit: str, name: str) -> None:
    """Note in a gradebook which assignment of `class.yaml` the points of a unit are of; it travels with the gradebook.

    Args:
        connection: a SQLAlchemy connection to the gradebook, in a transaction.
        unit: the id of the unit.
        name: the name of the assignment; empty if the points are of none.
    """
    from sqlalchemy import text

    known = assignments_of_units(connection)
    if known.get(unit, "") == name:
        return
    connection.execute(text(f"CREATE TABLE IF NOT EXISTS {TABLE} (unit VARCHAR(128) PRIMARY KEY, name TEXT NOT NULL)"))
    connection.execute(text(f"DELETE FROM {TABLE} WHERE unit = :unit"), {"unit": unit})
    if name:
        connection.execute(text(f"INSERT INTO {TABLE} VALUES (:unit, :name)"), {"unit": unit, "name": name})


def refuse_in_memory(url: str) -> None:
    """Refuse a gradebook in memory, which would be lost when the command ends.

    Raises:
        UsageError: `url` is that of a gradebook in memory.
    """
    from sqlalchemy import make_url
    from sqlalchemy.exc import ArgumentError

    with suppress(ArgumentError):  # explained when the database is opened
        parsed = make_url(url)
        if parsed.get_backend_name() == "sqlite" and parsed.database in (None, "", ":memory:"):
            raise UsageError(f"This address names no file: name the gradebook to write, such as {EXAMPLE}")


def _check_file(url: str) -> None:
    """Refuse the URL of a missing SQLite file, which opening it would create.

    Raises:
        UsageError: the file is missing.
        ArgumentError: `url` is no URL.
    """
    from sqlalchemy import make_url

    parsed = make_url(url)
    kind = parsed.get_dialect().name
    name = parsed.database or ""
    if kind == "sqlite" and not name.startswith("file:") and not Path(name).is_file():
        missing = f"There is no gradebook {name}" if name else "This address names no file"
        raise UsageError(f"{missing}: name the one that nbgrader wrote, such as {EXAMPLE}")
