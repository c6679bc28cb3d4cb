import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { Bar } from "./detail";
import { buying, count, monthly, past, rate, span, time } from "./format";
import type { Decision, Meta, Node, Point, Store } from "./store";

export function Cost({ store }: { store: Store }) {
  const { points, decisions, nodes } = store.tables;
  const [split, setSplit] = useState<Split>("total");
  const m = store.meta;
  const line = [...points.values()].sort((a, b) => a.at - b.at);
  const marks = [...decisions.values()].filter((d) => d.kind === "launch" || d.kind === "removal");
  if (m === undefined) return null;
  // A single point is no line: it is drawn as one that has lasted for a minute.
  const padded = line.length === 1 ? [{ ...line[0]!, at: line[0]!.at - 60 }, line[0]!] : line;
  const lines = linesOf(padded, split);
  return (
    <div class="stack">
      <dl class="tiles">
        <Tile name="Cost of the fleet" value={m.audited ? rate(m.cost) : "–"} more={m.audited ? `${monthly(m.cost)}; instances, volumes and addresses${m.unpriced === undefined ? "" : `, ${unpriced(m)}`}` : "the first audit is on its way"} />
        <Tile name="Proven bound" value={m.audited ? rate(m.bound) : "–"} more="no fleet for these pods costs less" />
        <Tile name="Gap" value={m.audited ? gap(m.cost, m.bound) : "–"} more={[m.audited && m.cost >= m.bound ? `${rate(m.cost - m.bound)} above the bound` : "", unpriced(m)].filter((x) => x !== "").join(", ")} />
        <Tile name="Cut by moves" value={rate(m.saving)} more={`${count(m.removals, "node")} removed, less what replaced them, in ${span(store.at - m.since)}; ${count(m.empty, "empty node")} removed: ${rate(m.emptied)}`} />
      </dl>
      <section class="card">
        <header class="chart-head">
          <h2>Cost over time</h2>
          <label>Show <select value={split} onChange={(e) => setSplit(e.currentTarget.value as Split)}>
            {splits.map(([key, title]) => <option key={key} value={key}>{title}</option>)}
          </select></label>
        </header>
        {line.length === 0 ? <p class="empty">The fleet is audited once a minute. The first audit is on its way.</p> : <Chart key={split + lines.map((l) => l.name).join()} at={padded.map((p) => p.at)} lines={lines} total={split === "total"} marks={marks} />}
        <p class="quiet">Since this replica began to decide, {past(m.since, store.at)}. A point is an audit, once a minute.{split === "total" ? "" : " Instances alone, without volumes and addresses."}</p>
      </section>
      <div class="thirds">
        <Parts title="By NodePool" nodes={nodes} by={(n) => n.pool ?? ""} />
        <Parts title="By capacity type" nodes={nodes} by={(n) => buying(n.buy)} />
        <Parts title="By zone" nodes={nodes} by={(n) => n.zone ?? "not known yet"} />
      </div>
    </div>
  );
}

/** How far the cost is above the bound. It is below where nodes have no price. */
export const gap = (cost: number, bound: number): string => bound <= 0 || cost < bound ? "–" : `${((cost - bound) / bound * 100).toFixed(1)}%`;

/** What a cost leaves out. */
export const unpriced = (m: Meta): string => m.unpriced === undefined ? "" : `without ${count(m.unpriced, "node")} of unknown price`;

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

type Split = "total" | "pools" | "buys" | "zones";

const splits: [Split, string][] = [["total", "total and bound"], ["pools", "by NodePool"], ["buys", "by capacity type"], ["zones", "by zone"]];

interface Line { name: string; values: number[]; color: string; dash: number[] }

/** The colours and dashes of lines: whoever does not tell the colours apart tells the dashes. */
const looks: [string, number[]][] = [["--accent", []], ["--spot", [6, 4]], ["--bound", [2, 3]], ["--down", [10, 4]], ["--bad", [8, 3, 2, 3]], ["--foreign", [4, 2]]];

function linesOf(line: Point[], split: Split): Line[] {
  if (split === "total") {
    return [
      { name: "cost", values: line.map((p) => p.cost), color: "--accent", dash: [] },
      { name: "proven bound", values: line.map((p) => p.bound), color: "--bound", dash: [6, 4] },
    ];
  }
  const sums = new Map<string, number>();
  for (const p of line) for (const [k, v] of Object.entries(p[split] ?? {})) sums.set(k, (sums.get(k) ?? 0) + v);
  const names = [...sums].sort(([, a], [, b]) => b - a).map(([k]) => k);
  const own = names.length > looks.length ? names.slice(0, looks.length - 1) : names;
  const out = own.map((k, i): Line => ({ name: k === "" ? "not known yet" : k, values: line.map((p) => p[split]?.[k] ?? 0), color: looks[i]![0], dash: looks[i]![1] }));
  const rest = names.slice(own.length);
  if (rest.length > 0) {
    const [tone, dash] = looks.at(-1)!;
    out.push({ name: `${rest.length} others`, values: line.map((p) => rest.reduce((n, k) => n + (p[split]?.[k] ?? 0), 0)), color: tone, dash });
  }
  return out;
}

