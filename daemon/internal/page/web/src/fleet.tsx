import { Component } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Detail } from "./detail";
import { buying, count, number, rate } from "./format";
import type { Node, Pool, Store } from "./store";

/** The widest and the narrowest cell, in pixels. In a fleet of up to so many nodes cells are larger, and of more than so many lower. */
const widest = 128, widestOfFew = 184, few = 80, narrowest = 13, many = 400;

/** In a large fleet cells become narrower, so that all of them take about so many rows. */
const rows = 16;

const states = { going: "leaving", coming: "on its way", "not ready": "not ready" };

export const fill = (n: Node): number => Math.min(100, Math.max(n.cpu, n.memory));

const name = (n: Node): string => n.node ?? n.claim ?? "";

function label(n: Node): string {
  const parts = [name(n), n.type ?? "unknown instance type", n.claim === undefined ? "of no NodePool" : buying(n.buy), n.price === undefined ? "price not known" : rate(n.price)];
  parts.push(n.state === "coming" && n.pods === 0 ? "no pods yet" : `${fill(n)} percent full, ${count(n.pods, "pod")}`);
  if (n.state !== undefined) parts.push(states[n.state]);
  return parts.join(", ");
}

/** The class of a cell: how the node is bought. */
const kind = (n: Node): string => n.claim === undefined ? "foreign" : n.buy ?? "unbought";

interface CellProps { id: string; node: Node; width: number; chosen: boolean; first: boolean }

/** One node. It is drawn again only if it has changed: there may be thousands. */
class Cell extends Component<CellProps> {
  override shouldComponentUpdate(next: Readonly<CellProps>): boolean {
    const p = this.props;
    return next.node !== p.node || next.width !== p.width || next.chosen !== p.chosen || next.first !== p.first;
  }

  override render({ id, node, width, chosen, first }: CellProps) {
    const classes = ["cell", kind(node), (node.state ?? "up").replace(" ", "-")];
    return (
      <button type="button" class={classes.join(" ")} data-id={id} aria-label={label(node)} title={label(node)}
        aria-pressed={chosen} tabIndex={first ? 0 : -1} style={{ width: `${width}px`, "--fill": `${fill(node)}%` }}>
        {width >= 84 ? <span aria-hidden="true">{node.type}</span> : null}
      </button>
    );
  }
}

interface Group { name: string; foreign: boolean; nodes: [string, Node][]; cost: number; unpriced: number; full: number; pods: number }

/** The nodes by pool, the dearest first, so that the cells of a pool are a picture of its cost. */
export function groups(nodes: Map<string, Node>, pools: Iterable<string>): Group[] {
  const out = new Map<string, Group>();
  const of = (key: string, title: string, foreign: boolean): Group => {
    let g = out.get(key);
    if (g === undefined) out.set(key, g = { name: title, foreign, nodes: [], cost: 0, unpriced: 0, full: 0, pods: 0 });
    return g;
  };
  for (const p of [...pools].sort()) of(`pool ${p}`, p, false);
  for (const [id, n] of nodes) {
    const g = n.claim === undefined ? of("foreign", "Nodes of no NodePool", true) : of(`pool ${n.pool}`, n.pool ?? "", false);
    g.nodes.push([id, n]);
    g.cost += n.price ?? 0;
    g.pods += n.pods;
    if (n.price === undefined) g.unpriced++;
    if (n.state !== "coming") g.full += fill(n);
  }
  for (const g of out.values()) {
    const up = g.nodes.filter(([, n]) => n.state !== "coming").length;
    g.full = up === 0 ? 0 : Math.round(g.full / up);
    g.nodes.sort(([a, x], [b, y]) => (y.price ?? 0) - (x.price ?? 0) || (x.created - y.created) || (a < b ? -1 : 1));
  }
  return [...out.values()].sort((a, b) => Number(a.foreign) - Number(b.foreign) || b.cost - a.cost);
}

/** How wide a dollar an hour is. */
function scale(nodes: Map<string, Node>, room: number): number {
  let most = 0, total = 0;
  for (const n of nodes.values()) {
    most = Math.max(most, n.price ?? 0);
    total += n.price ?? 0;
  }
  return most === 0 ? 0 : Math.min((nodes.size > few ? widest : widestOfFew) * (room > 3000 ? 1.6 : 1) / most, Math.max(320, room) * rows / total);
}

/** The arrow keys go from cell to cell; up and down to the nearest one of the next row. */
function walk(e: KeyboardEvent): void {
  const from = e.target as HTMLElement;
  if (!from.classList.contains("cell") || !["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End"].includes(e.key)) return;
  const all = [...(e.currentTarget as HTMLElement).querySelectorAll<HTMLElement>(".cell")];
  const at = all.indexOf(from);
  let to: HTMLElement | undefined;
  switch (e.key) {
    case "ArrowLeft": to = all[at - 1]; break;
    case "ArrowRight": to = all[at + 1]; break;
    case "Home": to = all[0]; break;
    case "End": to = all.at(-1); break;
    default: to = vertical(all, at, e.key === "ArrowDown" ? 1 : -1);
  }
  e.preventDefault();
  if (to === undefined) return;
  for (const c of all) c.tabIndex = -1;
  to.tabIndex = 0;
  to.focus();
}

