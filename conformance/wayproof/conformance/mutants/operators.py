"""Everything that may be changed in one function, one small place at a time.

Skipped is what decides nothing: docstrings, assertions, annotations, the texts of labels; and
comparisons with None, whose opposite merely crashes.
"""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from typing import Final

COMPARISONS: Final[Mapping[type[ast.cmpop], tuple[tuple[str, type[ast.cmpop]], ...]]] = {
    ast.Lt: (("lt-to-le", ast.LtE), ("lt-to-ge", ast.GtE)),
    ast.LtE: (("le-to-lt", ast.Lt), ("le-to-gt", ast.Gt)),
    ast.Gt: (("gt-to-ge", ast.GtE), ("gt-to-le", ast.LtE)),
    ast.GtE: (("ge-to-gt", ast.Gt), ("ge-to-lt", ast.Lt)),
    ast.Eq: (("eq-to-ne", ast.NotEq),),
    ast.NotEq: (("ne-to-eq", ast.Eq),),
    ast.Is: (("is-to-is-not", ast.IsNot),),
    ast.IsNot: (("is-not-to-is", ast.Is),),
    ast.In: (("in-to-not-in", ast.NotIn),),
    ast.NotIn: (("not-in-to-in", ast.In),),
}
"""Each comparison with its neighbour at the boundary, if it has one, and its opposite."""

EXTREMES: Final = {"min": "max", "max": "min"}
SIGNS: Final[Mapping[type[ast.operator], tuple[str, type[ast.operator]]]] = {
    ast.Add: ("plus-to-minus", ast.Sub),
    ast.Sub: ("minus-to-plus", ast.Add),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One place of a source text, changed."""

    operator: str
    line: int
    before: str
    after: str
    replacements: tuple[tuple[int, int, str], ...]
    """Start, end and new text of each part, by offset in the text, in order."""

    def apply(self, text: str) -> str:
        """The changed text."""
        for start, end, new in reversed(self.replacements):
            text = text[:start] + new + text[end:]
        return text


def changes(
    function: ast.FunctionDef, text: str, enums: Mapping[str, type[Enum]]
) -> tuple[Change, ...]:
    """Every change of a function of a source text, from its beginning to its end.

    ``enums`` are the enumerations that the text knows, by name.
    """
    place = _Places(text)
    found = [
        change
        for part in [*filter(None, function.args.kw_defaults), *function.body]
        for node in _deciding(part)
        for change in _changes_of(node, place, enums)
    ]
    found += _reorderings(function, place)
    return tuple(sorted(found, key=lambda change: (change.replacements, change.operator)))


class _Places:
    """From nodes of the tree to places in the text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._lines = text.splitlines(keepends=True)
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line))

    def of(self, first: ast.stmt | ast.expr, last: ast.stmt | ast.expr) -> tuple[int, int]:
        """Where the text of some neighbouring nodes begins and ends."""
        assert last.end_lineno is not None and last.end_col_offset is not None
        return (
            self._offset(first.lineno, first.col_offset),
            self._offset(last.end_lineno, last.end_col_offset),
        )

    def _offset(self, line: int, column: int) -> int:
        # The tree counts a column in bytes.
        return self._starts[line - 1] + len(self._lines[line - 1].encode()[:column].decode())


def _deciding(node: ast.AST) -> Iterator[ast.AST]:
    """A node and what is in it, without what decides nothing."""
    if isinstance(node, ast.Assert | ast.JoinedStr):
        return
    yield node
    for name, value in ast.iter_fields(node):
        if name == "annotation":
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _deciding(child)


def _changes_of(node: ast.AST, place: _Places, enums: Mapping[str, type[Enum]]) -> Iterator[Change]:
    if isinstance(node, ast.If):
        guard = not node.orelse and isinstance(node.body[-1], ast.Return)
        yield _changed(
            place, "drop-guard" if guard else "drop-branch", node.test, ast.Constant(False)
        )
    if isinstance(node, ast.expr):
        for operator, new in _expressions(node, enums):
            yield _changed(place, operator, node, new)
    if isinstance(node, ast.comprehension):
        for condition in node.ifs:
            yield _changed(place, "drop-filter", condition, ast.Constant(True))


