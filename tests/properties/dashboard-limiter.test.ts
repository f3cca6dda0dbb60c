import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { memory, type TokenBackend } from "../../plugins/token-store/index.ts";
import {
  TOKEN,
  setupBackend,
  createLoginLink,
  startDashboard,
  type DashboardServer,
} from "../support/dashboard-server.ts";
import { runs } from "../support/runs.ts";

const WINDOW = 60_000;

interface Compared {
  readonly at: number;
  readonly value: string;
}

/** A store that reports each comparison and takes a while for it. */
function watched(form: TokenBackend): {
  form: TokenBackend;
  compared: Compared[];
  watch(server: DashboardServer): void;
} {
  const compared: Compared[] = [];
  let now = (): number => 0;
  return {
    compared,
    watch: (server) => {
      now = server.clock.now;
    },
    form: {
      ...form,
      async verify(_, value) {
        compared.push({ at: now(), value });
        await new Promise(setImmediate);
        return value === TOKEN;
      },
    },
  };
}

type Way = (server: DashboardServer, token: string, from: string) => Promise<Response>;
const running: Record<string, Way> = {
  json: (server, token, from) => server.post("/login", { token }, {}, from),
  form: (server, token, from) => server.form("/login", { token }, {}, from),
  query: (server, token, from) => server.get(`/?token=${token}`, {}, from),
  bearer: (server, token, from) =>
    server.get("/api/status", { authorization: `Bearer ${token}` }, from),
};
/** With these fields, a right code alone does not finish the setup. */
const differing = { token: "one-of-my-own-tokens", confirm: "differs" };
const setup: Record<string, Way> = {
  json: running["json"]!,
  form: running["form"]!,
  query: running["query"]!,
  code: (server, code, from) => server.post("/setup", { code, ...differing }, {}, from),
  codeForm: (server, code, from) => server.form("/setup", { code, ...differing }, {}, from),
};

/** The sign-in methods that accept a one-time link. The others treat it as any wrong value. */
const takesLinks = (way: Way): boolean =>
  [running["json"], running["form"], running["query"]].includes(way);

/** Distinct values in a time window. Each counts for a minute from its first comparison. */
function learnt(compared: readonly Compared[]): number[] {
  const counted = new Map<string, number>();
  return compared.flatMap(({ at, value }) => {
    const last = counted.get(value);
    if (last !== undefined && at - last < WINDOW) return [];
    counted.set(value, at);
    return [at];
  });
}
function expectLaw(compared: readonly Compared[], most: number): void {
  const times = learnt(compared.filter(({ value }) => value.length < 43));
  for (const [n, at] of times.entries()) {
    const later = times[n + most];
    if (later !== undefined) expect(later - at).toBeGreaterThanOrEqual(WINDOW);
  }
}

const value = fc.oneof(
  { weight: 8, arbitrary: fc.nat(40).map((n) => `wrong-${n}`) },
  { weight: 1, arbitrary: fc.nat(5).map((n) => `${n}-wrong`.padStart(43, "x")) },
  { weight: 1, arbitrary: fc.constant("right") },
  { weight: 1, arbitrary: fc.constant("link") },
);
const attempts = fc.record({
  kind: fc.constant("try" as const),
  way: fc.nat(4),
  value,
  from: fc.nat(1),
});
const many = fc.integer({ min: 2, max: 25 });
const together = fc.record({
  kind: fc.constant("together" as const),
  first: fc.nat(40),
  count: many,
});
const ms = fc.oneof(fc.nat(WINDOW), fc.constantFrom(1, 999, 59_999, WINDOW));
const wait = fc.record({ kind: fc.constant("wait" as const), ms });
const step = fc.oneof(
  { weight: 6, arbitrary: attempts },
  { weight: 2, arbitrary: together },
  { weight: 2, arbitrary: wait },
);
const waits = fc.array(fc.nat(WINDOW), { minLength: 1, maxLength: 3 });

