"""What `askew.top_k` gives back: names, what they cost, and a picture of both for a notebook."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

from askew.dp.composition import basic
from askew.dp.privacy import ApproximateDP
from askew.dp.release import plain_name
from askew.mechanisms.shortfall import CHANCE
from askew.selection.plan import TopKPlan, loss_in_words

_DRAWN = 50  # items of a picture
_ROW, _TOP, _LEFT, _WIDE, _NARROW = 22, 28, 190, 540, 160  # pixels


@dataclass(frozen=True, repr=False)
class TopK:
    """Selected names and what they cost. Public: safe to print, to store and to send.

    items: sorted by name, or best first where `ordered`. plan: what the call did and what it had
    to expect, in words by `print`. stopped: whether a limited domain ended the list before k.
    counts: their noisy counts, in the same order, if asked for.
    """

    items: list[Any]
    plan: TopKPlan
    stopped: bool = False
    counts: list[int] | None = None

    @property
    def mechanism(self) -> str:
        """Return the name of the mechanism that selected, such as "Canonical"."""
        return self.plan.name

    @property
    def ordered(self) -> bool:
        """Return True if the items stand best first."""
        return self.plan.ordered

    def privacy_loss(self) -> ApproximateDP:
        """Return the loss of the whole result: `plan.items_loss` plus `plan.counts_loss`."""
        counts = self.plan.counts_loss
        return basic([self.plan.items_loss, *([counts] if counts else [])])

    @property
    def loss(self) -> str:
        """Return in words the loss of the whole result and, with counts, of each part."""
        return loss_in_words(self.plan.items_loss, self.plan.counts_loss)

    @property
    def error(self) -> str:
        """Return in words how far noisy counts may be from the true ones; "" without counts."""
        noise = self.plan.parts[2]
        if noise is None:
            return ""
        each, together = noise.error_bound(), noise.error_bound(of=self.plan.k)
        return f"each within {each}, all within {together}, at {_percent()}"

    def __repr__(self) -> str:
        shown = [f"items={self.items!r}"]
        if self.counts is not None:
            shown += [f"counts={self.counts!r}", f"error={self.error!r}"]
        shown += [f"loss={self.loss!r}", f"mechanism={self.mechanism!r}"]
        shown += [f"{flag}=True" for flag in ("ordered", "stopped") if getattr(self, flag)]
        return f"TopK({', '.join(shown)})"

    def _repr_svg_(self) -> str:
        """Draw what was selected, and what it cost, for a notebook."""
        plan, noise = self.plan, self.plan.parts[2]
        drawn = self.items[:_DRAWN]
        bottom = _TOP + _ROW * (len(drawn) + (len(drawn) < len(self.items)))
        title = "ranking, best first" if self.ordered else "a set, sorted by name"
        parts = [_text(0, 16, title + (f"; ± at {_percent()}" if self.counts else ""))]
        widest = max([1, *(self.counts or [])])
        for row, item in enumerate(drawn):
            y = _TOP + _ROW * row
            place = f"{row + 1}. " if self.ordered else ""
            parts.append(_text(0, y + 15, place + _short(str(item))))
            if self.counts is not None and noise is not None:
                width = (_WIDE - _LEFT - 110) * max(0, self.counts[row]) / widest
                parts.append(_bar(_LEFT, y + 4, width, "#4c78a8"))
                label = f"{self.counts[row]:,} ± {noise.error_bound():,}"
                parts.append(_text(_LEFT + width + 6, y + 15, label))
        if len(drawn) < len(self.items):
            parts.append(_text(0, bottom - 7, f"and {len(self.items) - len(drawn)} more"))
        total, x = self.privacy_loss().epsilon, 0.0
        losses = (("items", plan.items_loss, "#f58518"), ("counts", plan.counts_loss, "#e4a85c"))
        for name, loss, color in losses:
            if loss is not None:
                width = _WIDE * float(loss.epsilon / total)
                parts.append(_bar(x, bottom + 10, width, color))
                if width > _NARROW:
                    parts.append(
                        _text(x + 4, bottom + 22, f"{name}: epsilon {loss.epsilon}", "#000")
                    )
                x += width
        words = f"{self.loss}, by {self.mechanism}".split(": ")
        parts += [_text(0, bottom + 44 + 18 * row, line) for row, line in enumerate(words)]
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDE}" height="{bottom + 70}" '
            f'font-family="sans-serif" font-size="13" role="img"><title>{escape(repr(self))}'
            f"</title>{''.join(parts)}</svg>"
        )


def _percent() -> str:
    return f"{float(100 * CHANCE):g} %"


def _short(text: str) -> str:
    plain = plain_name(text)
    return plain if len(plain) <= 24 else plain[:23] + "…"


def _text(x: float, y: float, text: str, color: str = "currentColor") -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" fill="{color}">{escape(text)}</text>'


def _bar(x: float, y: float, width: float, color: str) -> str:
    return f'<rect x="{x:.1f}" y="{y:.0f}" width="{max(width, 1):.1f}" height="16" fill="{color}"/>'
