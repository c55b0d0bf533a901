"""The part `counters`: AUTO_INCREMENT up to the end of its range and beyond, as with InnoDB.

Counters are not undone, so each statement runs once with either engine, and the same list of
statements begins anew with each table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from tests.hunt.case import Rig, run_rounds
from tests.hunt.compare import difference
from tests.hunt.part import Context, Finding, Part
from tests.hunt.session import Answer, Script, Session
from tests.hunt.shrink import shrink
from tests.hunt.tables import ENGINES

SHRINK_S = 30.0
STATEMENTS = (6, 14)
# The last value of each type. Beyond 2^53 numbers that a DOUBLE cannot tell apart would come.
TYPES = {
    "TINYINT": 127,
    "TINYINT UNSIGNED": 255,
    "SMALLINT": 2**15 - 1,
    "MEDIUMINT UNSIGNED": 2**24 - 1,
    "INT": 2**31 - 1,
    "INT UNSIGNED": 2**32 - 1,
    "BIGINT": 2**63 - 1,
    "BIGINT UNSIGNED": 2**64 - 1,
}
KEYS = (
    "PRIMARY KEY (n)",
    "PRIMARY KEY (n DESC)",
    "PRIMARY KEY (k), UNIQUE KEY (n)",
    "PRIMARY KEY (k), KEY (n)",
    "PRIMARY KEY (n), UNIQUE KEY (k)",
    "KEY (n), UNIQUE KEY (k)",
    "KEY (n, v)",
)
LOOK = "SELECT n, k, v FROM c ORDER BY n, k, v"


@dataclass(frozen=True)
class Story:
    """A table and what happens to it; {engine} stands for the engine."""

    create: str
    statements: tuple[str, ...]

    def script(self, engine: str) -> list[str]:
        """All statements, and a look at the end."""
        return [self.create.format(engine=engine), *self.statements, LOOK]

    def smaller(self) -> Iterator[Story]:
        """Stories with less in them."""
        for index in range(len(self.statements)):
            yield Story(self.create, self.statements[:index] + self.statements[index + 1 :])
        if "{engine} AUTO_INCREMENT" in self.create:
            yield Story(self.create.partition(" AUTO_INCREMENT=")[0], self.statements)


class Stories:
    """Draws stories."""

    def __init__(self, chance: Random) -> None:
        self._chance = chance
        self._last = 0
        self._fresh = 100

    def story(self) -> Story:
        """A table of any type and keys whose counter is mostly near its end."""
        chance = self._chance
        sql, self._last = chance.choice(list(TYPES.items()))
        keys = chance.choice(KEYS)
        create = f"CREATE TABLE c (n {sql} NOT NULL AUTO_INCREMENT, k INT NOT NULL, v INT, {keys}) "
        create += "ENGINE={engine}"
        if chance.random() < 0.6:
            create += f" AUTO_INCREMENT={self._last - chance.randint(0, 4)}"
        count = chance.randint(*STATEMENTS)
        return Story(create, tuple(self._statement() for _ in range(count)))

    def _number(self) -> str:
        chance = self._chance
        near = self._last - chance.randint(0, 5)
        return str(chance.choice([near, near, self._last, 1, 3, chance.randint(5, 30), 0, "NULL"]))

    def _row(self, number: str = "NULL") -> str:
        return f"({number}, {self._chance.randint(1, 12)}, {self._chance.randint(1, 3)})"

    def _several(self) -> str:
        """Rows with keys of their own: how many numbers are lost by a failure is left open."""
        rows = []
        for _ in range(self._chance.choice([2, 3])):
            self._fresh += 1
            rows.append(f"(NULL, {self._fresh}, 1)")
        return ", ".join(rows)

    def _statement(self) -> str:
        chance, pick = self._chance, self._chance.random()
        if pick < 0.3:
            return f"INSERT INTO c VALUES {self._row()}"
        if pick < 0.4:
            return f"INSERT INTO c VALUES {self._several()}"
        if pick < 0.55:
            return f"INSERT INTO c VALUES {self._row(self._number())}"
        if pick < 0.65:
            return f"INSERT INTO c VALUES {self._row()} ON DUPLICATE KEY UPDATE v = v + 10"
        if pick < 0.7:
            return f"REPLACE INTO c VALUES {self._row(chance.choice(['NULL', self._number()]))}"
        if pick < 0.75:
            return f"INSERT IGNORE INTO c VALUES {self._row()}"
        if pick < 0.85:
            way = chance.choice(["DESC", "DESC", "ASC"])
            return f"DELETE FROM c ORDER BY n {way}, k, v LIMIT 1"
        if pick < 0.9:
            number = chance.choice([self._last, self._last - 1, self._last - 7])
            return f"UPDATE c SET n = {number} ORDER BY n DESC, k, v LIMIT 1"
        if pick < 0.94:
            return f"ALTER TABLE c AUTO_INCREMENT = {self._last - chance.randint(0, 3)}"
        return chance.choice(["FLUSH TABLES c", "TRUNCATE TABLE c", "SELECT LAST_INSERT_ID()"])


def run_story(session: Session, engine: str, story: Story) -> list[Answer]:
    """The answers of its statements, each with a look at the table behind it."""
    session.must("DROP TABLE IF EXISTS c")
    session.must(story.create.format(engine=engine))
    scripts = [Script((text,)) for each in story.statements for text in (each, LOOK)]
    return session.run(scripts)


def compare(story: Story, right: list[Answer], given: list[Answer]) -> tuple[str, int]:
    """The kind of the first difference and the number of its statement; "" without one."""
    for number, (wanted, found) in enumerate(zip(right, given, strict=True)):
        kind = difference(wanted, found)
        is_copied = story.statements[number // 2].startswith("ALTER")
        counts = number % 2 == 0 and not is_copied
        if not kind and counts and wanted.changed != found.changed:
            kind = "another number of changed rows"
        if kind:
            verb = " ".join(story.statements[number // 2].split()[:2])
            return f"{verb}: {'' if number % 2 == 0 else 'rows: '}{kind}", number // 2
    return "", 0


class Hunt:
    """One run of the part, over one server."""

    def __init__(self, context: Context, rig: Rig) -> None:
        self._context = context
        self.rig = rig
        self._kinds: Counter[str] = Counter()

    def judge(self, story: Story) -> tuple[str, int, list[Answer], list[Answer]]:
        """Runs a story with both engines."""
        right = run_story(self.rig.innodb, ENGINES["i"], story)
        given = run_story(self.rig.rocksdb, ENGINES["r"], story)
        return (*compare(story, right, given), right, given)

    def round(self, chance: Random) -> None:
        """Some stories."""
        stories = Stories(chance)
        for _ in range(20):
            if self._context.is_over():
                return
            story = stories.story()
            kind, _, _, _ = self.judge(story)
            self._context.count("tables")
            self._context.count("statements", len(story.statements))
            if kind:
                self._found(story, kind)

    def _found(self, story: Story, kind: str) -> None:
        self._kinds[kind] += 1
        if self._kinds[kind] > 1:
            self._context.count("differences")
            return
        story = shrink(story, Story.smaller, lambda each: self.judge(each)[0] == kind, SHRINK_S)
        _, number, right, given = self.judge(story)
        details = [f"statement: {story.statements[number]}"] if story.statements else []
        for what, index in (("answer", 2 * number), ("rows", 2 * number + 1)):
            if index < len(right):
                details.append(f"{what}: {given[index]}, {given[index].changed} changed")
                details.append(f"  InnoDB: {right[index]}, {right[index].changed} changed")
        script = "".join(f"{line};\n" for line in story.script("ROCKSDB"))
        self._context.found(Finding(kind, script, "\n".join(details)))


def run(context: Context) -> None:
    """Rounds until the deadline."""
    run_rounds(context, Hunt)


PART = Part(
    "counters",
    "AUTO_INCREMENT at the end of its range gives what InnoDB gives",
    run,
    short_s=10.0,
    short_rounds=2,
)