describe("wrong values per address", () => {
  const states = [
    ["running", running],
    ["setup", setup],
  ] as const;
  test.each(states)(
    "stay limited however the sign-in methods alternate (%s)",
    async (state, ways) => {
      const all = Object.values(ways);
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
          const store = watched(state === "setup" ? setupBackend() : memory({ launcher: TOKEN }));
          await using server = await startDashboard({ form: store.form });
          store.watch(server);
          const byAddress = new Map<string, Compared[]>([
            ["127.0.0.1", []],
            ["127.0.0.2", []],
          ]);
          const attempt = async (way: Way, given: string, from: string): Promise<void> => {
            const before = store.compared.length;
            const real =
              given === "right" ? TOKEN : given === "link" ? createLoginLink(server) : given;
            const { status } = await way(server, real, from);
            const isRedeemed = given === "link" && takesLinks(way);
            byAddress.get(from)!.push(...store.compared.slice(before));
            if (given === "right") expect([200, 303, 409, 422]).toContain(status);
            else if (isRedeemed) expect(store.compared.length).toBe(before);
            else expect([401, 429]).toContain(status);
          };
          for (const each of steps) {
            if (each.kind === "wait") server.clock.increment(each.ms);
            else if (each.kind === "try") {
              await attempt(all[each.way % all.length]!, each.value, `127.0.0.${each.from + 1}`);
            } else {
              const before = store.compared.length;
              await Promise.all(
                Array.from({ length: each.count }, (_, n) =>
                  all[n % all.length]!(server, `wrong-${(each.first + n) % 41}`, "127.0.0.1"),
                ),
              );
              byAddress.get("127.0.0.1")!.push(...store.compared.slice(before));
            }
          }
          for (const compared of byAddress.values()) expectLaw(compared, 10);
        }),
        { numRuns: runs(20) },
      );
    },
  );

  test("stay limited in repeated bursts of 50 parallel attempts", () =>
    fc.assert(
      fc.asyncProperty(waits, fc.integer({ min: 1, max: 12 }), async (pauses, most) => {
        const store = watched(memory({ launcher: TOKEN }));
        await using server = await startDashboard({
          form: store.form,
          launcher: { login_attempts_per_minute: most },
        });
        store.watch(server);
        const all = Object.values(running);
        for (const [round, pause] of pauses.entries()) {
          const answers = await Promise.all(
            Array.from({ length: 50 }, (_, n) =>
              all[n % 4]!(server, `wrong-${round}-${n}`, "127.0.0.1"),
            ),
          );
          expect(answers.filter(({ status }) => status === 401).length).toBeLessThanOrEqual(most);
          if (round === 0) expect(answers.filter(({ status }) => status === 401).length).toBe(most);
          server.clock.increment(pause);
        }
        expectLaw(store.compared, most);
      }),
      { numRuns: runs(8) },
    ));
});

describe("attempts that do not count", () => {
  const harmless: ((server: DashboardServer, n: number) => Promise<unknown>)[] = [
    (server) => server.post("/login", {}),
    (server) => server.form("/login", { token: "" }),
    (server, n) => server.form("/login", `token=a${n}&token=b${n}`),
    (server, n) => server.post("/login", { token: `ott_${n}` }),
    (server, n) => server.get(`/?token=ott_${n}`),
    (server, n) => server.get(`/?token=a${n}&token=b${n}`),
    (server, n) => server.get(`/?token=wrong-${n}`, { "sec-fetch-dest": "image" }),
    (server, n) => server.request(`/?token=wrong-${n}`, { method: "HEAD" }),
    (server, n) =>
      server.post("/login", { token: `wrong-${n}` }, { origin: "https://evil.example" }),
    (server, n) => server.get("/api/status", { authorization: `Basic wrong-${n}` }),
    (server, n) => server.get("/api/status", { authorization: [`Bearer a${n}`, `Bearer b${n}`] }),
    (server, n) =>
      server.get("/api/status", { cookie: `service_session_${server.port}=wrong-${n}` }),
    (server, n) => server.post("/setup", { code: `wrong-${n}`, keep: true }),
    (server) => server.post("/login", { token: TOKEN }),
    (server) => server.get(`/?token=${TOKEN}`),
    (server) => server.post("/login", { token: createLoginLink(server) }),
    (server) => server.post("/login", { token: "the same wrong one" }),
  ];

  test("never block, in any order and number", () =>
    fc.assert(
      fc.asyncProperty(fc.array(fc.nat(harmless.length - 1), { maxLength: 60 }), async (picks) => {
        await using server = await startDashboard({ launcher: { login_attempts_per_minute: 2 } });
        for (const [n, pick] of picks.entries()) await harmless[pick]!(server, n);
        expect((await server.post("/login", { token: "a wrong one" })).status).toBe(401);
        await server.post("/login", { token: "another wrong one" });
        expect((await server.post("/login", { token: "yet another" })).status).toBe(429);
      }),
      { numRuns: runs(15) },
    ));
});
