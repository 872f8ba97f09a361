"""How YAML of Kubernetes is read: what plain scalars mean, and what is refused unread."""

import gc
import io
import re
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import IO, Any

import yaml

from cli.archives import BY_HAND, FEW_VALUES

_DEPTH_LIMIT = 200
_DIGITS_LIMIT = 30
_MERGE = "tag:yaml.org,2002:merge"


class Counted(io.BytesIO):
    """A text that says how much of it was read.

    Args:
        text: The text.
        count: Told the number of bytes each time.
    """

    def __init__(self, text: bytes, count: Callable[[int], None]) -> None:
        super().__init__(text)
        self._count = count

    def read(self, size: int | None = -1) -> bytes:
        piece = super().read(size)
        self._count(len(piece))
        return piece


@contextmanager
def without_collecting() -> Iterator[None]:
    """Keep the garbage collector from looking through what is read, of which nothing is garbage.

    It would take two thirds of the time: the nodes of YAML are many, and it begins anew each time.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def check_shape(text: IO[bytes], most_values: int) -> None:
    """Refuse what is nested so deep that the C parser, which recurses, would crash the process.

    And what has more than *most_values*, before all of them are in memory.
    """
    depth = values = 0
    for event in yaml.parse(text, yaml.CSafeLoader):
        values += isinstance(event, yaml.NodeEvent)
        if values > most_values:
            raise too_many(most_values)
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > _DEPTH_LIMIT:
                raise ValueError(f"it is nested more than {_DEPTH_LIMIT} levels deep")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def too_many(most_values: int) -> ValueError:
    """Return the error about a text with more values than it may have for what it is packed to."""
    return ValueError(f"it has more than {most_values} values; if you trust it, {BY_HAND}")


def number(text: str) -> int | float:
    """Read a number with a point or an exponent; a whole one is exact, as bundles print sizes."""
    try:
        value = Decimal(text)
        if value.adjusted() < _DIGITS_LIMIT and value == value.to_integral_value():
            return int(value)
    except ArithmeticError:
        pass  # an exponent beyond all bounds
    return float(text)


def _bool(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(f"{text!r} is neither true nor false")
    return text.lower() == "true"


class Loader(yaml.CSafeLoader):
    """Reads plain scalars as Kubernetes means them, and no tags of other types.

    YAML 1.1 would also make dates of times, base-60 numbers of PCI addresses, and a string of
    5e+09.
    """

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}
    yaml_constructors = {
        f"tag:yaml.org,2002:{name}": constructor
        for name, constructor in {
            "null": lambda _, _node: None,
            "bool": lambda _, node: _bool(node.value),
            "int": lambda _, node: int(node.value),
            "float": lambda _, node: number(node.value),
            "str": yaml.CSafeLoader.construct_scalar,
            "seq": yaml.CSafeLoader.construct_yaml_seq,
            "map": yaml.CSafeLoader.construct_yaml_map,
        }.items()
    } | {None: yaml.CSafeLoader.construct_undefined}

    _merged = 0
    """So many keys were taken over from other mappings, by `<<`."""

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Take over what `<<` names, unless it is too much: aliases of aliases have no bound."""
        named = [value for key, value in node.value if key.tag == _MERGE]
        for value in named:
            for each in value.value if isinstance(value, yaml.SequenceNode) else [value]:
                if isinstance(each, yaml.MappingNode):
                    self.flatten_mapping(each)
                    self._merged += len(each.value)
                if self._merged > FEW_VALUES:
                    raise yaml.constructor.ConstructorError(
                        problem=f"<< takes over more than {FEW_VALUES} keys in all",
                        problem_mark=node.start_mark,
                    )
        super().flatten_mapping(node)

    def construct_mapping(
        self,
        node: yaml.MappingNode,
        deep: bool = False,  # noqa: FBT001, FBT002 (PyYAML's signature)
    ) -> dict[Hashable, Any]:
        """Refuse a key that is there twice, of which PyYAML would silently drop the first."""
        seen = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in seen:
                raise yaml.constructor.ConstructorError(
                    problem=f"key {key.value!r} is there twice; is a line --- missing before it?",
                    problem_mark=key.start_mark,
                )
            seen.add(key.value if isinstance(key, yaml.ScalarNode) else id(key))
        return super().construct_mapping(node, deep)


for _tag, _pattern, _first in (
    ("bool", "true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("null", "~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("int", "[-+]?[0-9]+", list("-+0123456789")),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", list("-+.0123456789")),
    ("merge", "<<", ["<"]),
):
    Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"^({_pattern})$"), _first)
