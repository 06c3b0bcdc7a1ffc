"""How much of the lifetime cap is spent, and how much one more signal would take, if known."""

from __future__ import annotations

from fractions import Fraction

from rich.style import Style
from rich.text import Text
from textual.reactive import reactive
from textual.widget import Widget


class BudgetMeter(Widget):
    """Spent, what the next signal would take, and what is left; as a bar and in figures."""

    COMPONENT_CLASSES = {"meter--spent", "meter--next", "meter--left", "meter--over"}

    spent: reactive[Fraction] = reactive(Fraction(0))
    cap: reactive[Fraction] = reactive(Fraction(1))
    one_signal: reactive[Fraction] = reactive(Fraction(0))

    def render(self) -> Text:
        """Two rows: the bar and its figures."""
        width = self.size.width
        spent = round(width * min(1.0, float(self.spent / self.cap)))
        if self.spent > 0:
            spent = max(1, spent)
        ahead = min(width - spent, round(width * float(self.one_signal / self.cap)))
        over = self.spent + self.one_signal > self.cap
        bar = Text(no_wrap=True, end="")
        bar.append("━" * spent, self._ink("meter--spent"))
        bar.append("┅" * (0 if over else ahead), self._ink("meter--next"))
        bar.append("─" * (width - bar.cell_len), self._ink("meter--left"))
        return Text("\n").join([bar, self._figures(over=over)])

    def _figures(self, *, over: bool) -> Text:
        figures = Text(no_wrap=True, end="")
        figures.append(f"━ spent {_short(self.spent)}  ", self._ink("meter--spent"))
        if over:
            figures.append("too little is left  ", self._ink("meter--over"))
        elif self.one_signal:
            figures.append(f"┅ next {_short(self.one_signal)}  ", self._ink("meter--next"))
        figures.append(f"of {_short(self.cap)}", self._ink("meter--left"))
        return figures

    def _ink(self, component: str) -> Style:
        return self.get_component_rich_style(component, partial=True)


def _short(value: Fraction) -> str:
    return f"{float(value):.4g}"
