"""SVG plots of scores with intervals, in the colours of the page."""

from typing import Dict, Sequence, Tuple

from fairseq_outlayers.pages.document import element, escape

WIDTH, ROW, SIDE = 200, 20, 10
LEGIBLE_STEPS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)


def interval_plot(
    label: str, figures: Sequence[Tuple[str, Dict[str, float]]], zero: bool = False
) -> str:
    """A row with a dot and a bar for each score, over one axis.

    Args:
        label: of the plot, also for screen readers.
        figures: names and ``value``, ``low`` and ``high``.
        zero: whether to draw a line at zero.
    """
    ends = [figure[end] for _, figure in figures for end in ("low", "high")]
    ends += [0.0] if zero else []
    low, high = min(ends), max(ends)
    margin = max(0.08 * (high - low), 0.05)
    low, high = low - margin, high + margin

    def place(value: float) -> float:
        return SIDE + (value - low) / (high - low) * (WIDTH - 2 * SIDE)

    parts, height = [], ROW * len(figures) + 16
    step = next((s for s in LEGIBLE_STEPS if (high - low) / s <= 4), LEGIBLE_STEPS[-1])
    first = int(-(-low // step))
    for number in range(first, int(high // step) + 1):
        x = place(number * step)
        kind = "zero" if zero and number == 0 else "grid"
        parts.append(f'<line class="{kind}" x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{height - 14}"/>')
        text = f"{number * step:+g}" if zero and number else f"{number * step:g}"
        parts.append(f'<text class="tick" x="{x:.1f}" y="{height - 2}">{text}</text>')
    letters = "d" if zero else "ab"
    for row, ((_, figure), letter) in enumerate(zip(figures, letters, strict=False)):
        y = ROW * row + ROW / 2
        ends_x = f'x1="{place(figure["low"]):.1f}" x2="{place(figure["high"]):.1f}"'
        parts.append(f'<line class="bar {letter}" {ends_x} y1="{y}" y2="{y}"/>')
        parts.append(f'<circle class="{letter}" cx="{place(figure["value"]):.1f}" cy="{y}" r="4"/>')
    spoken = "; ".join(
        f"{name} {f['value']:.2f} [{f['low']:.2f}, {f['high']:.2f}]" for name, f in figures
    )
    drawing = (
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="{escape(f"{label}: {spoken}")}">{"".join(parts)}</svg>'
    )
    return element("figure", drawing + element("figcaption", escape(label)))
