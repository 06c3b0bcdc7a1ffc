"""Plays the notebooks of docs/notebooks, without Jupyter.

    python -m benchmarks.notebooks          plays each, and stores what it shows

The cells of a notebook are run in order as Python, with `await` allowed, as in Jupyter. What a cell
prints, and what its last line is worth, are its outputs: text, and a picture where the object draws
itself as SVG. Its own assertions say what must hold in every run. A cell with the tag "by-chance"
shows what another run does not.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import inspect
import io
import json
import sys
from pathlib import Path
from typing import Any, Final

FOLDER: Final = Path(__file__).parents[1] / "docs/notebooks"
CHANCE: Final = "by-chance"
Cell = dict[str, Any]


def notebooks() -> list[Path]:
    return sorted(FOLDER.glob("*.ipynb"))


def cells_of(path: Path) -> list[Cell]:
    found = json.loads(path.read_text("utf-8"))["cells"]
    return [cell for cell in found if cell["cell_type"] == "code"]


def by_chance(cell: Cell) -> bool:
    return CHANCE in cell["metadata"].get("tags", ())


def played(cells: list[Cell]) -> list[list[Cell]]:
    names: dict[str, Any] = {"__name__": "__main__"}
    with asyncio.Runner() as runner:
        return [_outputs("".join(cell["source"]), names, runner) for cell in cells]


def _outputs(source: str, names: dict[str, Any], runner: asyncio.Runner) -> list[Cell]:
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        _run(compile(tree, "a cell", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names, runner)
        value = None
        if isinstance(last, ast.Expr):
            asked = ast.Expression(last.value)
            value = _run(
                compile(asked, "a cell", "eval", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names, runner
            )
    found: list[Cell] = []
    if printed.getvalue():
        lines = printed.getvalue().splitlines(keepends=True)
        found.append({"output_type": "stream", "name": "stdout", "text": lines})
    if value is not None:
        data = {"text/plain": [repr(value)]}
        if hasattr(value, "_repr_svg_"):
            data = {"image/svg+xml": value._repr_svg_().splitlines(keepends=True)} | data
        found.append({"output_type": "display_data", "metadata": {}, "data": data})
    return found


def _run(code: Any, names: dict[str, Any], runner: asyncio.Runner) -> object:
    result = eval(code, names)  # the notebooks of this project
    if not inspect.iscoroutine(result):
        return result

    async def awaited() -> object:
        return await result

    return runner.run(awaited())


def main() -> None:
    for path in notebooks():
        whole = json.loads(path.read_text("utf-8"))
        cells = [cell for cell in whole["cells"] if cell["cell_type"] == "code"]
        for number, (cell, outputs) in enumerate(zip(cells, played(cells), strict=True), 1):
            cell |= {"execution_count": number, "outputs": outputs}
        text = json.dumps(whole, indent=1, ensure_ascii=False) + "\n"
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:]:  # for a test: one, and what it shows
        print(json.dumps(played(cells_of(Path(sys.argv[1])))))
    else:
        main()
