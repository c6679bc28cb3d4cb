import { sentence } from "./detail";
import { count, number, span } from "./format";
import type { Hurdle, Store, Waiting } from "./store";

/** How many names a row shows before it folds the rest. */
const few = 3;

export const unplaced = (store: Store): number => [...store.tables.waiting.values()].reduce((n, w) => n + (w.verdict === "unplaceable" ? w.count : 0), 0);

export function WaitingView({ store }: { store: Store }) {
  const all = [...store.tables.waiting].sort(([, a], [, b]) => (a.since ?? 0) - (b.since ?? 0));
  const stuck = all.filter(([, w]) => w.verdict === "unplaceable"), soon = all.filter(([, w]) => w.verdict !== "unplaceable");
  if (all.length === 0) {
    return <div class="empty big"><h2>Nothing waits</h2><p>Every pod that the scheduler has asked room for has a node.</p></div>;
  }
  return (
    <div class="stack">
      {stuck.length === 0 ? <p class="note good">Every pod that waits has a place already.</p> : (
        <section>
          <h2>Without room</h2>
          <ul class="rows">{stuck.map(([key, w]) => <Stuck key={key} w={w} now={store.at} />)}</ul>
        </section>
      )}
      {soon.length === 0 ? null : (
        <section>
          <h2>With room on its way</h2>
          <ul class="rows">{soon.map(([key, w]) => (
            <li key={key} class="wait"><Names w={w} now={store.at} /><div class="why"><p>{sentence(soonText(w))}</p></div></li>
          ))}</ul>
        </section>
      )}
    </div>
  );
}

function soonText(w: Waiting): string {
  switch (w.verdict) {
    case "on-launch": return `a new node is launched: ${w.on ?? ""}`;
    case "on-claim": return `a place on ${w.on ?? "a node"}, which is on its way`;
    case "awaits-nodes": return "room comes free on nodes that are on their way";
    case "preempting": return `the scheduler preempts other pods on ${w.on ?? "a node"} for it`;
  }
  return w.hurdles?.[0]?.what ?? "more pods are still arriving; the launch comes in a moment";
}

function Names({ w, now }: { w: Waiting; now: number }) {
  const rest = w.count - Math.min(few, w.pods.length);
  return (
    <div class="names">
      {w.pods.slice(0, few).map((p) => <b key={p} class="break">{p}</b>)}
      {rest <= 0 ? null : (
        <details><summary>and {number(rest)} more of its kind</summary><ul>{w.pods.slice(few).map((p) => <li key={p} class="break">{p}</li>)}</ul></details>
      )}
      <span class="quiet">{w.since === undefined ? count(w.count, "pod") : `for ${span(now - w.since)}`}</span>
    </div>
  );
}

function Stuck({ w, now }: { w: Waiting; now: number }) {
  const [first, ...rest] = w.hurdles ?? [];
  return (
    <li class="wait stuck">
      <Names w={w} now={now} />
      <div class="why">
        {first === undefined ? <p>No pool takes it.</p> : <OneHurdle h={first} />}
        {rest.length === 0 ? null : <details><summary>{count(rest.length, "other hurdle")}</summary>{rest.map((h, i) => <OneHurdle key={i} h={h} />)}</details>}
      </div>
    </li>
  );
}

function OneHurdle({ h }: { h: Hurdle }) {
  return (
    <>
      <p>{h.pool === undefined ? "" : <span class="tag">{h.pool}</span>} {sentence(h.what)}</p>
      {h.remedy === undefined ? null : <p class="remedy"><b>What to do:</b> {h.remedy}.</p>}
    </>
  );
}
