"""What a measure gives back: named figures, each with the values of its repetitions, and remarks."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


class BenchError(Exception):
    """A measure could not be taken; the message says what was seen."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured thing. ``key`` is stable, ``values`` holds one number for each repetition."""

    key: str
    label: str
    unit: str
    values: tuple[float, ...]

    @property
    def median(self) -> float:
        """The median of the repetitions."""
        return statistics.median(self.values)

    def as_json(self) -> dict[str, Any]:
        """Return the figure with its median, minimum and maximum, rounded to a millionth."""
        return {
            "key": self.key,
            "label": self.label,
            "unit": self.unit,
            "median": round(self.median, 6),
            "min": round(min(self.values), 6),
            "max": round(max(self.values), 6),
            "values": [round(value, 6) for value in self.values],
        }


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one measure found on one set of pages; ``failure`` is not empty when it broke off."""

    measure: str
    set_name: str
    figures: tuple[Figure, ...] = ()
    remarks: tuple[str, ...] = ()
    failure: str = ""
    seconds: float = 0.0
    load: float = 0.0

    def as_json(self) -> dict[str, Any]:
        """Return the outcome as plain values."""
        return {
            "measure": self.measure,
            "set": self.set_name,
            "figures": [figure.as_json() for figure in self.figures],
            "remarks": list(self.remarks),
            "failure": self.failure,
            "seconds": round(self.seconds, 1),
            "load": self.load,
        }


@dataclass(slots=True)
class Recorder:
    """Collects values over repetitions, in the order in which keys are first seen."""

    remarks: list[str] = field(default_factory=list)
    _labels: dict[str, tuple[str, str]] = field(default_factory=dict)
    _values: dict[str, list[float]] = field(default_factory=dict)

    def add(self, key: str, value: float | None, *, label: str, unit: str) -> None:
        """Add one repetition's value; None (it cannot be read here) leaves no trace."""
        if value is not None:
            self._labels.setdefault(key, (label, unit))
            self._values.setdefault(key, []).append(value)

    def remark(self, text: str) -> None:
        """Add a remark, once."""
        if text not in self.remarks:
            self.remarks.append(text)

    def figures(self) -> tuple[Figure, ...]:
        """Return what was collected."""
        return tuple(
            Figure(key, label, unit, tuple(self._values[key])) for key, (label, unit) in self._labels.items()
        )


def percentile(values: Sequence[float], share: float) -> float:
    """Return the nearest-rank percentile: the smallest value that ``share`` of all do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
