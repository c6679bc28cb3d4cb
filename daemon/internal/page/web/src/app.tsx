import { Component, render } from "preact";
import type { ComponentChildren } from "preact";
import { Cost, gap, unpriced } from "./cost";
import { Decisions } from "./decisions";
import type { Filter } from "./decisions";
import { Fleet } from "./fleet";
import { count, number, rate, time } from "./format";
import { Pools } from "./pools";
import { Store } from "./store";
import { WaitingView, unplaced } from "./waiting";

// The view and its filter are in the part of the address after #, so that the back button works
// and an address can be kept.
interface Place { view: string; query: URLSearchParams }

const place = (): Place => {
  const [view, query] = location.hash.replace(/^#\/?/, "").split("?");
  return { view: view === undefined || view === "" ? "fleet" : view, query: new URLSearchParams(query ?? "") };
};

const go = (view: string, query: Record<string, string>, replace: boolean): void => {
  const text = new URLSearchParams(Object.entries(query).filter(([, v]) => v !== "")).toString();
  const to = `#/${view}${text === "" ? "" : `?${text}`}`;
  if (replace) history.replaceState(null, "", to); else history.pushState(null, "", to);
  draw();
};

interface View { id: string; title: string; ownSummary?: boolean; badge?: (s: Store) => string; show: (s: Store, p: Place) => ComponentChildren }

// The view Shadow has its place at the end of this list.
const views: View[] = [
  { id: "fleet", title: "Fleet", show: (s, p) => <Fleet store={s} chosen={p.query.get("node") ?? ""} choose={(node) => go("fleet", { node }, p.query.has("node"))} /> },
  { id: "cost", title: "Cost", ownSummary: true, show: (s) => <Cost store={s} /> },
  {
    id: "decisions", title: "Decisions", show: (s, p) => {
      const filter: Filter = { pool: p.query.get("pool") ?? "", reason: p.query.get("reason") ?? "", pod: p.query.get("pod") ?? "" };
      return <Decisions store={s} filter={filter} setFilter={(f) => go("decisions", { ...f }, true)} />;
    },
  },
  { id: "waiting", title: "Waiting", badge: (s) => unplaced(s) === 0 ? "" : number(unplaced(s)), show: (s) => <WaitingView store={s} /> },
  { id: "pools", title: "Pools", show: (s) => <Pools store={s} /> },
];

function Status({ store }: { store: Store }) {
  const text = store.lost > 0 ? `Connection lost since ${time(store.lost)}; trying again` : store.at === 0 ? "Connecting" : store.deciding ? "Live" : "Standing by";
  return <div class={store.lost > 0 ? "status lost" : store.deciding ? "status live" : "status"}><span role="status">{text}</span>{store.lost === 0 && store.at > 0 ? <time>{time(store.at)}</time> : null}</div>;
}

function Summary({ store }: { store: Store }) {
  const m = store.meta;
  if (m === undefined) return null;
  const nodes = [...store.tables.nodes.values()];
  const of = (state: string): number => nodes.filter((n) => n.state === state).length;
  const stuck = unplaced(store);
  const under = [of("coming") > 0 ? `${number(of("coming"))} on the way` : "", of("going") > 0 ? `${number(of("going"))} leaving` : ""].filter((x) => x !== "").join(", ");
  return (
    <dl class="summary">
      <div><dt>Nodes</dt><dd>{number(nodes.length)}{under === "" ? null : <small>{under}</small>}</dd></div>
      <div><dt>Pods</dt><dd>{number(m.pods)}</dd></div>
      <div><dt>Cost</dt><dd>{m.audited ? <>{rate(m.cost)}<small>{["with volumes and addresses", unpriced(m)].filter((x) => x !== "").join(", ")}</small></> : <>{rate(nodes.reduce((sum, n) => sum + (n.price ?? 0), 0))}<small>instances alone</small></>}</dd></div>
      <div><dt>Proven bound</dt><dd>{m.audited ? rate(m.bound) : "–"}{m.audited ? <small>gap {gap(m.cost, m.bound)}{m.unpriced === undefined ? "" : `, ${unpriced(m)}`}</small> : null}</dd></div>
      <div class={stuck > 0 ? "alarm" : ""}><dt>Without room</dt><dd>{count(stuck, "pod")}</dd></div>
    </dl>
  );
}

function Banners({ store }: { store: Store }) {
  const m = store.meta;
  return (
    <>
      {store.lost > 0 ? <p class="banner warn" role="alert">The connection to the daemon is lost since {time(store.lost)}. What you see is from {store.at === 0 ? "nowhere yet" : time(store.at)}. The page tries again by itself.</p> : null}
      {store.fault !== "" ? <p class="banner bad" role="alert">The daemon could not work this page out: {store.fault}. What you see is older.</p> : null}
      {m?.paused === true ? <p class="banner warn">Disruption is paused by the daemon's setting: no node is removed to save money, for drift or for expiry.</p> : null}
      {m?.cloudAway === true ? <p class="banner bad">EC2 does not answer: nothing is launched, and what has begun stays as it is.</p> : null}
    </>
  );
}

/** How often ages are written anew where nothing has changed, in seconds. */
const agesEvery = 10;

interface ContentProps { store: Store; view: View; hash: string; version: number; turn: number }

/** What is below the head. Of a large fleet it takes a while to draw, so it is only where something has changed. */
class Content extends Component<ContentProps> {
  override shouldComponentUpdate(next: Readonly<ContentProps>): boolean {
    const p = this.props;
    return next.version !== p.version || next.hash !== p.hash || next.view !== p.view || next.turn !== p.turn;
  }

  override render({ store, view }: ContentProps) {
    return <>{view.ownSummary === true ? null : <Summary store={store} />}{view.show(store, place())}</>;
  }
}

function App({ store }: { store: Store }) {
  const p = place();
  const view = views.find((v) => v.id === p.view) ?? views[0]!;
  const cluster = store.meta?.cluster ?? "";
  document.title = cluster === "" ? "karpenterd" : `${view.title}: ${cluster}`;
  return (
    <>
      <a class="skip" href="#main" onClick={(e) => { e.preventDefault(); document.getElementById("main")?.focus(); }}>Skip to the content</a>
      <header class="top">
        <h1><span>karpenterd</span>{cluster === "" ? null : <b class="break">{cluster}</b>}</h1>
        <nav aria-label="Views">
          {views.map((v) => {
            const badge = v.badge?.(store) ?? "";
            return <a key={v.id} href={`#/${v.id}`} aria-current={v === view ? "page" : undefined}>{v.title}{badge === "" ? null : <i aria-label={`${badge} without room`}>{badge}</i>}</a>;
          })}
        </nav>
        <Status store={store} />
      </header>
      <Banners store={store} />
      <main id="main" tabIndex={-1}>
        {store.at === 0 ? <p class="empty">Connecting to the daemon.</p> : store.meta === undefined ? (
          <div class="empty big"><h2>This replica decides nothing</h2><p>Another one holds the Lease, or none does yet. <code>karpenterd ui</code> finds the one that decides. This page fills as soon as this replica is elected.</p></div>
        ) : <Content store={store} view={view} hash={location.hash} version={store.version} turn={Math.floor(store.at / agesEvery)} />}
      </main>
      <footer>{store.meta === undefined ? null : `karpenterd ${store.meta.version} · `}<a href="licences.txt">Licences</a></footer>
    </>
  );
}

const root = document.getElementById("app")!;
const store = new Store(() => draw());
function draw(): void { render(<App store={store} />, root); }
window.addEventListener("hashchange", draw);
window.addEventListener("popstate", draw);
draw();
store.open();
