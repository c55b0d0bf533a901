"""Makes a list that shows a fault as short as it can be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

Item = TypeVar("Item")


def shorten(
    items: Sequence[Item],
    shows: Callable[[Sequence[Item]], bool],
    is_over: Callable[[], bool] = lambda: False,
) -> list[Item]:
    """The items without as many as can go while `shows` still holds.

    Large pieces are tried first, then smaller ones, from the end, until no single item can go or
    `is_over`. `shows` is not asked about the whole list: the caller knows that it shows the fault.
    """
    kept = list(items)
    size = max(1, len(kept) // 2)
    while kept:
        went = False
        end = len(kept)
        while end > 0:
            if is_over():
                return kept
            begin = max(0, end - size)
            without = kept[:begin] + kept[end:]
            if shows(without):
                kept, went = without, True
            end = begin
        if size == 1 and not went:
            break
        size = max(1, size // 2)
    return kept
