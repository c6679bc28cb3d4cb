// What the daemon has sent, and whether the connection stands.

export interface Meta {
  version: string; cluster: string; since: number;
  cost: number; bound: number; audited: boolean; homeless?: number;
  unpriced?: number; saving: number; removals: number; empty: number; emptied: number; pods: number;
  paused?: boolean; cloudAway?: boolean; target?: number; frees?: number;
}

export interface Node {
  node?: string; claim?: string; pool?: string; type?: string; zone?: string; buy?: string;
  price?: number; cpu: number; memory: number; pods: number;
  state?: "going" | "coming" | "not ready"; created: number; stays?: string; goes?: string;
}

export interface Limit { name: string; max: string; used: string; full: number }
export interface Budget { text: string; holds: boolean; until?: number }
export interface Allowed { reason: string; most: number; used: number }
export interface Condition { type: string; status: string; reason?: string; message?: string; since: number }
export interface Fault { path: string; effect: string; remedy: string }

export interface Pool {
  name: string; class: string; weight?: number; static?: boolean; replicas?: number; policy: string; after: string;
  ready: boolean; notReady?: string; paused?: boolean; deleting?: boolean; standing?: string; why?: string;
  limits?: Limit[]; budgets?: Budget[]; allowed?: Allowed[]; conditions?: Condition[]; unsupported?: Fault[];
}

export interface Hurdle { pool?: string; what: string; remedy?: string }
export interface Waiting { pods: string[]; count: number; since?: number; verdict: string; on?: string; hurdles?: Hurdle[] }
export interface Move { reason: string; replaces: string[]; by: string[]; saves?: number }

export interface Decision {
  at: number; kind: string; pool?: string; claim?: string; node?: string; reason: string; why: string; what?: string;
  price?: number; frees?: number | undefined; runnerUp?: string; runnerUpPrice?: number; pods?: string[]; count?: number;
}

export interface Point {
  at: number; cost: number; bound: number;
  pools?: Record<string, number>; buys?: Record<string, number>; zones?: Record<string, number>;
}

export interface Tables {
  meta: Map<string, Meta>; nodes: Map<string, Node>; pools: Map<string, Pool>; waiting: Map<string, Waiting>;
  moves: Map<string, Move>; decisions: Map<string, Decision>; points: Map<string, Point>;
}

type Section = keyof Tables;

interface Change {
  at: number; deciding: boolean; fault?: string;
  set?: Record<string, Record<string, unknown>>; gone?: Record<string, string[]>;
}

const sections: Section[] = ["meta", "nodes", "pools", "waiting", "moves", "decisions", "points"];

/** Nothing for so long, in milliseconds, is a lost connection: the daemon sends the time at least every few seconds. */
const silence = 60_000;

/** How long after a lost connection the next try comes, in milliseconds, where the browser gives up itself. */
const again = 3_000;

export class Store {
  tables: Tables = { meta: new Map(), nodes: new Map(), pools: new Map(), waiting: new Map(), moves: new Map(), decisions: new Map(), points: new Map() };
  /** The daemon's time of the last event, in seconds; 0 before the first. */
  at = 0;
  deciding = false;
  /** Grows with each change of the tables. */
  version = 0;
  fault = "";
  /** Since when the connection is lost, in seconds; 0 while it stands. */
  lost = 0;

  private source?: EventSource;
  private watchdog = 0;
  private told = false;

  constructor(private readonly changed: () => void) {}

  get meta(): Meta | undefined { return this.tables.meta.get("now"); }

  open(): void {
    this.source?.close();
    const source = new EventSource("events");
    this.source = source;
    source.addEventListener("whole", (e) => this.take(e as MessageEvent<string>, true));
    source.addEventListener("change", (e) => this.take(e as MessageEvent<string>, false));
    source.onerror = () => {
      this.lose();
      if (source.readyState === EventSource.CLOSED) this.arm(again);
    };
    this.arm(silence);
  }

  private arm(after: number): void {
    window.clearTimeout(this.watchdog);
    this.watchdog = window.setTimeout(() => { this.lose(); this.open(); }, after);
  }

  private lose(): void {
    if (this.lost === 0) this.lost = Math.floor(Date.now() / 1000);
    this.tell();
  }

  private take(e: MessageEvent<string>, whole: boolean): void {
    const c = JSON.parse(e.data) as Change;
    if (whole || Object.keys(c.set ?? {}).length + Object.keys(c.gone ?? {}).length > 0) this.version++;
    for (const s of sections) {
      const table = this.tables[s] as Map<string, unknown>;
      const set = c.set?.[s] ?? {};
      if (whole) for (const key of table.keys()) if (!(key in set)) table.delete(key);
      for (const [key, value] of Object.entries(set)) table.set(key, value);
      for (const key of c.gone?.[s] ?? []) table.delete(key);
    }
    this.at = c.at;
    this.deciding = c.deciding;
    this.fault = c.fault ?? "";
    this.lost = 0;
    this.arm(silence);
    this.tell();
  }

  /** Draws once for all that comes within one frame. */
  private tell(): void {
    if (this.told) return;
    this.told = true;
    window.requestAnimationFrame(() => { this.told = false; this.changed(); });
  }
}
