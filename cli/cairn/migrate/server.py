"""What the server as a whole is like, as far as a migration needs to know."""

from __future__ import annotations

from cairn.errors import CairnError
from cairn.migrate.link import Session
from cairn.migrate.ways import Circumstances

# The start is computed from seconds that are rounded.
SAME_START_S = 2


def require_engine(session: Session, target: str) -> None:
    if not session.value(
        f"SELECT 1 FROM information_schema.engines WHERE engine = '{target}' AND support <> 'NO'"
    ):
        raise CairnError(
            f"This server has no engine {target.upper()}; its error log says why, if it should "
            "have."
        )


def circumstances(session: Session, target: str, verify: str, *, no_binlog: bool) -> Circumstances:
    """Asks the server for what decides about ways."""
    logs = bool(int(session.value("SELECT @@log_bin")))
    statements = session.value("SELECT @@GLOBAL.binlog_format") == "STATEMENT"
    return Circumstances(
        target,
        binary_log=logs,
        statement_format=logs and statements and not _is_on(session, "cairn_range_locks"),
        without_binary_log=logs and no_binlog,
        replicating=is_replicating(session),
        cluster=_is_on(session, "wsrep_on"),
        verify=verify,
    )


def _is_on(session: Session, variable: str) -> bool:
    rows = session.rows(f"SHOW GLOBAL VARIABLES LIKE '{variable}'")
    return bool(rows) and str(rows[0][1]).upper() in ("ON", "1")


def is_replicating(session: Session) -> bool:
    """Whether the server applies changes of another one now."""
    rows = session.rows("SHOW GLOBAL STATUS LIKE 'Slaves_running'")
    return bool(rows) and int(rows[0][1]) > 0


def started(session: Session) -> int:
    """The second in which the server was started, give or take one."""
    return int(
        session.value(
            "SELECT UNIX_TIMESTAMP() - variable_value FROM information_schema.global_status "
            "WHERE variable_name = 'UPTIME'"
        )
    )


def same_start(one: int, other: int) -> bool:
    return abs(one - other) <= SAME_START_S


def keeps_commits(session: Session) -> bool:
    """Whether a crash loses nothing that either engine has committed."""
    settings = {
        str(row[0]).lower(): str(row[1])
        for row in session.rows(
            "SHOW GLOBAL VARIABLES WHERE variable_name IN ('innodb_flush_log_at_trx_commit', "
            "'rocksdb_flush_log_at_trx_commit', 'rocksdb_write_disable_wal')"
        )
    }
    return (
        settings.get("innodb_flush_log_at_trx_commit") == "1"
        and settings.get("rocksdb_flush_log_at_trx_commit") == "1"
        and settings.get("rocksdb_write_disable_wal", "OFF") == "OFF"
    )
