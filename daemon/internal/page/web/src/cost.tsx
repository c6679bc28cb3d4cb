import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { Bar } from "./detail";
import { buying, count, dollars, monthly, rate, span, time } from "./format";
import type { Decision, Node, Point, Store } from "./store";

export function Cost({ store }: { store: Store }) {
  const { points, decisions, nodes } = store.tables;
  const m = store.meta;
  const line = [...points.values()].sort((a, b) => a.at - b.at);
  const marks = [...decisions.values()].filter((d) => d.kind === "launch" || d.kind === "removal");
  if (m === undefined) return null;
  return (
    <div class="stack">
      <dl class="tiles">
        <Tile name="Cost of the fleet" value={m.audited ? rate(m.cost) : "–"} more={m.audited ? `${monthly(m.cost)}; instances, volumes and addresses` : "the first audit is on its way"} />
        <Tile name="Proven bound" value={m.audited ? rate(m.bound) : "–"} more="no fleet for these pods costs less" />
        <Tile name="Gap" value={m.audited ? gap(m.cost, m.bound) : "–"} more={m.audited ? `${rate(Math.max(0, m.cost - m.bound))} above the bound` : ""} />
        <Tile name="Saved" value={dollars(m.saved)} more={`${count(m.removals, "removal")} to save money, ${rate(m.saving)}, in ${span(store.at - m.since)}`} />
      </dl>
      <section class="card">
        <h2>Cost over time</h2>
        <ul class="chart-legend" aria-label="Legend">
          <li><i class="swatch cost" />cost</li><li><i class="swatch bound" />proven bound</li>
          <li><i class="mark up" aria-hidden="true">▲</i>launch</li><li><i class="mark down" aria-hidden="true">▼</i>removal</li>
        </ul>
        {line.length === 0 ? <p class="empty">The fleet is audited once a minute. The first audit is on its way.</p> : <Chart line={line} marks={marks} />}
        <p class="quiet">Since this replica began to decide, {time(m.since)}. A point is an audit, once a minute.</p>
      </section>
      <div class="thirds">
        <Parts title="By NodePool" nodes={nodes} by={(n) => n.pool ?? ""} />
        <Parts title="By capacity type" nodes={nodes} by={(n) => buying(n.buy)} />
        <Parts title="By zone" nodes={nodes} by={(n) => n.zone ?? "not known yet"} />
      </div>
    </div>
  );
}

export const gap = (cost: number, bound: number): string => bound <= 0 ? "–" : `${Math.max(0, (cost - bound) / bound * 100).toFixed(1)}%`;

export function Tile({ name, value, more }: { name: string; value: string; more: string }) {
  return <div class="tile"><dt>{name}</dt><dd><b>{value}</b><span>{more}</span></dd></div>;
}

function Parts({ title, nodes, by }: { title: string; nodes: Map<string, Node>; by: (n: Node) => string }) {
  const parts = new Map<string, { cost: number; nodes: number }>();
  let total = 0;
  for (const n of nodes.values()) {
    if (n.claim === undefined) continue;
    const p = parts.get(by(n)) ?? { cost: 0, nodes: 0 };
    p.cost += n.price ?? 0;
    p.nodes++;
    total += n.price ?? 0;
    parts.set(by(n), p);
  }
  const list = [...parts].sort(([, a], [, b]) => b.cost - a.cost);
  return (
    <section class="card">
      <h2>{title}</h2>
      {list.length === 0 ? <p class="quiet">No nodes of NodePools.</p> : (
        <table class="bars">
          <thead class="hidden"><tr><th scope="col">{title.slice(3)}</th><th scope="col">Share</th><th scope="col">Instances</th></tr></thead>
          <tbody>{list.map(([k, p]) => (
            <tr key={k}>
              <th scope="row" class="break">{k}</th>
              <td><Bar full={total === 0 ? 0 : p.cost / total * 100} /></td>
              <td class="num">{rate(p.cost)}<small>{count(p.nodes, "node")}</small></td>
            </tr>
          ))}</tbody>
        </table>
      )}
    </section>
  );
}

