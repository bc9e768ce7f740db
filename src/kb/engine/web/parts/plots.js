// Figures in, plots out: growth by uPlot, loaded when it is first wanted; bars by themselves.
import { html, useEffect, useRef } from "../lib.js";
import { dates, number, plural } from "../words.js";

const HEIGHT = 220;
const DAYS = [1, 2, 7, 14, 30, 61, 91, 182, 365].map((days) => days * 86_400);
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** From the first day to today, adding up. */
function series(days) {
  const times = [];
  const counts = [];
  let total = 0;
  const byDay = new Map(days.map((each) => [each.day, each.documents]));
  const first = Date.parse(`${days[0].day}T00:00:00Z`) - 86_400_000;
  for (let time = first; time <= Date.now(); time += 86_400_000) {
    total += byDay.get(new Date(time).toISOString().slice(0, 10)) ?? 0;
    times.push(time / 1000);
    counts.push(total);
  }
  return [times, counts];
}

export function Growth({ days }) {
  const box = useRef(null);
  useEffect(() => {
    if (!days.length) return undefined;
    const target = box.current;
    let plot = null;
    let gone = false;
    const draw = async () => {
      const { default: uPlot } = await import("../vendor/uplot.js");
      if (gone) return;
      plot?.destroy();
      const axis = { stroke: colour("--soft"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false } };
      plot = new uPlot(
        {
          width: target.clientWidth, height: HEIGHT, legend: { show: false }, cursor: { y: false },
          tzDate: (stamp) => uPlot.tzDate(new Date(stamp * 1e3), "Etc/UTC"),
          scales: { y: { range: (_, __, most) => [0, Math.max(most * 1.1, 4)] } },
          axes: [{ ...axis, grid: { show: false }, size: 28, space: 80, incrs: DAYS, values: (_, ticks) => dates(ticks) }, { ...axis, size: 46, values: (_, ticks) => ticks.map((tick) => (Number.isInteger(tick) ? number(tick) : "")) }],
          series: [{}, { label: "documents", stroke: colour("--accent"), width: 2, fill: colour("--wash"), points: { show: false } }],
        },
        series(days), target,
      );
    };
    draw();
    const resized = new ResizeObserver(() => plot?.setSize({ width: target.clientWidth, height: HEIGHT }));
    resized.observe(target);
    const recoloured = new MutationObserver(draw);
    recoloured.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    const system = matchMedia("(prefers-color-scheme: dark)");
    system.addEventListener("change", draw);
    return () => {
      gone = true;
      resized.disconnect();
      recoloured.disconnect();
      system.removeEventListener("change", draw);
      plot?.destroy();
    };
  }, [JSON.stringify(days)]);
  if (!days.length) return html`<p class="nothing">What you add is counted here by day.</p>`;
  const total = days.reduce((sum, each) => sum + each.documents, 0);
  return html`<div class="growth" ref=${box} role="img" aria-label=${`${plural(total, "document")} since ${days[0].day}`}></div>`;
}

export function Bars({ rows, empty }) {
  if (!rows.length) return html`<p class="nothing">${empty}</p>`;
  const most = Math.max(...rows.map((row) => row.value));
  return html`<ul class="bars">${rows.map((row) => html`<li key=${row.label}>
    <a href=${row.href}><span class="bar-label">${row.label}</span>
      <span class="bar-track"><span style=${{ width: `${(100 * row.value) / most}%` }}></span></span><b>${number(row.value)}</b></a>
  </li>`)}</ul>`;
}
