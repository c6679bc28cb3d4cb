import { useEffect, useRef, useState } from "preact/hooks";
import { buying, count, monthly, rate, span, when, words } from "./format";
import type { Node } from "./store";

interface Room { name: string; used: string; all: string; full: number }
interface Pod { name: string; owner?: string; cpu: string; memory: string; notReady?: boolean; pinned?: boolean; protected?: boolean; leaving?: boolean }
interface More {
  why?: string; remedy?: string; for?: string; until?: number; move?: string; lost?: string[];
  instance?: string; class?: string; expires?: number; room?: Room[]; pods: Pod[];
}

/** What is known of one node, in a panel beside the cells. */
export function Detail({ id, node, now, close }: { id: string; node: Node | undefined; now: number; close: () => void }) {
  const [more, setMore] = useState<More | undefined>(undefined);
  const [fault, setFault] = useState("");
  const head = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    const stop = new AbortController();
    fetch(`node?key=${encodeURIComponent(id)}`, { signal: stop.signal })
      .then(async (r) => {
        if (!r.ok) throw new Error(await r.text());
        setMore(await r.json() as More);
        setFault("");
      })
      .catch((e: unknown) => { if (!stop.signal.aborted) setFault(String((e as Error).message)); });
    return () => stop.abort();
  }, [id, now, node]);
  useEffect(() => head.current?.focus(), [id]);
  useEffect(() => {
    const key = (e: KeyboardEvent): void => { if (e.key === "Escape") leave(); };
    window.addEventListener("keydown", key);
    return () => window.removeEventListener("keydown", key);
  });
  const leave = (): void => {
    close();
    document.querySelector<HTMLElement>(`.cell[data-id="${CSS.escape(id)}"]`)?.focus();
  };
  const title = node?.node ?? node?.claim ?? id;
  return (
    <aside class="detail" aria-label={`Node ${title}`}>
      <header>
        <h2 tabIndex={-1} ref={head}>{title}</h2>
        <button type="button" class="close" aria-label="Close" onClick={leave}>×</button>
      </header>
      {node === undefined ? <p class="note">This node is gone.</p> : <Facts node={node} more={more} now={now} />}
      {fault !== "" && node !== undefined ? <p class="note bad">{fault}</p> : null}
      {more === undefined || node === undefined ? null : <><Why node={node} more={more} /><Rooms list={more.room ?? []} /><Pods list={more.pods} /></>}
    </aside>
  );
}

function Facts({ node, more, now }: { node: Node; more: More | undefined; now: number }) {
  const facts: [string, string][] = [
    ["Instance", [node.type, node.zone].filter((x) => x !== undefined).join(" in ")],
    ["Capacity", node.claim === undefined ? "of no NodePool" : buying(node.buy)],
    ["Price", node.price === undefined ? "not known" : `${rate(node.price)}, ${monthly(node.price)}`],
    ["Age", span(now - node.created)],
  ];
  if (node.pool !== undefined) facts.unshift(["NodePool", node.pool]);
  if (node.claim !== undefined && node.node !== undefined) facts.push(["NodeClaim", node.claim]);
  if (more?.instance !== undefined) facts.push(["Instance id", more.instance]);
  if (more?.expires !== undefined) facts.push(["Expires", when(more.expires, now)]);
  return <dl class="facts">{facts.filter(([, v]) => v !== "").map(([k, v]) => <div key={k}><dt>{k}</dt><dd>{v}</dd></div>)}</dl>;
}

function Why({ node, more }: { node: Node; more: More }) {
  if (node.claim === undefined) return <section><h3>Why it stays</h3><p>The node is of no NodePool, so the daemon never deletes it.</p></section>;
  if (more.why === undefined) return null;
  const going = node.goes !== undefined;
  return (
    <section>
      <h3>{going ? "Why it leaves" : "What keeps it"}</h3>
      <p>{sentence(more.why.replace(/^stays: /, ""))}</p>
      {more.remedy === undefined ? null : <><h3>What it would take</h3><p>{sentence(more.remedy)}</p></>}
      {more.for === undefined || going ? null : <p class="quiet">It would be removed because it is {words(more.for)}.</p>}
    </section>
  );
}

/** A text of the daemon as a sentence, with its times as the clock here shows them. */
export function sentence(text: string): string {
  if (text === "") return "";
  const here = text.replace(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, (at) => when(Date.parse(at) / 1000, Date.now() / 1000));
  return `${here[0]!.toUpperCase()}${here.slice(1)}${/[.!?]$/.test(here) ? "" : "."}`;
}

function Rooms({ list }: { list: Room[] }) {
  if (list.length === 0) return null;
  return (
    <section>
      <h3>What pods request</h3>
      <table class="bars">
        <tbody>{list.map((r) => (
          <tr key={r.name}><th scope="row">{r.name}</th><td><Bar full={r.full} /></td><td class="num">{r.used} of {r.all}</td></tr>
        ))}</tbody>
      </table>
    </section>
  );
}

export function Bar({ full, warn }: { full: number; warn?: boolean }) {
  return <span class={warn === true && full >= 90 ? "bar high" : "bar"} aria-hidden="true"><i style={{ width: `${Math.min(100, full)}%` }} /></span>;
}

function Pods({ list }: { list: Pod[] }) {
  const marks = (p: Pod): string => [
    p.protected === true ? "do-not-disrupt" : "", p.notReady === true ? "not ready" : "", p.leaving === true ? "leaving" : "", p.pinned === true ? "belongs to the node" : "",
  ].filter((x) => x !== "").join(", ");
  return (
    <section>
      <h3>{count(list.length, "pod")}</h3>
      {list.length === 0 ? <p class="quiet">Nothing runs there.</p> : (
        <div class="scroll" tabIndex={0} role="region" aria-label="Pods of the node">
          <table class="list">
            <thead><tr><th scope="col">Pod</th><th scope="col" class="num">CPU</th><th scope="col" class="num">Memory</th></tr></thead>
            <tbody>{list.map((p) => (
              <tr key={p.name}>
                <td><span class="break">{p.name}</span>{marks(p) === "" ? null : <em>{marks(p)}</em>}</td>
                <td class="num">{p.cpu}</td><td class="num">{p.memory}</td>
              </tr>
            ))}</tbody>
          </table>
        </div>
      )}
    </section>
  );
}