const color = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function options(width: number, marks: () => Decision[], read: (i: number | null | undefined) => void): uPlot.Options {
  const axis: uPlot.Axis = { stroke: () => color("--muted"), grid: { stroke: () => color("--line"), width: 1 }, ticks: { show: false }, font: "12px system-ui, sans-serif" };
  return {
    width, height: 260, legend: { show: false }, cursor: { y: false, points: { size: 7 } },
    scales: { y: { range: (_u, low, high) => [Math.max(0, low - (high - low || high) * 0.25), high + (high - low || high || 1) * 0.2] } },
    axes: [
      { ...axis, values: (_u, at) => at.map((x) => time(x).slice(0, 5)), space: 64, size: 32 },
      { ...axis, values: (_u, list) => list.map((x) => `$${x.toFixed(2)}`), size: 64 },
    ],
    series: [
      {},
      { label: "cost", stroke: () => color("--accent"), width: 2, points: { show: false } },
      { label: "bound", stroke: () => color("--bound"), width: 2, dash: [6, 4], points: { show: false } },
    ],
    bands: [{ series: [1, 2], fill: () => color("--accent-soft") }],
    hooks: {
      setCursor: [(u) => read(u.cursor.idx)],
      draw: [(u) => draw(u, marks())],
    },
  };
}

/** Marks what was launched and removed, at the foot of the chart. */
function draw(u: uPlot, marks: Decision[]): void {
  const ctx = u.ctx, ratio = window.devicePixelRatio;
  ctx.save();
  ctx.font = `${11 * ratio}px system-ui, sans-serif`;
  ctx.textAlign = "center";
  const { min, max } = u.scales["x"]!;
  for (const d of marks) {
    if (d.at < (min ?? 0) || d.at > (max ?? 0)) continue;
    const up = d.kind === "launch";
    ctx.fillStyle = color(up ? "--up" : "--down");
    ctx.fillText(up ? "▲" : "▼", u.valToPos(d.at, "x", true), u.bbox.top + u.bbox.height - (up ? 4 : 16) * ratio);
  }
  ctx.restore();
}

function Chart({ line, marks }: { line: Point[]; marks: Decision[] }) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const latest = useRef(marks);
  const [at, setAt] = useState<number | undefined>(undefined);
  latest.current = marks;
  // A single point is no line: it is drawn as one that has lasted for a minute.
  const all = line.length === 1 ? [{ ...line[0]!, at: line[0]!.at - 60 }, line[0]!] : line;
  const data: uPlot.AlignedData = [all.map((p) => p.at), all.map((p) => p.cost), all.map((p) => p.bound)];
  useEffect(() => {
    const div = place.current;
    if (div === null) return undefined;
    const u = new uPlot(options(div.clientWidth, () => latest.current, (i) => setAt(i ?? undefined)), data, div);
    plot.current = u;
    const watch = new ResizeObserver(() => u.setSize({ width: div.clientWidth, height: 260 }));
    watch.observe(div);
    const theme = window.matchMedia("(prefers-color-scheme: dark)");
    const anew = (): void => u.redraw(false);
    theme.addEventListener("change", anew);
    return () => { watch.disconnect(); theme.removeEventListener("change", anew); u.destroy(); };
  }, []);
  const newest = all.at(-1)!;
  useEffect(() => plot.current?.setData(data), [all.length, newest.at, marks.length]);
  const shown = (at === undefined ? undefined : all[at]) ?? newest;
  return (
    <>
      <p class="readout"><b>{time(shown.at).slice(0, 5)}</b> cost {rate(shown.cost)} · bound {rate(shown.bound)} · gap {gap(shown.cost, shown.bound)}</p>
      <div ref={place} class="chart" role="img" aria-label={`Cost of the fleet and its proven bound, ${count(line.length, "audit")}: last ${rate(newest.cost)}, bound ${rate(newest.bound)}`} />
    </>
  );
}
