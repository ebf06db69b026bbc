"""What a document says of the project (links, paths, modules, commands), and which of it is not so."""

from __future__ import annotations

import importlib
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from typer.main import get_command

from grader.cli import main as cli
from grader.cli.learner import WHOLE_COURSE
from grader.course.course import load_course
from helpers.courses import ROOT

PACKAGE = ROOT / "grader"
FOLDERS = (".ci", "benchmarks", "docs", "exercises", "grader", "handgrad", "solutions", "tests", "tools")
ENDINGS = "py md yaml json svg png css csv toml txt html xml zip db ipynb jinja".split()

# Files that are nobody's but the reader's: what an example makes, hands in or gets back.
EXAMPLE_FOLDERS = (
    ".venv .handgrad my-course my-class submissions grades source release submitted feedback exported test-reports"
).split()
EXAMPLE_FILES = (
    "page.html quizzes.xml quizzes.zip gradebook.db squareplus_grad.py example.py FILE.xml FILE.zip autograder.py"
    " gradebook.csv worksheet.csv report.csv"
).split()
PROGRAMS = ("handgrad", "pytest ", "python ")
FOREIGN_OPTIONS = {
    "--extra-index-url": "pip",
    "--force": "nbgrader",
    "--hypothesis-profile": "hypothesis",
    "--no-skips": "tests/helpers/skips.py",
}

FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"(?<!`)`([^`]+)`(?!`)")
LINK = re.compile(r"\]\(([^)\s]+)\)")
PATH = re.compile(rf"[\w.<>*-]+(/[\w.<>*-]+)*(/|\.({'|'.join(ENDINGS)}))")
UNDER = re.compile(rf"({'|'.join(map(re.escape, FOLDERS))})/[\w./<>*-]*")
DOTTED = re.compile(r"(\w+(?:\.\w+)+)(?:\(\))?")
IMPORT = re.compile(r"from (handgrad|grader[\w.]*) import ([\w, ]+)")
CELL = re.compile(r"(?<!\\)\|")
PLACEHOLDER = re.compile(r"\[?[A-Z]+\]?")


@dataclass(frozen=True)
class Document:
    """One document, read as claims.

    Args:
        path: where it is, or would be.
        text: Markdown.
    """

    path: Path
    text: str

    @cached_property
    def blocks(self) -> list[tuple[str, str]]:
        """Fenced blocks, each with its language."""
        return [(language, body) for _, language, body in FENCE.findall(self.text)]

    @cached_property
    def spans(self) -> list[str]:
        """Return the texts in backticks, on one line or two."""
        spans = (" ".join(span.split()) for span in SPAN.findall(FENCE.sub("", self.text)))
        return [span for span in spans if span]

    @cached_property
    def lines(self) -> list[str]:
        """Return the lines that a reader may type or look up; of a block of plain text, commands only."""
        shown = [line for language, body in self.blocks if language == "" for line in body.splitlines()]
        drawn = [line for language, body in self.blocks if language == "text" for line in body.splitlines()]
        return [*self.spans, *shown, *(line for line in drawn if line.startswith(PROGRAMS))]

    def table(self, heading: str) -> list[list[str]]:
        """Return the rows of the table whose first column has this heading, each a list of cells."""
        (rows,) = [rows for first, rows in self._tables(self.text) if first == heading]
        return rows

    def tables_of(self, section: str) -> list[list[list[str]]]:
        """Return the rows of each table in the section under a heading."""
        body = re.split(rf"^#+ {re.escape(section)}$", self.text, flags=re.MULTILINE)[1]
        return [rows for _, rows in self._tables(re.split(r"^#+ ", body, flags=re.MULTILINE)[0])]

    @staticmethod
    def _tables(text: str) -> list[tuple[str, list[list[str]]]]:
        """Return each table of a text: the heading of its first column, and its rows."""
        tables = re.findall(r"(?:^\|.*\|\n)+", text, re.MULTILINE)
        cells = [
            [[cell.strip().replace("\\|", "|") for cell in CELL.split(line)[1:-1]] for line in table.splitlines()]
            for table in tables
        ]
        return [(head[0], rows) for head, _, *rows in cells]

    def findings(self) -> list[str]:
        """Return every claim that is not true, in a few words."""
        claims = [*self._links(), *self._paths(), *self._modules(), *self._commands()]
        return list(dict.fromkeys(claims))

    def commands(self, program: str) -> list[list[str]]:
        """Return the command lines of a program that the document shows, as words, without the program's name."""
        return [words for line in self.lines for words in _command_lines(line, program)]

    def _links(self) -> Iterator[str]:
        for target in LINK.findall(FENCE.sub("", self.text)):
            if "://" in target:
                continue
            file, _, heading = target.partition("#")
            path = (self.path.parent / file) if file else self.path
            if not path.exists() and path != self.path:
                yield f"link to {target}: there is no such file"
            elif heading and heading not in _headings(self.text if path == self.path else path.read_text("utf-8")):
                yield f"link to {target}: there is no such heading"

    def _paths(self) -> Iterator[str]:
        for line in self.lines:
            for word in line.split():
                name = word.strip("\"'(),;:=[]").partition("::")[0].removesuffix(".")
                if (PATH.fullmatch(name) or UNDER.fullmatch(name)) and not _is_there(name, self.path.parent):
                    yield f"{name}: there is no such file"

    def _modules(self) -> Iterator[str]:
        names = [match[1] for span in self.spans if (match := DOTTED.fullmatch(span))]
        for language, body in self.blocks:
            for module, imported in IMPORT.findall(body) if language == "python" else ():
                names += [f"{module}.{name.strip()}" for name in imported.split(",")]
        for name in names:
            dotted = name if name.startswith(("grader.", "handgrad.")) else f"grader.{name}"
            ours = dotted == name or _is_at_the_top(name.partition(".")[0])
            if ours and not PATH.fullmatch(name) and not _is_defined(dotted):
                yield f"{name}: there is no such module, or nothing of that name in it"

    def _commands(self) -> Iterator[str]:
        for words in self.commands("handgrad"):
            yield from _misuse(words)
        for span in self.spans:
            if span.split()[0] in ROOT_COMMAND.commands and " --" in span:
                yield from _misuse(shlex.split(span))
            elif re.match(r"--\w", span) and (option := re.split(r"[ =]", span)[0]) not in _options():
                yield f"{option}: no command has this option"
        for words in self.commands("python"):
            script = ROOT / words[0] if words else ROOT
            if script.is_file():
                text = script.read_text("utf-8")
                yield from (f"{words[0]} has no {word}" for word in words if word.startswith("--") and word not in text)


