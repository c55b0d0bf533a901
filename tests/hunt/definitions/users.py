"""Sessions that have the table `t` in use when its definition is changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Row = tuple[int, int]

LEVELS = ("READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE")
# The levels at which a snapshot outlasts the statement.
OLD = ("REPEATABLE READ", "SERIALIZABLE")


@dataclass(frozen=True)
class Probe:
    """A statement of a transaction whose snapshot is older than the change, and what it must give.

    The rows are those (id, n) that the table had at the snapshot.
    """

    text: str
    # Which of those rows; None: the statement counts, changes or copies all of them.
    rows: Callable[[Row], bool] | None = None
    # Whether it locks rows or changes them, so that it may conflict with what others did since.
    changes: bool = False


PROBES = (
    Probe("SELECT COUNT(*) FROM {table}"),
    Probe("SELECT id, n FROM {table}", lambda row: True),
    Probe("SELECT id, n FROM {table} WHERE id = 2", lambda row: row[0] == 2),
    Probe("SELECT id, n FROM {table} WHERE id BETWEEN 101 AND 199", lambda r: 101 <= r[0] <= 199),
    Probe("SELECT id, n FROM {table} FORCE INDEX (g) WHERE g >= 0", lambda row: True),
    Probe("SELECT id, n FROM {table} ORDER BY id DESC", lambda row: True),
    Probe("INSERT INTO sink SELECT id, n FROM {table}"),
    Probe("UPDATE {table} SET n = n + 100000", changes=True),
    Probe("UPDATE {table} SET n = n + 100000 WHERE id = 3", lambda r: r[0] == 3, changes=True),
    Probe("DELETE FROM {table}", changes=True),
    Probe("SELECT id, n FROM {table} FOR UPDATE", lambda row: True, changes=True),
)


@dataclass(frozen=True)
class User:
    """What a session does before the change, after it and at its end."""

    name: str
    before: tuple[str, ...]
    # Its statements afterwards are probes of the snapshot if it has one (`old`), else these, which
    # must give what they give with InnoDB.
    after: tuple[str, ...] = ()
    end: tuple[str, ...] = ("COMMIT",)
    old: bool = False
    levels: tuple[str, ...] = LEVELS
    # Whether others can change rows of t between, without waiting.
    others_write: bool = True
    # Statements of a further session: before, and after the change has begun.
    holder: tuple[str, ...] = ()
    releaser: tuple[str, ...] = ()
    # Whether it is shown columns that SELECT * leaves out, such as the times of versions.
    sees_hidden_columns: bool = False


_READ = "SELECT id, n FROM t ORDER BY id"
_CHANGE = "UPDATE t SET n = n + 1 WHERE id <= 3"
USERS = (
    User(
        "a consistent snapshot",
        ("START TRANSACTION WITH CONSISTENT SNAPSHOT",),
        old=True,
        levels=("REPEATABLE READ",),
    ),
    User(
        "a consistent snapshot, read only",
        ("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",),
        old=True,
        levels=("REPEATABLE READ",),
    ),
    User(
        "a first read elsewhere",
        ("BEGIN", "SELECT * FROM s"),
        old=True,
        levels=("REPEATABLE READ",),
    ),
    User(
        "a first change elsewhere",
        ("START TRANSACTION WITH CONSISTENT SNAPSHOT", "UPDATE s SET n = n + 1"),
        old=True,
        levels=("REPEATABLE READ",),
    ),
    User(
        "a read undone by a savepoint",
        ("BEGIN", "SELECT * FROM s", "SAVEPOINT a", _READ, "ROLLBACK TO SAVEPOINT a"),
        old=True,
        levels=("REPEATABLE READ",),
    ),
    User(
        "a change undone by a savepoint",
        ("BEGIN", "SELECT * FROM s", "SAVEPOINT a", _CHANGE, "ROLLBACK TO SAVEPOINT a"),
        old=True,
        levels=("REPEATABLE READ",),
        others_write=False,
    ),
    User("a transaction that has read", ("BEGIN", _READ), (_READ, _CHANGE), levels=OLD),
    User("rows locked", ("BEGIN", f"{_READ} FOR UPDATE"), (_READ, _CHANGE), others_write=False),
    User(
        "one row locked",
        ("BEGIN", "SELECT id FROM t WHERE id = 1 FOR UPDATE"),
        (_READ,),
        others_write=False,
    ),
    User("uncommitted changes", ("BEGIN", _CHANGE), (_READ, _CHANGE), others_write=False),
    User(
        "uncommitted changes, rolled back",
        ("BEGIN", _CHANGE, "DELETE FROM t WHERE id = 4"),
        (_READ,),
        ("ROLLBACK",),
        others_write=False,
    ),
    User(
        "uncommitted changes and a savepoint",
        ("BEGIN", _CHANGE, "SAVEPOINT a", "DELETE FROM t"),
        ("ROLLBACK TO SAVEPOINT a", _READ),
        others_write=False,
    ),
    User(
        "a prepared XA transaction",
        ("XA START '{schema}'", _CHANGE, "XA END '{schema}'", "XA PREPARE '{schema}'"),
        (),
        ("XA COMMIT '{schema}'",),
        others_write=False,
    ),
    User(
        "a prepared XA transaction, rolled back",
        ("XA START '{schema}'", _CHANGE, "XA END '{schema}'", "XA PREPARE '{schema}'"),
        (),
        ("XA ROLLBACK '{schema}'",),
        others_write=False,
    ),
    User(
        "a HANDLER",
        ("HANDLER t OPEN", "HANDLER t READ FIRST"),
        ("HANDLER t READ NEXT", "HANDLER t READ FIRST LIMIT 100"),
        ("HANDLER t CLOSE",),
        sees_hidden_columns=True,
    ),
    User(
        "a HANDLER on an index",
        ("HANDLER t OPEN", "HANDLER t READ g FIRST"),
        ("HANDLER t READ g NEXT", "HANDLER t READ g >= (0) LIMIT 100"),
        ("HANDLER t CLOSE",),
        sees_hidden_columns=True,
    ),
    User(
        "a prepared statement",
        (f"PREPARE p FROM '{_READ}'", "EXECUTE p"),
        ("EXECUTE p", "EXECUTE p"),
        ("DEALLOCATE PREPARE p",),
    ),
    User(
        "a prepared change",
        (f"PREPARE p FROM '{_CHANGE}'", "EXECUTE p"),
        ("EXECUTE p", _READ),
        ("DEALLOCATE PREPARE p",),
    ),
    User(
        "an open cursor",
        ("CALL walk()",),
        (_READ,),
        (),
        holder=("SELECT GET_LOCK('{schema}', 60)",),
        releaser=("SELECT RELEASE_LOCK('{schema}')",),
    ),
    User(
        "a cursor, fetched before and after",
        ("CALL walk_on()",),
        (_READ,),
        (),
        holder=("SELECT GET_LOCK('{schema}', 60)",),
        releaser=("SELECT RELEASE_LOCK('{schema}')",),
    ),
    User(
        "a cursor of a transaction, fetched before and after",
        ("BEGIN", "CALL walk_on()"),
        (_READ, _CHANGE),
        holder=("SELECT GET_LOCK('{schema}', 60)",),
        releaser=("SELECT RELEASE_LOCK('{schema}')",),
    ),
    User(
        "LOCK TABLES READ",
        ("LOCK TABLES t READ",),
        (_READ,),
        ("UNLOCK TABLES",),
        others_write=False,
    ),
    User(
        "LOCK TABLES WRITE",
        ("LOCK TABLES t WRITE", _CHANGE),
        (_READ, _CHANGE),
        ("UNLOCK TABLES",),
        others_write=False,
    ),
    User("nobody", (), (_READ, _CHANGE), ()),
)
# Each waits for a lock of the holder where its cursor is open, and gives the number and the sums of
# the rows that it has fetched.
_FETCH = """walking: LOOP
    FETCH c INTO i, m;
    IF done THEN LEAVE walking; END IF;
    SET rows_ = rows_ + 1, ids = ids + i, ns = ns + m;
  END LOOP;"""
_DECLARE = """DECLARE done INT DEFAULT 0; DECLARE i, m, rows_, ids, ns INT DEFAULT 0;
  DECLARE c CURSOR FOR SELECT id, n FROM t{order};
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET done = 1;
  OPEN c;"""
ROUTINES = (
    f"""CREATE PROCEDURE walk()
BEGIN
  {_DECLARE.format(order="")}
  DO GET_LOCK('{{schema}}', 60);
  {_FETCH}
  CLOSE c;
  DO RELEASE_LOCK('{{schema}}');
  SELECT rows_, ids, ns;
END""",
    # Fetches two rows before and the others after, and then opens the cursor once more.
    f"""CREATE PROCEDURE walk_on()
BEGIN
  DECLARE before_ VARCHAR(100);
  {_DECLARE.format(order=" ORDER BY id")}
  FETCH c INTO i, m; FETCH c INTO i, m;
  DO GET_LOCK('{{schema}}', 60);
  {_FETCH}
  CLOSE c;
  DO RELEASE_LOCK('{{schema}}');
  SET before_ = CONCAT_WS(',', rows_, ids, ns), done = 0, rows_ = 0, ids = 0, ns = 0;
  OPEN c;
  {_FETCH.replace("walking", "again")}
  CLOSE c;
  SELECT before_, rows_, ids, ns;
END""",
)
