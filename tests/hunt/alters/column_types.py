"""Types of columns as ALTER TABLE changes them, and literals for them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

from tests.hunt.values import BEYOND, COLLATIONS, WESTERN, WIDE, WORDS, quote

INTEGERS = ("TINYINT", "SMALLINT", "MEDIUMINT", "INT", "BIGINT")
# Where the number of bytes that say a length changes, with one to four bytes a character.
LENGTHS = (1, 4, 10, 20, 63, 64, 85, 86, 127, 128, 255, 256, 300, 600)
TEXTS = ("TINYTEXT", "TEXT", "MEDIUMTEXT", "LONGTEXT")
BLOBS = ("TINYBLOB", "BLOB", "MEDIUMBLOB", "LONGBLOB")
TIMES = ("DATE", "DATETIME", "TIMESTAMP", "TIME", "YEAR")
# ALTER TABLE mostly goes between these; the others are drawn as well.
COMMON_COLLATIONS = (
    ("utf8mb4", "utf8mb4_general_ci"),
    ("utf8mb4", "utf8mb4_bin"),
    ("utf8mb4", "utf8mb4_unicode_ci"),
    ("utf8mb4", "utf8mb4_nopad_bin"),
    ("utf8mb3", "utf8mb3_general_ci"),
    ("latin1", "latin1_swedish_ci"),
    ("latin1", "latin1_bin"),
    ("ascii", "ascii_general_ci"),
    ("ucs2", "ucs2_general_ci"),
)
_MEMBERS = ("red", "green", "blue", "x", "", "B2", "b", "Yellow", "a", "z9")
_LONGEST_WHOLE_KEY = 255


@dataclass(frozen=True)
class Type:
    """A type of column, of one family whose types convert to each other with a meaning."""

    # integer, decimal, real, bit, text, bytes, members, time, other
    family: str
    base: str
    size: tuple[int, ...] = ()
    unsigned: bool = False
    character_set: str = ""
    collation: str = ""
    members: tuple[str, ...] = ()

    @property
    def sql(self) -> str:
        """As in a definition."""
        text = self.base
        if self.members:
            text += f"({','.join(map(quote, self.members))})"
        elif self.size:
            text += f"({','.join(map(str, self.size))})"
        if self.unsigned:
            text += " UNSIGNED"
        if self.character_set:
            text += f" CHARACTER SET {self.character_set} COLLATE {self.collation}"
        return text

    @property
    def is_blob(self) -> bool:
        """Whether a key needs a prefix of it."""
        return self.base in (*TEXTS, *BLOBS)

    @property
    def may_have_prefix(self) -> bool:
        """Whether a key may be of its first characters."""
        return self.is_blob or self.base in ("CHAR", "VARCHAR", "BINARY", "VARBINARY")

    @property
    def is_long(self) -> bool:
        """Whether several of it would make a key too long."""
        return self.is_blob or (self.may_have_prefix and self.size[0] > _LONGEST_WHOLE_KEY)


# ---- drawing -------------------------------------------------------------------------------------


def _text(chance: Random) -> Type:
    pairs = COMMON_COLLATIONS if chance.random() < 0.8 else COLLATIONS
    character_set, name = chance.choice(pairs)
    base = chance.choice(["VARCHAR"] * 5 + ["CHAR", *TEXTS[:3]])
    size: tuple[int, ...] = ()
    if base == "VARCHAR":
        size = (chance.choice(LENGTHS),)
    elif base == "CHAR":
        size = (chance.choice([1, 4, 10, 24, 63]),)
    return Type("text", base, size, False, character_set, name)


def _bytes(chance: Random) -> Type:
    base = chance.choice(["VARBINARY", "VARBINARY", "BINARY", *BLOBS])
    size: tuple[int, ...] = ()
    if base == "VARBINARY":
        size = (chance.choice(LENGTHS),)
    elif base == "BINARY":
        size = (chance.choice([1, 4, 9, 16]),)
    return Type("bytes", base, size)


def _members(chance: Random) -> Type:
    members = tuple(chance.sample(_MEMBERS, chance.randint(1, 6)))
    if (base := chance.choice(["ENUM", "ENUM", "SET"])) == "SET":
        members = tuple(member for member in members if member) or ("x",)
    if chance.random() < 0.1:
        # So many that the number of bytes grows: 8 of a SET, 256 of an ENUM.
        members += tuple(f"m{n}" for n in range(254 if base == "ENUM" else 7))
    return Type("members", base, (), False, *chance.choice(COMMON_COLLATIONS[:3]), members)


def _time(chance: Random) -> Type:
    base = chance.choice(TIMES)
    if base in ("DATE", "YEAR"):
        return Type("time", base)
    return Type("time", base, (chance.choice([0, 0, 1, 3, 6]),))


def of_family(chance: Random, family: str) -> Type:
    """Any type of a family."""
    if family == "integer":
        return Type(family, chance.choice(INTEGERS), (), chance.random() < 0.3)
    if family == "decimal":
        digits = chance.choice([4, 8, 10, 18, 30])
        scale = chance.choice([0, 2, 3])
        return Type(family, "DECIMAL", (digits, scale), chance.random() < 0.2)
    if family == "real":
        return Type(family, chance.choice(["FLOAT", "DOUBLE"]))
    if family == "bit":
        return Type(family, "BIT", (chance.choice([1, 7, 8, 9, 20, 64]),))
    if family == "text":
        return _text(chance)
    if family == "bytes":
        return _bytes(chance)
    if family == "members":
        return _members(chance)
    if family == "time":
        return _time(chance)
    return Type(family, chance.choice(["UUID", "INET6", "INET4"]))


_FAMILIES = {
    "integer": 8,
    "decimal": 2,
    "real": 1,
    "bit": 1,
    "text": 9,
    "bytes": 2,
    "members": 3,
    "time": 3,
    "other": 1,
}


def random_type(chance: Random) -> Type:
    """Any type; integers and strings are the most frequent."""
    [family] = chance.choices(list(_FAMILIES), list(_FAMILIES.values()))
    return of_family(chance, family)


def changed_type(chance: Random, old: Type) -> Type:
    """Another type for a column; mostly one that it converts to with its values."""
    pick = chance.random()
    if pick < 0.08:
        return random_type(chance)
    if pick < 0.25 or old.family in ("real", "other"):
        return of_family(chance, old.family)
    if old.family == "integer":
        at = INTEGERS.index(old.base)
        wider = INTEGERS[min(at + 1, 4) :] if chance.random() < 0.7 else INTEGERS
        signs = [old.unsigned, old.unsigned, not old.unsigned]
        return replace(old, base=chance.choice(wider), unsigned=chance.choice(signs))
    if old.family == "members":
        return replace(old, members=_changed_members(chance, old))
    if old.family == "text" and pick < 0.45:
        return _text(chance)
    if old.family == "text" and pick < 0.55:
        character_set, collation = chance.choice(COMMON_COLLATIONS)
        return replace(old, character_set=character_set, collation=collation)
    return _resized(chance, old)


def enlarged_type(chance: Random, old: Type) -> Type | None:
    """A type of the same kind that holds more; None where there is none."""
    if old.family == "integer" and old.base != "BIGINT":
        return replace(old, base=chance.choice(INTEGERS[INTEGERS.index(old.base) + 1 :]))
    if old.family == "members":
        new = next(each for each in ("new", "n2", "n3", "n4", "n5") if each not in old.members)
        return replace(old, members=(*old.members, new)) if "n4" not in old.members else None
    if old.base == "DECIMAL":
        return replace(old, size=(old.size[0] + chance.choice([1, 2, 9]), old.size[1]))
    if old.base in ("VARCHAR", "VARBINARY"):
        longer = [length for length in LENGTHS if length > old.size[0]]
        return replace(old, size=(chance.choice(longer),)) if longer else None
    if old.base in ("CHAR", "BINARY"):
        return replace(old, size=(old.size[0] + chance.choice([1, 3, 8]),))
    for bases in (TEXTS, BLOBS):
        if old.base in bases[:-1]:
            return replace(old, base=chance.choice(bases[bases.index(old.base) + 1 :]))
    return None


def _resized(chance: Random, old: Type) -> Type:
    for bases in (TEXTS, BLOBS):
        if old.base in bases:
            return replace(old, base=chance.choice(bases))
    if not old.size:
        return of_family(chance, old.family)
    first = old.size[0]
    if old.base in ("VARCHAR", "VARBINARY"):
        longer = [length for length in LENGTHS if length > first]
        first = chance.choice(longer if longer and chance.random() < 0.7 else LENGTHS)
    elif old.base in ("CHAR", "BINARY", "BIT"):
        first = min(64, max(1, first + chance.choice([-1, 1, 1, 3, 8])))
    elif old.base == "DECIMAL":
        scale = chance.choice([old.size[1], old.size[1], old.size[1] + 1, 0])
        return replace(old, size=(min(60, first + chance.choice([0, 1, 2, 9])), scale))
    else:
        first = chance.choice([0, 3, 6])
    return replace(old, size=(first,))


def _changed_members(chance: Random, old: Type) -> tuple[str, ...]:
    members = list(old.members)
    new = next((each for each in ("new", "n2", "n3", "n4") if each not in members), "n5")
    pick = chance.random()
    if pick < 0.5 or len(members) < 2:
        members.append(new)
    elif pick < 0.6:
        members.insert(0, new)
    elif pick < 0.8:
        chance.shuffle(members)
    else:
        members.pop(chance.randrange(len(members)))
    return tuple(dict.fromkeys(members))


# ---- values --------------------------------------------------------------------------------------


def _integer(chance: Random, of: Type) -> str:
    bits = (8, 16, 24, 32, 64)[INTEGERS.index(of.base)]
    low, high = (0, 2**bits - 1) if of.unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    pick = chance.random()
    if pick < 0.06:
        return str(chance.choice([low, high]))
    if pick < 0.16:
        return str(max(low, chance.randint(-5, 5)))
    return str(min(high, chance.randint(1, 3000)))


def _string(chance: Random, of: Type) -> str:
    words = list(WORDS)
    if of.character_set in ("utf8mb4", "utf8mb3", "ucs2", "utf16", "utf32"):
        words += [*WESTERN, *WIDE]
    if of.character_set in ("utf8mb4", "utf16", "utf32"):
        words += BEYOND
    text = chance.choice(words)
    if chance.random() < 0.6:
        text += chance.choice(words) + chance.choice(["", " ", "q", "7"])
    longest = of.size[0] if of.size else 255 if of.base.startswith("TINY") else 3000
    if chance.random() < 0.08:
        text = (text or "w") * chance.choice([5, 20, 80])
    # Too long ones are refused or cut off: rarely.
    return quote(text[: min(800, longest // (3 if of.base == "TINYTEXT" else 1))])


def literal(chance: Random, of: Type) -> str:
    """A literal that the type mostly holds."""
    if of.family == "integer":
        return _integer(chance, of)
    if of.family in ("decimal", "real"):
        sign = "" if of.unsigned else chance.choice(["", "", "-"])
        return sign + chance.choice(["1.5", "0", "12.25", "7", "99.995", "3e1", "42"])
    if of.family == "bit":
        return str(chance.choice([0, 1, 1, 3, 100, 2 ** of.size[0] - 1]) % 2 ** of.size[0])
    if of.family == "text":
        return _string(chance, of)
    if of.family == "bytes":
        most = of.size[0] if of.size else 250
        length = chance.choice([0, 1, 3, 9, 16, 40, 200])
        return f"x'{bytes(chance.choice([0, 1, 32, 65, 255]) for _ in range(length))[:most].hex()}'"
    if of.family == "members":
        some = chance.sample(of.members, min(len(of.members), 1 if of.base == "ENUM" else 2))
        return quote(",".join(some))
    if of.family == "time":
        return _moment(chance, of)
    n = chance.randint(0, 99)
    if of.base == "UUID":
        return f"'{n:02d}345678-9abc-1def-8000-0123456789{n:02d}'"
    return f"'10.0.0.{n}'" if of.base == "INET4" else f"'fe80::{n}:1'"


def constant(chance: Random, of: Type) -> str:
    """A literal for a default; bytes are such that SHOW CREATE TABLE can show them as text."""
    if of.family == "bytes":
        return f"'{'aB7'[: min(of.size[0] if of.size else 3, chance.randint(0, 3))]}'"
    return literal(chance, of)


def _moment(chance: Random, of: Type) -> str:
    day, second = chance.randint(1, 28), chance.randint(0, 59)
    if of.base == "YEAR":
        return str(chance.randint(1990, 2060))
    if of.base == "TIME":
        return f"'{chance.choice(['', '-'])}{day}:10:{second:02d}.123456'"
    year = chance.choice([1999, 2024, 2025])
    return f"'{year}-0{1 + second % 9}-{day:02d}" + (
        "'" if of.base == "DATE" else f" 10:{second:02d}:01.654321'"
    )
