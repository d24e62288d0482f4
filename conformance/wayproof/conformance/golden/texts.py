"""Cases of canonical JSON as such: names, lists, texts, numbers."""

from typing import Final

from wayproof.conformance.golden.cases import Case

CASES: Final = (
    Case(name="empty object", why="No whitespace is left.", text=" { } "),
    Case(name="empty list", why="An empty list is no null and no absent one.", text="[ ]"),
    Case(
        name="words",
        why="The three words of JSON keep their spelling.",
        text="[ null, true ,\n\tfalse ]",
    ),
    Case(
        name="members in order",
        why="Members are sorted by name, at every depth.",
        text='{"b": {"d": 1, "c": 2}, "a": [{"f": 3, "e": 4}]}',
    ),
    Case(
        name="members in another order",
        why="The order of members in the input says nothing.",
        text='{"a": [{"e": 4, "f": 3}], "b": {"c": 2, "d": 1}}',
        same_as="members in order",
    ),
    Case(
        name="names by code",
        why="Names are compared code by code: digits before capitals before _ before small "
        "letters, 10 before 9, a name before every longer one that begins with it.",
        text='{"b": 1, "a": 2, "B": 3, "": 4, "a_": 5, "aa": 6, "10": 7, "9": 8, "_": 9}',
    ),
    Case(
        name="escaped name",
        why="A name is what its escapes stand for, and is sorted as that.",
        text='{"b": 1, "\\u0061": 2}',
    ),
    Case(
        name="lists keep their order",
        why="The order of a list's entries is part of the value.",
        text="[3, 1, 2]",
    ),
    Case(
        name="null",
        why="A null member is written.",
        text='{"a": null, "b": 1}',
        differs_from="absent",
    ),
    Case(
        name="absent",
        why="An absent member is not; that the two are one is a rule of records, not of bytes.",
        text='{"b": 1}',
        differs_from="null",
    ),
    Case(
        name="NFC",
        why="U+00E9: a text is never normalized.",
        text='"caf\\u00e9"',
        differs_from="NFD",
    ),
    Case(
        name="NFD",
        why="e with U+0301 looks like U+00E9 and stays another text.",
        text='"cafe\\u0301"',
        differs_from="NFC",
    ),
    Case(
        name="compatibility characters",
        why="The angstrom sign, a ligature and a full-width letter stay what they are.",
        text='"\\u212b \\ufb01 \\uff21"',
    ),
    Case(
        name="needless escapes",
        why="What can stand for itself does: A, the slash, a letter with diaeresis.",
        text='"\\u0041\\/\\u00e4"',
    ),
    Case(
        name="short escapes",
        why="Quote, backslash and five control characters have their short escapes.",
        text='"\\u0022\\u005c\\u0008\\u0009\\u000a\\u000c\\u000d"',
    ),
    Case(
        name="other control characters",
        why="Every other one below U+0020 is written with four small hexadecimal digits.",
        text='"\\u0000\\u0001\\u000B\\u001F"',
    ),
    Case(
        name="no other escapes",
        why="Delete, U+0080, the line and paragraph separators and U+FEFF stand for themselves.",
        text='"\\u007f\\u0080\\u2028\\u2029\\ufeff"',
    ),
    Case(
        name="markup",
        why="Nothing is escaped for the sake of HTML.",
        text="\"<a href='x'>&amp;</a>\"",
    ),
    Case(
        name="beyond the basic plane",
        why="Two surrogates of an escape are one character of four bytes.",
        text='"\\ud83d\\udecd\\uFE0F \\udbff\\udfff"',
    ),
    Case(
        name="zero",
        why="Zero has no sign.",
        text="[0, -0]",
    ),
    Case(
        name="largest integers",
        why="2**53-1 is the largest integer of any record; its negative is as exact.",
        text="[9007199254740991, -9007199254740991]",
    ),
    Case(
        name="number in a text",
        why="A text is no number, whatever it looks like.",
        text='["1.0", "9007199254740992", "null"]',
    ),
)
