import { Bar, sentence } from "./detail";
import { groups } from "./fleet";
import { count, rate, when, words } from "./format";
import type { Budget, Pool, Store } from "./store";

export function Pools({ store }: { store: Store }) {
  const { pools, nodes } = store.tables;
  const costs = new Map(groups(nodes, pools.keys()).filter((g) => !g.foreign).map((g) => [g.name, g]));
  const list = [...pools.values()].sort((a, b) => (b.weight ?? 0) - (a.weight ?? 0) || (a.name < b.name ? -1 : 1));
  if (list.length === 0) return <div class="empty big"><h2>There is no NodePool</h2><p>Without one no node is launched.</p></div>;
  return (
    <div class="pools">
      {list.map((p) => {
        const g = costs.get(p.name);
        return (
          <article class="card pool" key={p.name} aria-label={`NodePool ${p.name}`}>
            <header>
              <h2 class="break">{p.name}</h2>
              <Badges p={p} />
              <span class="quiet">{count(g?.nodes.length ?? 0, "node")}, {rate(g?.cost ?? 0)}</span>
            </header>
            {p.why === undefined ? null : <p>{sentence(p.why)}</p>}
            {p.ready || p.notReady === undefined || p.why?.includes(p.notReady) === true ? null : <p class="note bad">{sentence(p.notReady)}</p>}
            <Limits p={p} />
            <Budgets p={p} now={store.at} />
            <Settings p={p} />
            <Conditions p={p} now={store.at} />
            {p.unsupported === undefined ? null : (
              <section><h3>Fields without effect</h3>
                <ul class="faults">{p.unsupported.map((f) => <li key={f.path}><code>{f.path}</code> {sentence(f.effect)} <b>What to do:</b> {f.remedy}.</li>)}</ul>
              </section>
            )}
          </article>
        );
      })}
    </div>
  );
}

function Badges({ p }: { p: Pool }) {
  return (
    <>
      {p.deleting === true ? <span class="badge bad">being deleted</span> : p.ready ? <span class="badge good">ready</span> : <span class="badge bad">not ready</span>}
      {p.paused === true ? <span class="badge warn">paused</span> : null}
      {p.static === true ? <span class="badge">static: {count(p.replicas ?? 0, "node")}</span> : null}
      {(p.limits ?? []).some((l) => l.full >= 100) ? <span class="badge warn">at its limit</span> : null}
    </>
  );
}

function Limits({ p }: { p: Pool }) {
  return (
    <section>
      <h3>Limits</h3>
      {p.limits === undefined ? <p class="quiet">None.</p> : (
        <table class="bars"><tbody>{p.limits.map((l) => (
          <tr key={l.name}><th scope="row" class="break">{l.name}</th><td><Bar full={l.full} warn /></td><td class="num">{l.used} of {l.max}</td></tr>
        ))}</tbody></table>
      )}
    </section>
  );
}

function holds(b: Budget, now: number): string {
  if (b.until === undefined) return b.holds ? "always" : "never";
  return b.holds ? `now, until ${when(b.until, now)}` : `next from ${when(b.until, now)}`;
}

function Budgets({ p, now }: { p: Pool; now: number }) {
  return (
    <section>
      <h3>Disruption budgets</h3>
      {p.budgets === undefined ? <p class="quiet">None: nothing bounds how many nodes are removed at once.</p> : (
        <ul class="budgets">{p.budgets.map((b, i) => (
          <li key={i} class={b.holds ? "holds" : ""}><span>{b.text}</span><em>{holds(b, now)}</em></li>
        ))}</ul>
      )}
      {(p.allowed ?? []).length === 0 ? null : (
        <p class="quiet">In use now: {(p.allowed ?? []).map((a) => `${words(a.reason)} ${a.used} of ${a.most}`).join(", ")}.</p>
      )}
    </section>
  );
}

function Settings({ p }: { p: Pool }) {
  return (
    <dl class="facts">
      <div><dt>EC2NodeClass</dt><dd>{p.class}</dd></div>
      {p.static === true ? null : <div><dt>Consolidation</dt><dd>{words(p.policy)}, after {p.after}</dd></div>}
      {p.weight === undefined ? null : <div><dt>Weight</dt><dd>{p.weight}</dd></div>}
    </dl>
  );
}

function Conditions({ p, now }: { p: Pool; now: number }) {
  const list = p.conditions ?? [];
  if (list.length === 0) return null;
  const bad = list.filter((c) => c.status !== "True" && c.type !== "Unsupported" && c.type !== "Disrupting");
  return (
    <details open={bad.length > 0}>
      <summary>{count(list.length, "condition")}{bad.length > 0 ? `, ${bad.length} not met` : ", all met"}</summary>
      <ul class="conditions">{list.map((c) => (
        <li key={c.type}>
          <b class={bad.includes(c) ? "bad" : ""}>{c.type}</b> {c.status.toLowerCase()} <span class="quiet">since {when(c.since, now)}</span>
          {c.status !== "True" && c.message !== undefined ? <p>{sentence(c.message)}</p> : null}
        </li>
      ))}</ul>
    </details>
  );
}