const color = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function options(width: number, lines: Line[], total: boolean, marks: () => Decision[], read: (i: number | null | undefined) => void): uPlot.Options {
  const axis: uPlot.Axis = { stroke: () => color("--muted"), grid: { stroke: () => color("--line"), width: 1 }, ticks: { show: false }, font: "12px system-ui, sans-serif" };
  const foot = total ? 0.25 : 1;
  return {
    width, height: 260, legend: { show: false }, cursor: { y: false, points: { size: 7 } },
    scales: { y: { range: (_u, low, high) => [total ? Math.max(0, low - (high - low || high) * foot) : 0, high + (high - low || high || 1) * 0.2] } },
    axes: [
      { ...axis, values: (_u, at) => at.map((x) => time(x).slice(0, 5)), space: 64, size: 32 },
      { ...axis, values: (_u, list) => list.map((x) => `$${x.toFixed(2)}`), size: 64 },
    ],
    series: [{}, ...lines.map((l): uPlot.Series => ({ label: l.name, stroke: () => color(l.color), width: 2, dash: l.dash, points: { show: false } }))],
    bands: total ? [{ series: [1, 2], fill: () => color("--accent-soft") }] : [],
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

function Chart({ at, lines, total, marks }: { at: number[]; lines: Line[]; total: boolean; marks: Decision[] }) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const latest = useRef(marks);
  const [cursor, setCursor] = useState<number | undefined>(undefined);
  latest.current = marks;
  const data: uPlot.AlignedData = [at, ...lines.map((l) => l.values)];
  useEffect(() => {
    const div = place.current;
    if (div === null) return undefined;
    const u = new uPlot(options(div.clientWidth, lines, total, () => latest.current, (i) => setCursor(i ?? undefined)), data, div);
    plot.current = u;
    const watch = new ResizeObserver(() => u.setSize({ width: div.clientWidth, height: 260 }));
    watch.observe(div);
    const theme = window.matchMedia("(prefers-color-scheme: dark)");
    const anew = (): void => u.redraw(false);
    theme.addEventListener("change", anew);
    return () => { watch.disconnect(); theme.removeEventListener("change", anew); u.destroy(); };
  }, []);
  useEffect(() => plot.current?.setData(data), [at.length, at.at(-1), marks.length]);
  const i = cursor === undefined || cursor >= at.length ? at.length - 1 : cursor;
  // What was done since the audit before.
  const done = (kind: string): number => marks.filter((d) => d.kind === kind && d.at > (at[i - 1] ?? 0) && d.at <= at[i]!).length;
  const moved = [done("launch") === 0 ? "" : `${done("launch")} ${done("launch") === 1 ? "launch" : "launches"}`, done("removal") === 0 ? "" : count(done("removal"), "removal")].filter((x) => x !== "");
  const said = lines.map((l) => `${l.name} ${rate(l.values[i] ?? 0)}`);
  if (total) said.push(`gap ${gap(lines[0]!.values[i] ?? 0, lines[1]!.values[i] ?? 0)}`);
  return (
    <>
      <ul class="chart-legend" aria-label="Legend">
        {lines.map((l) => <li key={l.name}><Swatch line={l} />{l.name}</li>)}
        <li><i class="mark up" aria-hidden="true">▲</i>launch</li><li><i class="mark down" aria-hidden="true">▼</i>removal</li>
      </ul>
      <p class="readout"><b>{time(at[i]!).slice(0, 5)}</b> {[...said, ...moved].join(" · ")}</p>
      <div ref={place} class="chart" role="img" aria-label={`${total ? "Cost of the fleet and its proven bound" : "Cost of instances"}, ${count(at.length, "audit")}: ${said.join(", ")}`} />
    </>
  );
}

function Swatch({ line }: { line: Line }) {
  return (
    <svg width="22" height="6" aria-hidden="true">
      <line x1="0" y1="3" x2="22" y2="3" style={{ stroke: `var(${line.color})` }} stroke-width="2" stroke-dasharray={line.dash.join(" ")} />
    </svg>
  );
}
