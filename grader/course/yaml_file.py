"""YAML files that people write, read into pydantic models, with errors that name the file, the line and what to do."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, get_args

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError, ValidationInfo, field_validator

from grader.errors import UsageError

Content = TypeVar("Content", bound=BaseModel)
_FORMS = {  # by the type of an error at a plain value
    "string_type": 'YAML reads it as a number, a date, or yes or no: write "{written}", in quotes',
    "tuple_type": "write a list, as in [{written}]",
    "path_type": "write the path of a file or a folder",
    **dict.fromkeys(("float_type", "float_parsing"), "write a number, such as 0.1"),
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "write a whole number, such as 1"),
}
_NO_MAPPING = ("model_type", "model_attributes_type", "dict_type", "mapping_type")  # of an error at another value


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Load plain YAML, but read digits that begin with 0 as text, as a person means them: YAML reads 010 as 8."""


_DIGITS = ("tag:yaml.org,2002:str", re.compile(r"0[0-9_]+\Z"))
_Loader.yaml_implicit_resolvers = {
    **_Loader.yaml_implicit_resolvers,
    "0": [_DIGITS, *_Loader.yaml_implicit_resolvers["0"]],
}


class StrictModel(BaseModel):
    """Hold what people write under known keys; an unknown key is an error, and nothing can be changed afterwards."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @field_validator("*", mode="before")
    @classmethod
    def _check_number(cls, value: Any, field: ValidationInfo) -> Any:
        """Return a value as it is; raise a `ValueError` if it is `yes` or `true`, which would be 1, for a number."""
        kind = cls.model_fields[field.field_name or ""].annotation
        kinds = {kind, *get_args(kind)}
        if isinstance(value, bool) and bool not in kinds and kinds & {int, float}:
            raise ValueError("write a number")
        return value


class YamlFileError(UsageError):
    """Report that a YAML file is not written as it must be."""


def parse_yaml(path: Path, text: str, model: type[Content], advice: Mapping[str, str], no_mapping: str) -> Content:
    """Return the content of a YAML file as an instance of a model.

    Args:
        path: the file, for messages.
        text: the text of the file.
        model: the model of the content.
        advice: by a pattern that the model demands of a value, what to write if the value has it not.
        no_mapping: the sentence for a file that is no mapping at all.

    Raises:
        YamlFileError: the text is not valid YAML, or does not fit the model; names the line.
    """
    try:
        content = yaml.load(text, Loader=_Loader)
        if not isinstance(content, dict):
            raise YamlFileError(f"{path}, line 1: {no_mapping}")
        if (twice := _repeated_key(yaml.compose(text, Loader=_Loader))) is not None:
            line, key = twice
            raise YamlFileError(f"{path}, line {line}: {key} is set twice: remove one.")
        return model.model_validate(content)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise YamlFileError(f"{path}, line {line}: this is not valid YAML ({error.problem}): correct it.") from error
    except yaml.YAMLError as error:
        raise YamlFileError(f"{path}, line 1: this is not valid YAML ({error}): correct it.") from error
    except ValidationError as error:
        raise YamlFileError(_explain(path, text, error, advice)) from error
    except ValueError as error:  # of a date, such as 2026-11-31
        line, value = _no_value(yaml.compose(text, Loader=_Loader))
        raise YamlFileError(f"{path}, line {line}: {value} is no value of its kind ({error}): correct it.") from error


def line_of(text: str, location: Sequence[str | int]) -> int:
    """Return the line of an entry of a YAML text, from 1; if there is no such entry, of the last key that exists.

    Args:
        text: the text.
        location: the keys, and indices of lists, that lead to the entry.
    """
    return _find_entry(text, location)[0]


def _find_entry(text: str, location: Sequence[str | int]) -> tuple[int, list[str], str]:
    """Return where an entry of a YAML text is; if there is no such entry, the last key that leads to it is meant.

    Args:
        text: the text.
        location: the keys, and indices of lists, that lead to the entry; a key may be as it is written, or, as pydantic
            names it, the text of the number or date that it is read as: `262` for `0x106`.

    Returns:
        The line, from 1, the keys and indices as they are written, and the value; this is empty if it is not plain.
    """
    node = yaml.compose(text, Loader=_Loader)
    line, written = 1 if node is None else node.start_mark.line + 1, list[str]()
    for part in location:
        entries = dict(_children(node))
        read = (key for key, (node, _) in entries.items() if _key_as_read(node) == str(part))
        key = part if part in entries else next(read, None)
        if key is None:
            return line, [*written, *map(str, location[len(written) :])], ""
        key_node, node = entries[key]
        line = key_node.start_mark.line + 1
        written.append(str(key))
    return line, written, node.value if isinstance(node, yaml.ScalarNode) else ""


def _key_as_read(node: Any) -> str:
    """Return the text by which pydantic names a key: `262` for `0x106`, `1` for `yes`, and a call for a date.

    Empty for what is no key, such as `<<`.
    """
    try:
        key = yaml.SafeLoader("").construct_object(node)
    except yaml.YAMLError:  # such as <<, which is no key
        return ""
    return str(int(key)) if isinstance(key, bool) else key if isinstance(key, str) else repr(key)


def with_entry(text: str, location: Sequence[str], key: str, value: str) -> str | None:
    """Return a YAML text with one more entry in a mapping, at its end; `None` if the mapping is not one key to a line.

    Args:
        text: the text, whose comments and order stay.
        location: the keys that lead to the mapping, all of which exist.
        key: the key of the entry.
        value: the value of the entry, a plain word.
    """
    node = yaml.compose(text, Loader=_Loader)
    for part in location:
        node = dict(_children(node))[part][1]
    if not isinstance(node, yaml.MappingNode) or node.flow_style or not node.value:
        return None
    lines = text.splitlines(keepends=True)
    first, (last, value_node) = node.value[0][0], node.value[-1]
    end = max(last.start_mark.line, value_node.end_mark.line - (value_node.end_mark.column == 0))
    while end > last.start_mark.line and not lines[end].strip():
        end -= 1
    if not lines[end].endswith("\n"):
        lines[end] += "\n"
    return "".join((*lines[: end + 1], f"{' ' * first.start_mark.column}{key}: {value}\n", *lines[end + 1 :]))


def _explain(path: Path, text: str, error: ValidationError, advice: Mapping[str, str]) -> str:
    """Return the sentence on the first error of a model: file, line, mistake, and what to do.

    Args:
        path: the file.
        text: the text of the file.
        error: pydantic's error.
        advice: what to write for a value, by the pattern that it must have.
    """
    first = min(error.errors(), key=lambda detail: detail["type"] != "extra_forbidden")  # a misspelt key comes first
    line, keys, written = _find_entry(text, [part for part in first["loc"] if part != "[key]"])
    where = ".".join(keys) or "the file"
    if first["loc"][-1:] == ("[key]",):
        written = keys[-1]
    if first["type"] == "extra_forbidden":
        return f"{path}, line {line}: {where} is not a known setting; remove it or correct its name."
    if first["type"] == "missing":
        return f"{path}, line {line}: {where} is missing: add it."
    if (how := advice.get(first.get("ctx", {}).get("pattern", ""))) is not None:
        return f"{path}, line {line}: {where} cannot be {first['input']!r}: {how}."
    if first["type"] in _NO_MAPPING:
        held = "is empty" if first["input"] is None else f"cannot be {str(first['input'])[:40]}"
        return f"{path}, line {line}: {where} {held}: write what belongs to it on the lines below it, indented further."
    if first["input"] is None:
        return f"{path}, line {line}: {where} is empty: write a value, or remove the line."
    if (how := _FORMS.get(first["type"])) is not None and (written or "{written}" not in how):
        return f"{path}, line {line}: {where}: {how.format(written=written)}."
    message = first["msg"].removeprefix("Value error, ")
    return f"{path}, line {line}: {where}: {message[0].lower()}{message[1:]}; correct it."


def _repeated_key(node: Any) -> tuple[int, str] | None:
    """Return line and name of the first key that occurs twice in one mapping below a node; `None` if none does."""
    keys = set[str]()
    for key, (key_node, value) in _children(node):
        if isinstance(key, str):
            if key in keys:
                return key_node.start_mark.line + 1, key
            keys.add(key)
        if (twice := _repeated_key(value)) is not None:
            return twice
    return None


def _no_value(node: Any) -> tuple[int, str]:
    """Return line and text of the first key or value in the form of a number or date that is none, as 2026-02-30.

    The line is 0 and the text empty if there is no such key or value.
    """
    for part in (node, *(part for _, parts in _children(node) for part in parts)):
        if isinstance(part, yaml.ScalarNode):
            try:
                yaml.SafeLoader("").construct_object(part)
            except ValueError:
                return part.start_mark.line + 1, part.value
        elif part is not node and (line_and_text := _no_value(part))[0]:
            return line_and_text
    return 0, ""


def _children(node: Any) -> Iterator[tuple[str | int, tuple[Any, Any]]]:
    """Yield the entries of a YAML node: those of a map or a list; none of a text.

    Args:
        node: a node of `yaml.compose`.

    Yields:
        For an entry of a map its key, and the nodes of key and value; for one of a list its index, and its node twice.
    """
    if isinstance(node, yaml.MappingNode):
        yield from ((key.value, (key, value)) for key, value in node.value)
    elif isinstance(node, yaml.SequenceNode):
        yield from ((i, (value, value)) for i, value in enumerate(node.value))