function vertical(all: HTMLElement[], at: number, step: 1 | -1): HTMLElement | undefined {
  const here = all[at]!.getBoundingClientRect();
  const middle = here.left + here.width / 2;
  let best: HTMLElement | undefined, row: number | undefined, least = Infinity;
  for (let i = at + step; i >= 0 && i < all.length; i += step) {
    const r = all[i]!.getBoundingClientRect();
    if (Math.abs(r.top - here.top) < 2) continue;
    row ??= r.top;
    if (Math.abs(r.top - row) > 2) break;
    const off = Math.abs(r.left + r.width / 2 - middle);
    if (off < least) [best, least] = [all[i], off];
  }
  return best;
}

/** What of a pool keeps its nodes as they are. */
function Badges({ p }: { p: Pool | undefined }) {
  if (p === undefined) return null;
  return (
    <>
      {p.deleting === true ? <em class="badge bad">being deleted</em> : p.ready ? null : <em class="badge bad">not ready</em>}
      {p.paused === true ? <em class="badge warn">paused</em> : null}
      {(p.limits ?? []).some((l) => l.full >= 100) ? <em class="badge warn">at its limit</em> : null}
    </>
  );
}

function Legend() {
  return (
    <div class="legend">
      <span>A cell is a node: its width is its price, its level the fuller of CPU and memory.</span>
      <ul aria-label="Legend">
        <li><i class="key on-demand" />on-demand</li>
        <li><i class="key spot" />spot</li>
        <li><i class="key reserved" />reserved</li>
        <li><i class="key foreign" />of no NodePool</li>
        <li><i class="key going" />leaving</li>
        <li><i class="key coming" />on its way</li>
        <li><i class="key not-ready" />not ready</li>
      </ul>
    </div>
  );
}

export function Fleet({ store, chosen, choose }: { store: Store; chosen: string; choose: (id: string) => void }) {
  const { nodes, pools, moves } = store.tables;
  const place = useRef<HTMLDivElement>(null);
  const [room, setRoom] = useState(1100);
  useEffect(() => {
    const watch = new ResizeObserver((list) => setRoom(Math.round((list[0]?.contentRect.width ?? 1100) / 100) * 100));
    if (place.current !== null) watch.observe(place.current);
    return () => watch.disconnect();
  }, []);
  const perDollar = scale(nodes, room);
  const click = (e: MouseEvent): void => {
    const id = (e.target as HTMLElement).closest<HTMLElement>(".cell")?.dataset["id"];
    if (id !== undefined) choose(id === chosen ? "" : id);
  };
  const all = groups(nodes, pools.keys());
  return (
    <div class={chosen === "" ? "fleet" : "fleet with-detail"}>
      <div class={`cells ${nodes.size <= few ? "few" : nodes.size > many ? "many" : ""}`} ref={place} onClick={click} onKeyDown={walk}>
        <Legend />
        {[...moves].map(([id, m]) => (
          <p class="note" key={id}>
            <b>A move is under way</b> ({m.reason.toLowerCase()}): {m.replaces.join(", ")} → {m.by.length === 0 ? "other nodes" : m.by.join(", ")}
            {m.saves !== undefined && m.saves > 0 ? `, saves ${rate(m.saves)}` : ""}
          </p>
        ))}
        {all.length === 0 ? <p class="empty">There is no NodePool and no node yet.</p> : null}
        {all.map((g) => (
          <section class="group" key={g.name + String(g.foreign)} aria-label={g.foreign ? g.name : `NodePool ${g.name}`}>
            <header>
              <h2>{g.name}</h2>
              <span>{count(g.nodes.length, "node")}</span>
              {g.foreign ? null : <span>{rate(g.cost)}{g.unpriced > 0 ? ` and ${number(g.unpriced)} without a price` : ""}</span>}
              {g.nodes.length === 0 ? null : <><span>{g.full}% full</span><span>{count(g.pods, "pod")}</span></>}
              {g.foreign ? null : <Badges p={pools.get(g.name)} />}
            </header>
            {g.nodes.length === 0 ? null : (
              <div class="row" role="group" aria-label={`Nodes of ${g.name}`}>
                {g.nodes.map(([id, n], i) => (
                  <Cell key={id} id={id} node={n} chosen={id === chosen} first={i === 0}
                    width={Math.max(narrowest, Math.round((n.price ?? 0) * perDollar))} />
                ))}
              </div>
            )}
          </section>
        ))}
      </div>
      {chosen === "" ? null : <Detail key={chosen} id={chosen} node={nodes.get(chosen)} now={store.at} close={() => choose("")} />}
    </div>
  );
}
