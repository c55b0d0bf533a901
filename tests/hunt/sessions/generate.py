"""Random scripts: sessions that meet at the same few rows."""

from __future__ import annotations

import random

from tests.hunt.sessions import script, triggers, xa
from tests.hunt.sessions.script import Script, Step
from tests.hunt.sessions.statements import Statements
from tests.hunt.sessions.tables import KINDS, Kind, Table

READ_COMMITTED = "READ COMMITTED"
REPEATABLE_READ = "REPEATABLE READ"
SERIALIZABLE = "SERIALIZABLE"
LEVELS = (READ_COMMITTED, REPEATABLE_READ, SERIALIZABLE)
# The table that is only joined and copied from has numbers for ids, each once.
PARTNERS = tuple(kind for kind in KINDS if kind.unique_id and not {"id", "u"} & set(kind.columns))
# A wait that the script lets run out takes the one, and nothing waits as long as the other.
SHORT_WAIT_S = 2
LONG_WAIT_S = 30


def random_script(chance: random.Random, kind: Kind | None = None) -> Script:
    """Two or three sessions."""
    kind = kind or chance.choice(KINDS)
    tables = (
        Table("t", kind, chance.randint(3, 9)),
        Table("s", chance.choice(PARTNERS), 4, 1),
    )
    statements = Statements(chance, tables)
    level = chance.choices(LEVELS, (5, 3, 2)[: len(LEVELS)])[0]
    names = "ABC"[: chance.choices((2, 3), (3, 1))[0]]
    awaits = chance.random() < 0.15
    plans = [_plan(chance, statements, name, level, first=name == "A") for name in names]
    steps = _merge(chance, plans)
    steps = _disturb(chance, steps, awaits=awaits)
    made = [text for table in tables for text in (table.create(), table.fill(chance))]
    if chance.random() < 0.25:
        made += triggers.create(chance)
    return Script(
        level,
        tuple(made),
        tuple(steps),
        SHORT_WAIT_S if awaits else LONG_WAIT_S,
        {table.name: table.kind.indexes for table in tables},
        sum(table.rows for table in tables),
        latest=level == REPEATABLE_READ and chance.random() < 0.5,
    )


def _plan(
    chance: random.Random, statements: Statements, name: str, level: str, *, first: bool
) -> list[list[Step]]:
    """What one session does; the steps of an inner list stay together."""
    plan: list[list[Step]] = []
    for number in range(1 if first else chance.choice((1, 1, 2))):
        if chance.random() < 0.2:
            plan += _branch(chance, statements, name, f"{name}{number}")
        elif first or chance.random() < 0.65:
            plan += _transaction(chance, statements, name, level)
        else:
            plan += [statements.random(name) for _ in range(chance.randint(1, 3))]
    return plan


def _transaction(
    chance: random.Random, statements: Statements, name: str, level: str
) -> list[list[Step]]:
    pinned = level == REPEATABLE_READ and chance.random() < 0.15
    begin = "START TRANSACTION WITH CONSISTENT SNAPSHOT" if pinned else "BEGIN"
    end = chance.choices(("COMMIT", "ROLLBACK", script.DISCONNECT, script.RESET), (8, 2, 1, 1))[0]
    return [[Step(name, begin)], *_inside(chance, statements, name), [Step(name, end)]]


def _inside(chance: random.Random, statements: Statements, name: str) -> list[list[Step]]:
    """The statements of a transaction, with a savepoint now and then."""
    plan: list[list[Step]] = []
    saved = False
    for _ in range(chance.choice((1, 2, 2, 3, 4))):
        if chance.random() < 0.12:
            plan.append([Step(name, "ROLLBACK TO SAVEPOINT a" if saved else "SAVEPOINT a")])
            saved = True
        plan.append(statements.random(name))
    return plan


# How an XA transaction goes on after its statements; what it has prepared outlasts its session.
_ENDS = (
    (5, ("END", "PREPARE", "COMMIT")),
    (2, ("END", "PREPARE", "ROLLBACK")),
    (2, ("END", "COMMIT ONE PHASE")),
    (1, ("END", "ROLLBACK")),
    (1, ("END", script.DISCONNECT)),
    (3, ("END", "PREPARE", script.DISCONNECT)),
    (2, ("END", "PREPARE", script.KILL)),
    (3, ("END", "PREPARE", script.RESET)),
)


def _branch(
    chance: random.Random, statements: Statements, name: str, branch: str
) -> list[list[Step]]:
    """An XA transaction, and perhaps a ROLLBACK in case that an error has left it behind."""

    def step(what: str) -> list[Step]:
        verb, _, tail = what.partition(" ")
        return [Step(name, what if what[0] == "!" else xa.statement(verb, branch, tail))]

    ends = chance.choices([end for _, end in _ENDS], [weight for weight, _ in _ENDS])[0]
    plan = [step("START"), *_inside(chance, statements, name), *map(step, ends)]
    if script.RESET in ends:
        # Whoever has the connection now goes on.
        return [*plan, *(statements.random(name) for _ in range(chance.randint(1, 2)))]
    return [*plan, step("ROLLBACK")] if chance.random() < 0.4 else plan


def _merge(chance: random.Random, plans: list[list[list[Step]]]) -> list[Step]:
    """The plans in one order; the first session begins."""
    left = [list(plan) for plan in plans]
    steps: list[Step] = []
    for _ in range(chance.randint(2, 3)):
        if left[0]:
            steps += left[0].pop(0)
    while any(left):
        # Runs of one session are as likely as changes between them.
        plan = chance.choice([each for each in left if each])
        for _ in range(chance.choice((1, 1, 2))):
            if plan:
                steps += plan.pop(0)
    return steps


def _disturb(chance: random.Random, steps: list[Step], *, awaits: bool) -> list[Step]:
    """Kills now and then, and waits that run out."""
    result = _ended_by_others(chance, steps)
    names = sorted({step.session for step in steps})
    if awaits:
        at = chance.randint(2, len(result))
        result.insert(at, Step(chance.choice(names), script.AWAIT))
    if chance.random() < 0.2:
        kind = chance.choice((script.KILL_QUERY, script.KILL_QUERY, script.KILL))
        at = chance.randint(2, len(result))
        # Between a look and its statement it would make the look worthless.
        if not result[at - 1].looks:
            result.insert(at, Step(chance.choice(names), kind))
    return result


def _ended_by_others(chance: random.Random, steps: list[Step]) -> list[Step]:
    """XA transactions that their sessions leave prepared are mostly ended by another one."""
    result = list(steps)
    names = sorted({step.session for step in steps})
    for position, step in enumerate(steps):
        prepared = xa.parts(step.text)
        left = next((each for each in steps[position + 1 :] if each.session == step.session), step)
        if prepared.verb == "PREPARE" and left.text.startswith("!") and chance.random() < 0.6:
            verb = chance.choice(("COMMIT", "COMMIT", "ROLLBACK"))
            others = [name for name in names if name != left.session or left.text == script.RESET]
            at = chance.randint(result.index(left) + 1, len(result))
            ends = Step(chance.choice(others), xa.statement(verb, prepared.branch))
            if not result[at - 1].looks:
                result.insert(at, ends)
    return result
