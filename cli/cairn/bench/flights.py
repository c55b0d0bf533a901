"""A flat file of flights, shaped like the on-time data of the United States: 29 columns.

What matters to a storage engine is kept: columns of few values that repeat in runs (dates,
carriers), skewed ones (airports), numbers that follow from each other (times, delays), delays that
are mostly NULL or zero, and rows in the order of time. The same seed gives the same file.
"""

from __future__ import annotations

import datetime
import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

COLUMNS = """
    Year SMALLINT NOT NULL,
    Month TINYINT NOT NULL,
    DayofMonth TINYINT NOT NULL,
    DayOfWeek TINYINT NOT NULL,
    DepTime SMALLINT,
    CRSDepTime SMALLINT NOT NULL,
    ArrTime SMALLINT,
    CRSArrTime SMALLINT NOT NULL,
    UniqueCarrier VARCHAR(7) NOT NULL,
    FlightNum SMALLINT UNSIGNED NOT NULL,
    TailNum VARCHAR(8),
    ActualElapsedTime SMALLINT,
    CRSElapsedTime SMALLINT NOT NULL,
    AirTime SMALLINT,
    ArrDelay SMALLINT,
    DepDelay SMALLINT,
    Origin CHAR(3) NOT NULL,
    Dest CHAR(3) NOT NULL,
    Distance SMALLINT NOT NULL,
    TaxiIn SMALLINT,
    TaxiOut SMALLINT,
    Cancelled TINYINT NOT NULL,
    CancellationCode CHAR(1),
    Diverted TINYINT NOT NULL,
    CarrierDelay SMALLINT,
    WeatherDelay SMALLINT,
    NASDelay SMALLINT,
    SecurityDelay SMALLINT,
    LateAircraftDelay SMALLINT
"""

FLIGHTS_A_DAY = 18_000
FIRST_DAY = datetime.date(2024, 1, 1)
CARRIERS = ("WN", "DL", "AA", "UA", "OO", "YX", "MQ", "B6", "AS", "NK", "9E", "OH", "F9", "HA")
AIRPORTS = 330
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
# Of all flights.
CANCELLED_SHARE = 0.018
DIVERTED_SHARE = 0.0025
# A delay of so many minutes is put down to causes.
BLAMED_DELAY_MIN = 15
NULL = "\\N"


@dataclass(frozen=True)
class _Route:
    origin: str
    destination: str
    miles: int
    minutes: int  # In the air.


class Flights:
    """Rows as texts of a file for LOAD DATA, in the order of time."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        codes = self._codes()
        # Traffic falls with the rank of an airport, of a carrier, of a route.
        airports = list(accumulate(1 / (rank + 2) for rank in range(AIRPORTS)))
        self._carriers = list(accumulate(1 / (rank + 3) for rank in range(len(CARRIERS))))
        self._routes = [self._route(codes, airports) for _ in range(4 * AIRPORTS)]
        self._tails = [
            f"N{self._chance.randrange(100, 1000)}{self._letters(2)}" for _ in range(5000)
        ]

    def rows(self, count: int) -> Iterator[str]:
        """So many rows, each with its line end."""
        chance = self._chance
        for number in range(count):
            day = FIRST_DAY + datetime.timedelta(days=number // FLIGHTS_A_DAY)
            minute = 300 + 1080 * (number % FLIGHTS_A_DAY) // FLIGHTS_A_DAY
            carrier = chance.choices(CARRIERS, cum_weights=self._carriers)[0]
            route = self._routes[int(len(self._routes) * chance.random() ** 2)]
            yield "\t".join(self._row(day, minute, carrier, route)) + "\n"

    # ---- parts of a row -------------------------------------------------------------------------

    def _row(self, day: datetime.date, minute: int, carrier: str, route: _Route) -> list[str]:
        chance = self._chance
        planned = route.minutes + 28
        fixed = [str(day.year), str(day.month), str(day.day), str(day.isoweekday())]
        flight = str(1 + int(6000 * chance.random() ** 1.5))
        tail = self._tails[int(len(self._tails) * chance.random())]
        places = [route.origin, route.destination, str(route.miles)]
        due = [_clock(minute), _clock(minute + planned)]
        fate = chance.random()
        if fate < CANCELLED_SHARE:
            reason = chance.choice("AABBBC")
            return [
                *(*fixed, NULL, due[0], NULL, due[1], carrier, flight, NULL, NULL, str(planned)),
                *(NULL, NULL, NULL, *places, NULL, NULL, "1", reason, "0", *[NULL] * 5),
            ]
        late = self._delay()
        taxi_out, taxi_in = 8 + int(chance.expovariate(0.12)), 3 + int(chance.expovariate(0.25))
        air = max(15, route.minutes + int(chance.gauss(0, 6)))
        took = taxi_out + air + taxi_in
        arrival = late + took - planned
        left = _clock(minute + late)
        if fate < CANCELLED_SHARE + DIVERTED_SHARE:
            return [
                *(*fixed, left, due[0], NULL, due[1], carrier, flight, tail, NULL, str(planned)),
                *(NULL, NULL, str(late), *places, NULL, str(taxi_out), "0", NULL, "1", *[NULL] * 5),
            ]
        return [
            *(*fixed, left, due[0], _clock(minute + late + took), due[1], carrier, flight, tail),
            *(str(took), str(planned), str(air), str(arrival), str(late), *places),
            *(str(taxi_in), str(taxi_out), "0", NULL, "0", *self._causes(arrival)),
        ]

    def _delay(self) -> int:
        """Minutes after the planned departure: most flights leave a little early."""
        chance = self._chance
        if chance.random() < 0.62:
            return int(chance.gauss(-4, 3))
        return int(chance.expovariate(1 / 32))

    def _causes(self, arrival: int) -> list[str]:
        """How a delay divides by cause: NULL for a small one, else one cause has most of it."""
        if arrival < BLAMED_DELAY_MIN:
            return [NULL] * 5
        causes = [0, 0, 0, 0, 0]
        main = self._chance.choices(range(5), cum_weights=(30, 36, 64, 65, 100))[0]
        rest = int(arrival * self._chance.random() * 0.4)
        causes[main] = arrival - rest
        causes[2] += rest
        return [str(cause) for cause in causes]

    # ---- the world ------------------------------------------------------------------------------

    def _letters(self, count: int) -> str:
        return "".join(self._chance.choices(_LETTERS, k=count))

    def _codes(self) -> list[str]:
        """Distinct codes of airports."""
        codes: dict[str, None] = {}
        while len(codes) < AIRPORTS:
            codes[self._letters(3)] = None
        return list(codes)

    def _route(self, codes: list[str], weights: list[float]) -> _Route:
        origin, destination = "", ""
        while origin == destination:
            origin, destination = self._chance.choices(codes, cum_weights=weights, k=2)
        miles = 100 + int(self._chance.expovariate(1 / 700))
        return _Route(origin, destination, miles, 18 + miles * 60 // 480)


def _clock(minute: int) -> str:
    """A minute of the day as hours and minutes, 1430 for half past two."""
    return str(minute // 60 % 24 * 100 + minute % 60)


def write(directory: Path, rows: int, rows_a_file: int, seed: int) -> list[Path]:
    """Writes the flights into files of at most so many rows; returns them in order."""
    flights = Flights(seed).rows(rows)
    paths = []
    for first in range(0, rows, rows_a_file):
        path = directory / f"flights-{first // rows_a_file + 1:03}.tsv"
        with path.open("w", encoding="ascii") as file:
            for _ in range(min(rows_a_file, rows - first)):
                file.write(next(flights))
        paths.append(path)
    return paths
