import { useState } from "preact/hooks";
import { sentence } from "./detail";
import { count, number, past, rate, span, words } from "./format";
import type { Decision, Store } from "./store";

/** How many are shown at first, and how many more at a time. */
const page = 60;

const verbs: Record<string, string> = { launch: "Launched", removal: "Removed", interruption: "Interrupted", "launch failed": "Launch failed", stays: "Stays for now" };

export const reasonOf = (d: Decision): string => d.reason.startsWith("Replaces:") ? `replacement (${words(d.reason.slice(9))})` : words(d.reason.replaceAll("_", " "));

export interface Filter { pool: string; reason: string; pod: string }

/** Decisions of one moment that differ in their nodes alone are one row. */
function merged(list: [string, Decision][]): [string, Decision, number][] {
  const out: [string, Decision, number][] = [];
  for (const [key, d] of list) {
    const last = out.at(-1);
    const same = (o: Decision): boolean => d.kind !== "stays" && [o.kind, o.pool, o.what, o.why, o.reason, o.price].join() === [d.kind, d.pool, d.what, d.why, d.reason, d.price].join() && o.at - d.at <= 2;
    if (last === undefined || !same(last[1])) {
      out.push([key, d, 1]);
      continue;
    }
    const o = last[1];
    last[2]++;
    last[1] = {
      ...o, node: undefined, claim: `${o.node ?? o.claim}, ${d.node ?? d.claim}`, frees: sum(o.frees, d.frees),
      pods: [...o.pods ?? [], ...d.pods ?? []], count: (o.count ?? 0) + (d.count ?? 0),
    };
  }
  return out;
}

const sum = (a: number | undefined, b: number | undefined): number | undefined => a === undefined ? b : b === undefined ? a : a + b;

export function Decisions({ store, filter, setFilter }: { store: Store; filter: Filter; setFilter: (f: Filter) => void }) {
  const [shown, setShown] = useState(page);
  const all = [...store.tables.decisions].sort(([a], [b]) => Number(b) - Number(a));
  const pools = [...new Set(all.map(([, d]) => d.pool ?? "").filter((x) => x !== ""))].sort();
  const reasons = [...new Set(all.map(([, d]) => reasonOf(d)))].sort();
  const wanted = filter.pod.trim().toLowerCase();
  const fits = ([, d]: [string, Decision]): boolean => (filter.pool === "" || d.pool === filter.pool) && (filter.reason === "" || reasonOf(d) === filter.reason) &&
    (wanted === "" || [d.claim, d.node, ...d.pods ?? []].some((x) => x?.toLowerCase().includes(wanted)));
  const list = all.filter(fits);
  const rows = merged(list);
  return (
    <div class="stack">
      <form class="filters" role="search" aria-label="Decisions" onSubmit={(e) => e.preventDefault()}>
        <label>NodePool <Choice value={filter.pool} all="all" list={pools} set={(pool) => setFilter({ ...filter, pool })} /></label>
        <label>Reason <Choice value={filter.reason} all="all" list={reasons} set={(reason) => setFilter({ ...filter, reason })} /></label>
        <label class="wide">Pod or node <input type="search" value={filter.pod} placeholder="namespace/name" autocomplete="off" spellcheck={false}
          onInput={(e) => setFilter({ ...filter, pod: e.currentTarget.value })} /></label>
        <span class="quiet" role="status">{list.length === all.length ? count(all.length, "decision") : `${number(list.length)} of ${count(all.length, "decision")}`}</span>
      </form>
      {all.length === 0 ? <p class="empty">Nothing has been decided since this replica was elected. The fleet is as it should be.</p> : null}
      {all.length > 0 && list.length === 0 ? <p class="empty">No decision fits the filter.</p> : null}
      <ol class="decisions">
        {rows.slice(0, shown).map(([key, d, nodes]) => <Row key={key} d={d} nodes={nodes} now={store.at} />)}
      </ol>
      {rows.length > shown ? <button type="button" class="more" onClick={() => setShown(shown + page)}>Show {number(Math.min(page, rows.length - shown))} more</button> : null}
    </div>
  );
}

function Choice({ value, all, list, set }: { value: string; all: string; list: string[]; set: (x: string) => void }) {
  return (
    <select value={value} onChange={(e) => set(e.currentTarget.value)}>
      <option value="">{all}</option>
      {list.map((x) => <option key={x} value={x}>{x}</option>)}
    </select>
  );
}

function Row({ d, nodes, now }: { d: Decision; nodes: number; now: number }) {
  return (
    <li class={`decision ${d.kind.replace(" ", "-")}`}>
      <div class="at"><time dateTime={new Date(d.at * 1000).toISOString()} title={`${span(now - d.at)} ago`}>{past(d.at, now)}</time></div>
      <div class="what">
        <h3>
          <span class="verb">{verbs[d.kind] ?? d.kind}</span> {nodes > 1 ? `${nodes} × ` : ""}{d.what ?? ""} <span class="break id">{d.node ?? d.claim ?? ""}</span>
        </h3>
        <p>{sentence(d.why)}</p>
        {d.runnerUp === undefined ? null : <p class="quiet">Runner-up: {d.runnerUp}{d.runnerUpPrice === undefined ? "" : ` at ${rate(d.runnerUpPrice)}`}{extra(d)}</p>}
        {d.pods === undefined || d.pods.length === 0 ? null : (
          <details><summary>{count(d.count ?? d.pods.length, "pod")}</summary><ul>{d.pods.map((p) => <li key={p} class="break">{p}</li>)}</ul></details>
        )}
      </div>
      <div class="side">
        {d.frees !== undefined ? <b class="saves">frees {rate(d.frees)}</b> : d.price !== undefined ? <b>{nodes > 1 ? `${nodes} × ` : ""}{rate(d.price)}</b> : null}
        <span class="tag">{reasonOf(d)}</span>
        {d.pool === undefined ? null : <span class="quiet">{d.pool}</span>}
      </div>
    </li>
  );
}

/** How much more the runner-up costs. */
function extra(d: Decision): string {
  if (d.price === undefined || d.runnerUpPrice === undefined) return "";
  const more = d.runnerUpPrice - d.price;
  return Math.abs(more) < 0.00005 ? ", which costs the same" : `, ${rate(Math.abs(more))} ${more > 0 ? "more" : "less"}`;
}