def _expressions(node: ast.expr, enums: Mapping[str, type[Enum]]) -> Iterator[tuple[str, ast.expr]]:
    """What may stand in the place of an expression, with the operator's name."""
    match node:
        case ast.Compare():
            yield from _comparisons(node)
        case ast.Constant(value=bool(value)):
            yield "flip", ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield "one-more", ast.Constant(value + 1)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "drop-not", operand
        case ast.BinOp(left=left, op=op, right=right) if type(op) in SIGNS:
            operator, other = SIGNS[type(op)]
            yield operator, ast.BinOp(left, other(), right)
        case ast.BoolOp(op=op, values=values):
            if isinstance(op, ast.And):
                yield "and-to-or", ast.BoolOp(ast.Or(), values)
            else:
                yield "or-to-and", ast.BoolOp(ast.And(), values)
            for index in range(len(values)):
                kept = values[:index] + values[index + 1 :]
                yield "drop-condition", kept[0] if len(kept) == 1 else ast.BoolOp(op, kept)
        case ast.IfExp(orelse=orelse) if not _is_text(orelse):
            yield "drop-choice", orelse
        case ast.Call(func=ast.Name(id=name) as called, args=args, keywords=keywords) if (
            name in EXTREMES
        ):
            other_name = ast.Name(EXTREMES[called.id])
            yield f"{name}-to-{other_name.id}", ast.Call(other_name, args, keywords)
        case ast.Call(func=ast.Attribute(attr="_replace") | ast.Name(id="replace") as called):
            for keyword in node.keywords:
                others = [other for other in node.keywords if other is not keyword]
                yield "drop-field", ast.Call(called, node.args, others)
        case ast.Attribute(value=ast.Name(id=name), attr=member) if (
            name in enums and member in enums[name].__members__
        ):
            members = list(enums[name].__members__)
            following = members[(members.index(member) + 1) % len(members)]
            yield "wrong-member", ast.Attribute(node.value, following)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def _comparisons(node: ast.Compare) -> Iterator[tuple[str, ast.expr]]:
    for index, (op, right) in enumerate(zip(node.ops, node.comparators, strict=True)):
        if isinstance(right, ast.Constant) and right.value is None:
            continue
        for operator, other in COMPARISONS[type(op)]:
            ops = [*node.ops[:index], other(), *node.ops[index + 1 :]]
            yield operator, ast.Compare(node.left, ops, node.comparators)


def _changed(place: _Places, operator: str, node: ast.expr, new: ast.expr) -> Change:
    after = ast.unparse(new)
    start, end = place.of(node, node)
    return Change(
        operator=operator,
        line=node.lineno,
        before=ast.unparse(node),
        after=after,
        replacements=((start, end, f"({after})"),),  # bracketed: it may stand in any expression
    )


def _reorderings(function: ast.FunctionDef, place: _Places) -> Iterator[Change]:
    """Two neighbours in a ladder, the other way round: guards in a row, or branches of one if."""
    for node in ast.walk(function):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            for above, below in pairwise(_guards(body)):
                if above and below and not _depends(below, above):
                    yield _exchanged(
                        place, "swap-guards", (above[0], above[-1]), (below[0], below[-1])
                    )
        if (
            isinstance(node, ast.If)
            and len(node.orelse) == 1
            and isinstance(elif_ := node.orelse[0], ast.If)
        ):
            upper = (node.body[0], node.body[-1])
            lower = (elif_.body[0], elif_.body[-1])
            tests = _exchanged(place, "", (node.test, node.test), (elif_.test, elif_.test))
            bodies = _exchanged(place, "", upper, lower)
            yield Change(
                operator="swap-branches",
                line=node.lineno,
                before=f"if {tests.before}: ... elif {tests.after}: ...",
                after=f"if {tests.after}: ... elif {tests.before}: ...",
                replacements=tuple(sorted((*tests.replacements, *bodies.replacements))),
            )


def _guards(body: list[ast.stmt]) -> list[list[ast.stmt]]:
    """The statements in groups: an ``if`` that returns, together with the assignment just above
    it whose result it looks at, is a guard; anything else is an empty group."""
    groups: list[list[ast.stmt]] = []
    for index, statement in enumerate(body):
        groups.append([])
        if (
            isinstance(statement, ast.If)
            and not statement.orelse
            and isinstance(statement.body[-1], ast.Return)
        ):
            groups[-1].append(statement)
            above = body[index - 1] if index else None
            if isinstance(above, ast.Assign) and _bound(above) & _read(statement.test):
                groups[-2:] = [[above, statement]]
    return groups


def _depends(later: list[ast.stmt], earlier: list[ast.stmt]) -> bool:
    bound = set().union(*map(_bound, earlier))
    return bool(bound & set().union(*map(_read, later)))


def _bound(statement: ast.AST) -> set[str]:
    return {
        node.id
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def _read(part: ast.AST) -> set[str]:
    return {
        node.id
        for node in ast.walk(part)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }


def _exchanged(
    place: _Places,
    operator: str,
    upper: tuple[ast.stmt | ast.expr, ast.stmt | ast.expr],
    lower: tuple[ast.stmt | ast.expr, ast.stmt | ast.expr],
) -> Change:
    """Two stretches of the text, the other way round."""
    start, end = place.of(*upper)
    other_start, other_end = place.of(*lower)
    first, second = place.text[start:end], place.text[other_start:other_end]
    return Change(
        operator=operator,
        line=upper[0].lineno,
        before=" ".join(first.split()),
        after=" ".join(second.split()),
        replacements=((start, end, second), (other_start, other_end, first)),
    )
