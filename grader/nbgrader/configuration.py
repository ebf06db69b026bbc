"""The nbgrader course folder that a gradebook belongs to, and its configuration."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from nbgrader.coursedir import CourseDirectory
from sqlalchemy import make_url
from traitlets.config import Config
from traitlets.config.loader import PyFileConfigLoader

from grader.errors import UsageError

CONFIG_FILE = "nbgrader_config.py"


@dataclass(frozen=True)
class Settings:
    """What an instructor configured.

    Args:
        folder: the nbgrader course folder, `None` where the gradebook stands alone.
    """

    folder: Path | None
    config: Config

    def autograded(self, student: str, assignment: str) -> Path | None:
        """Where nbgrader keeps a graded submission."""
        if self.folder is None:
            return None
        directory = CourseDirectory(config=self.config)
        directory.root = str(self.folder.resolve())
        return Path(directory.format_path(directory.autograded_directory, student, assignment))


def settings_for(url: str) -> Settings:
    """The settings beside the gradebook, if it is a file, or else here.

    Raises:
        UsageError: the configuration cannot be run.
    """
    address = make_url(url)
    beside = [Path(address.database).parent] if address.get_backend_name() == "sqlite" and address.database else []
    folder = next((place for place in (*beside, Path()) if (place / CONFIG_FILE).is_file()), None)
    if folder is None:
        return Settings(None, Config())
    try:
        config = PyFileConfigLoader(CONFIG_FILE, path=str(folder)).load_config()
    except Exception as error:  # whatever an instructor's file raises
        raise UsageError(
            f"{folder / CONFIG_FILE} cannot be used ({type(error).__name__}: {error}): correct it."
        ) from error
    return Settings(folder, config)
