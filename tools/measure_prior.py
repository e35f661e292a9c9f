"""Would a prior on the server, other than the code, find more host names? Bits and limits on hosts it has not seen.

    python tools/measure_prior.py DATA

DATA is that of tools/fit_codes.py. A model of order k over bytes (Witten–Bell interpolation) is trained on the hosts
that the code was fitted to, and mixed half and half with 2^−(length of the code): such a mixture is a prior too, never
more than one bit worse than the code. docs/decisions.md has what it printed.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter, defaultdict
from pathlib import Path

from fit_codes import Strings, hostnames

from hubbub import Hostnames
from hubbub.numeric.tails import normal_quantile_log

START, END = "\x02", "\x03"


class Model:
    """Chances of the next character after the last k, interpolated with those after fewer."""

    def __init__(self, strings: Strings, order: int) -> None:
        self.order = order
        self.next: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for text in strings:
            padded = START * order + text + END
            for at in range(order, len(padded)):
                for back in range(order + 1):
                    self.next[padded[at - back : at]][padded[at]] += 1

    def chance(self, context: str, char: str) -> float:
        """Witten–Bell: as much weight to shorter contexts as there are different characters after this one."""
        below = self.chance(context[1:], char) if context else 1 / 256
        seen = self.next.get(context)
        if not seen:
            return below
        total, kinds = seen.total(), len(seen)
        return (seen[char] + kinds * below) / (total + kinds)

    def bits(self, text: str) -> float:
        """Minus the binary logarithm of a string's chance."""
        padded = START * self.order + text + END
        return -sum(
            math.log2(self.chance(padded[at - self.order : at], padded[at])) for at in range(self.order, len(padded))
        )


def limit(bits: float) -> float:
    """z95 of scoring every name, when one of so many bits may be wrong with a chance of 5 %·2^−bits."""
    return normal_quantile_log(math.log(0.05) - bits * math.log(2)) + 1.645


def main() -> None:
    """Train on what the code was fitted to, measure on what it has not seen."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", type=Path)
    fitted, tests = hostnames(parser.parse_args().data)
    domain = Hostnames()
    for order in (2, 3, 4, 5):
        model = Model(fitted, order)
        print(f"order {order}: {sum(map(len, model.next.values())):,} counts")
        for label, strings in tests.items():
            coded, mixed = [], []
            for text in sorted(strings):
                length = domain.code_length(text)
                if length is None:
                    continue
                coded.append(float(length))
                mixed.append(-math.log2(0.5 * 2.0**-length + 0.5 * 2.0 ** -model.bits(text)))
            before, after = sum(coded) / len(coded), sum(mixed) / len(mixed)
            gain = sum(limit(a) - limit(b) for a, b in zip(coded, mixed, strict=True)) / len(coded)
            print(
                f"order {order}, {label}: {len(coded):,} hosts, code {before:.1f} bits, mixture {after:.1f} bits, "
                f"limit lower by {gain:.2f} sd on average"
            )


if __name__ == "__main__":
    main()
