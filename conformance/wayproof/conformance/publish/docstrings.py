"""The docstrings of attributes, which Python throws away and readers need."""

import ast
import inspect
import textwrap
from functools import cache


@cache
def attribute_docstrings(owner: type) -> dict[str, str]:
    """The docstring below each attribute of a class, own ones before inherited ones.

    Line breaks become spaces; an attribute without a docstring is absent.
    """
    documented: dict[str, str] = {}
    for base in reversed(owner.__mro__):
        if base.__module__.partition(".")[0] == "wayproof":
            documented |= _own_docstrings(base)
    return documented


def summary(owner: object) -> str:
    """The first paragraph of an object's docstring, on one line."""
    return one_line((inspect.getdoc(owner) or "").partition("\n\n")[0])


def one_line(text: str) -> str:
    """The text with every run of white space as one space."""
    return " ".join(text.split())


def _own_docstrings(owner: type) -> dict[str, str]:
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(owner))).body
    assert isinstance(definition, ast.ClassDef)
    documented = {}
    for attribute, below in zip(definition.body, definition.body[1:], strict=False):
        if (
            isinstance(below, ast.Expr)
            and isinstance(below.value, ast.Constant)
            and isinstance(below.value.value, str)
        ):
            match attribute:
                case (
                    ast.AnnAssign(target=ast.Name(id=name))
                    | ast.Assign(targets=[ast.Name(id=name)])
                ):
                    documented[name] = one_line(below.value.value)
    return documented
