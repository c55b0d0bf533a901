"""What is known of a server and of its process, gathered once. Sizes are bytes, times seconds."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum


class Source(Enum):
    """Where facts come from that may not be there. The value is for people."""

    ENGINE = "the engine ROCKSDB"
    CAIRN = "statuses and tables of Cairn"
    FAMILIES = "information_schema.ROCKSDB_CF_OPTIONS"
    PRIVILEGED = "information_schema.CAIRN_TABLES and its neighbours"
    DEFINITIONS = "the server's table definitions"
    TRANSACTIONS = "XA RECOVER"
    SNAPSHOTS = "information_schema.ROCKSDB_DBSTATS"
    DROPPED = "information_schema.ROCKSDB_GLOBAL_INFO"
    PROCESS = "the server's process in /proc"
    LIBRARY = "the library that the process has mapped"
    PLACES = "the server's files"
    DISK = "free space of the data's file system"
    LOG = "the error log"
    BACKUPS = "a record of backups"


@dataclass(frozen=True)
class Missing:
    """Why a source is not there. `grant`: the statement that would make it there."""

    why: str
    grant: str = ""


@dataclass(frozen=True)
class Setting:
    """A system variable. `origin` is the server's word: COMPILE-TIME, CONFIG, COMMAND-LINE, SQL."""

    value: str
    origin: str = "COMPILE-TIME"
    file: str = ""  # The option file that sets it, with origin CONFIG.
    comment: str = ""


@dataclass(frozen=True)
class Plugin:
    name: str
    version: str
    status: str
    library: str
    author: str
    maturity: str
    load: str  # ON, FORCE, FORCE_PLUS_PERMANENT.


@dataclass(frozen=True)
class Stall:
    """A row of CAIRN_STALLS; `seconds` is None where the table has NULL."""

    state: str
    cause: str
    family: str
    seconds: float | None
    goes_on: bool
    remedy: str


@dataclass(frozen=True)
class Table:
    """A row of CAIRN_TABLES; `name` has schema and partition in it."""

    name: str
    state: str
    reason: str = ""
    obstacles: str = ""
    rows: int = 0
    tombstones: int = 0


@dataclass(frozen=True)
class Build:
    """An index that is being built."""

    index: str
    stage: str
    seconds: float


@dataclass(frozen=True)
class Library:
    """A library of the engine that the process has mapped."""

    path: str
    deleted: bool  # The file that is mapped has no name any more.
    replaced: bool  # Another file has its name.
    rewritten: bool  # It is the same file, written to since the process began.
    stock_on_disk: bool | None = None  # Whether the file with its name is the stock plug-in.


@dataclass(frozen=True)
class Place:
    """A directory of the server's, and the file system that it lies on."""

    what: str  # data, log
    path: str
    file_system: str
    total: int
    free: int


@dataclass(frozen=True)
class Checkpoint:
    """A directory in rocksdb_datadir that is a copy of the database."""

    path: str
    age_s: float


@dataclass(frozen=True)
class Process:
    """What /proc says of the server."""

    pid: int
    open_files: int
    open_files_limit: int | None  # None: no limit.
    resident: int
    swapped: int
    memory: int  # Of the machine, or of the control group where that is less.
    memory_of: str  # machine, or the control group's path.
    libraries: tuple[Library, ...] = ()


@dataclass(frozen=True)
class Backup:
    """A backup that some record tells of; `ended` is in the server's time zone."""

    ended: datetime
    age_s: float
    where: str  # The record.
    command: str = ""
    partial: bool = False


@dataclass(frozen=True)
class Facts:
    """Everything that the checks look at. Names of statuses and variables are in small letters."""

    socket: str = ""
    settings: dict[str, Setting] = field(default_factory=dict)
    statuses: dict[str, str] = field(default_factory=dict)
    plugins: tuple[Plugin, ...] = ()
    families: dict[str, dict[str, str]] = field(default_factory=dict)
    stalls: tuple[Stall, ...] = ()
    tables: tuple[Table, ...] = ()
    builds: tuple[Build, ...] = ()
    dangling_keys: tuple[str, ...] = ()
    undefined_tables: tuple[str, ...] = ()
    dropped_indexes: int = 0
    prepared: tuple[str, ...] = ()  # XA transactions that are there at two looks.
    prepared_seconds: float = 0.0  # The time between these.
    oldest_snapshot_s: float = 0.0
    replica_position_engine: str = ""  # Of mysql.gtid_slave_pos, on a replica.
    backup_lock_held: bool = False
    process: Process | None = None
    places: tuple[Place, ...] = ()
    checkpoints: tuple[Checkpoint, ...] = ()
    corrupted_marker: str = ""  # The file ROCKSDB_CORRUPTED, where there is one.
    logged: tuple[str, ...] = ()  # Errors and warnings of the engine since the last start.
    log_file: str = ""
    backups: tuple[Backup, ...] = ()
    backup_max_age_s: float = 0.0
    missing: dict[Source, Missing] = field(default_factory=dict)

    @property
    def engine(self) -> Plugin | None:
        """The plug-in ROCKSDB, when it is active."""
        return next((p for p in self.plugins if p.name == "ROCKSDB" and p.status == "ACTIVE"), None)

    @property
    def is_cairn(self) -> bool:
        return self.engine is not None and self.engine.author == "Cairn"

    def value(self, name: str) -> str:
        """A variable's value; empty when the server has no such variable."""
        found = self.settings.get(name)
        return found.value if found else ""

    def is_on(self, name: str) -> bool:
        return self.value(name).upper() in ("ON", "1")

    def number(self, name: str) -> int:
        """A variable that is a number; 0 when the server has no such variable."""
        value = self.value(name)
        return int(float(value)) if value else 0

    def status(self, name: str) -> float:
        """A status that is a number; 0 when the server has no such status."""
        return float(self.statuses.get(name, "0") or 0)

    def has_status(self, name: str) -> bool:
        return name in self.statuses