ROOT_COMMAND = get_command(cli.app)


def documents() -> list[Document]:
    """Return every document of the project."""
    paths = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md")), ROOT / "benchmarks" / "README.md"]
    paths += sorted((ROOT / "exercises").glob("*/README.md"))
    return [Document(path, path.read_text("utf-8")) for path in paths]


def _headings(text: str) -> set[str]:
    """Return the anchors of a document's headings, as GitHub makes them."""
    titles = re.findall(r"^#+ (.+)$", FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def _is_there(name: str, folder: Path) -> bool:
    """There is such a file here, in the project, or, by its bare name, anywhere in it; `<unit>` is any name."""
    pattern = re.sub(r"<\w+>", "*", name).rstrip("/")
    if pattern.split("/")[0] in EXAMPLE_FOLDERS or pattern.split("/")[-1] in EXAMPLE_FILES:
        return True
    if any(True for base in (folder, ROOT) for _ in base.glob(pattern)):
        return True
    if "/" in pattern:
        return False
    if folder.parent.name == "exercises":  # a lesson names files of its own unit
        return False
    return pattern in _names_in_tree() or pattern in _source()


@cache
def _names_in_tree() -> set[str]:
    return {path.name for folder in FOLDERS for path in (ROOT / folder).rglob("*")}


@cache
def _source() -> str:
    """Return the text of all modules of `grader`: a file named in it is one that it reads or writes."""
    return "".join(path.read_text("utf-8") for path in sorted(PACKAGE.rglob("*.py")))


def _is_at_the_top(name: str) -> bool:
    """Return whether it is a package or a module of `grader`."""
    return (PACKAGE / name).is_dir() or (PACKAGE / f"{name}.py").is_file()


def _is_defined(dotted: str) -> bool:
    """There is such a module, or something of that name in one."""
    parts = dotted.split(".")
    for length in range(len(parts), 0, -1):
        path = ROOT.joinpath(*parts[:length])
        if path.with_suffix(".py").is_file() or (path / "__init__.py").is_file():
            parent = importlib.import_module(".".join(parts[:length]))
            return _has(parent, parts[length:])
    return False


def _has(value: object, names: list[str]) -> bool:
    for name in names:
        if not hasattr(value, name):
            return name in getattr(value, "__annotations__", {})
        value = getattr(value, name)
    return True


def _command_lines(line: str, program: str) -> Iterator[list[str]]:
    """Yield the arguments of each use of a program in a line for the shell."""
    for part in re.split(r"&&|\||;|>|(?:^|\s)#", line.strip().removeprefix("$ ").removeprefix("next: ")):
        words = part.split()
        if words and Path(words[0]).name == program:
            with_quotes = shlex.split(part) if part.count('"') % 2 == 0 and part.count("'") % 2 == 0 else words
            yield with_quotes[1:]


def _misuse(words: list[str]) -> Iterator[str]:
    """Yield what the command line of `handgrad` would refuse."""
    command = ROOT_COMMAND
    shown = " ".join(["handgrad", *words])
    while hasattr(command, "commands") and words and not words[0].startswith("-"):
        if words[0] == "...":
            return
        if words[0] not in command.commands:
            yield f"{shown}: there is no command {words[0]}"
            return
        command, words = command.commands[words[0]], words[1:]
    options = {option: parameter for parameter in command.params for option in parameter.opts}
    values = iter(words)
    given = []
    for word in values:
        if not word.startswith("-"):
            given.append(word)
        elif word.partition("=")[0] not in (*options, "-h", "--help"):
            yield f"{shown}: there is no option {word}"
        elif "=" not in word and word in options and not getattr(options[word], "is_flag", False):
            next(values, None)
    takes = [parameter for parameter in command.params if parameter.param_type_name == "argument"]
    if len(given) > len(takes) and all(parameter.nargs == 1 for parameter in takes):
        yield f"{shown}: {' '.join(given[len(takes) :])} is too much"
    of_course = bool(takes) and takes[0].name in ("targets", "exercise_id", "unit")
    if of_course and given and given[0] != WHOLE_COURSE and not _is_known(given[0]):
        yield f"{shown}: the course has no {given[0]}"


@cache
def _is_known(name: str) -> bool:
    """Return whether it is an exercise or a unit of the course, a path or a placeholder."""
    course = load_course(ROOT)
    ids = {each.id for each in course.exercises} | {unit.id for unit in course.config.units}
    return course.config.unit_id(name) in ids or "/" in name or bool(PLACEHOLDER.fullmatch(name))


@cache
def _options() -> set[str]:
    """Return every option that a document may name without its command."""
    commands = [ROOT_COMMAND]
    for command in commands:
        commands += getattr(command, "commands", {}).values()
    return {option for command in commands for each in command.params for option in each.opts} | set(FOREIGN_OPTIONS)
