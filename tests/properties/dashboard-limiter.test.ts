import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { memory, type TokenBackend } from "../../plugins/token-store/index.ts";
import {
  TOKEN,
  inSetup,
  mintLink,
  startDashboard,
  type DashboardStand,
} from "../support/dashboard-server.ts";

const WINDOW = 60_000;

interface Compared {
  readonly at: number;
  readonly value: string;
}

/** A store that reports each comparison and takes a while for it. */
function watched(form: TokenBackend): {
  form: TokenBackend;
  compared: Compared[];
  watch(stand: DashboardStand): void;
} {
  const compared: Compared[] = [];
  let now = (): number => 0;
  return {
    compared,
    watch: (stand) => {
      now = stand.clock.now;
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

type Way = (stand: DashboardStand, token: string, from: string) => Promise<Response>;
const running: Record<string, Way> = {
  json: (stand, token, from) => stand.post("/login", { token }, {}, from),
  form: (stand, token, from) => stand.form("/login", { token }, {}, from),
  query: (stand, token, from) => stand.get(`/?token=${token}`, {}, from),
  bearer: (stand, token, from) =>
    stand.get("/api/status", { authorization: `Bearer ${token}` }, from),
};
/** With these fields, a right code alone does not finish the setup. */
const differing = { token: "one-of-my-own-tokens", confirm: "differs" };
const setup: Record<string, Way> = {
  json: running["json"]!,
  form: running["form"]!,
  query: running["query"]!,
  code: (stand, code, from) => stand.post("/setup", { code, ...differing }, {}, from),
  codeForm: (stand, code, from) => stand.form("/setup", { code, ...differing }, {}, from),
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
          const store = watched(state === "setup" ? inSetup() : memory({ launcher: TOKEN }));
          await using stand = await startDashboard({ form: store.form });
          store.watch(stand);
          const byAddress = new Map<string, Compared[]>([
            ["127.0.0.1", []],
            ["127.0.0.2", []],
          ]);
          const attempt = async (way: Way, given: string, from: string): Promise<void> => {
            const before = store.compared.length;
            const real = given === "right" ? TOKEN : given === "link" ? mintLink(stand) : given;
            const { status } = await way(stand, real, from);
            const isRedeemed = given === "link" && takesLinks(way);
            byAddress.get(from)!.push(...store.compared.slice(before));
            if (given === "right") expect([200, 303, 409, 422]).toContain(status);
            else if (isRedeemed) expect(store.compared.length).toBe(before);
            else expect([401, 429]).toContain(status);
          };
          for (const each of steps) {
            if (each.kind === "wait") stand.clock.increment(each.ms);
            else if (each.kind === "try") {
              await attempt(all[each.way % all.length]!, each.value, `127.0.0.${each.from + 1}`);
            } else {
              const before = store.compared.length;
              await Promise.all(
                Array.from({ length: each.count }, (_, n) =>
                  all[n % all.length]!(stand, `wrong-${(each.first + n) % 41}`, "127.0.0.1"),
                ),
              );
              byAddress.get("127.0.0.1")!.push(...store.compared.slice(before));
            }
          }
          for (const compared of byAddress.values()) expectLaw(compared, 10);
        }),
        { numRuns: 20 },
      );
    },
  );

  test("stay limited in repeated bursts of 50 parallel attempts", () =>
    fc.assert(
      fc.asyncProperty(waits, fc.integer({ min: 1, max: 12 }), async (pauses, most) => {
        const store = watched(memory({ launcher: TOKEN }));
        await using stand = await startDashboard({
          form: store.form,
          launcher: { login_attempts_per_minute: most },
        });
        store.watch(stand);
        const all = Object.values(running);
        for (const [round, pause] of pauses.entries()) {
          const answers = await Promise.all(
            Array.from({ length: 50 }, (_, n) =>
              all[n % 4]!(stand, `wrong-${round}-${n}`, "127.0.0.1"),
            ),
          );
          expect(answers.filter(({ status }) => status === 401).length).toBeLessThanOrEqual(most);
          if (round === 0) expect(answers.filter(({ status }) => status === 401).length).toBe(most);
          stand.clock.increment(pause);
        }
        expectLaw(store.compared, most);
      }),
      { numRuns: 8 },
    ));
});

describe("attempts that do not count", () => {
  const harmless: ((stand: DashboardStand, n: number) => Promise<unknown>)[] = [
    (stand) => stand.post("/login", {}),
    (stand) => stand.form("/login", { token: "" }),
    (stand, n) => stand.form("/login", `token=a${n}&token=b${n}`),
    (stand, n) => stand.post("/login", { token: `ott_${n}` }),
    (stand, n) => stand.get(`/?token=ott_${n}`),
    (stand, n) => stand.get(`/?token=a${n}&token=b${n}`),
    (stand, n) => stand.get(`/?token=wrong-${n}`, { "sec-fetch-dest": "image" }),
    (stand, n) => stand.request(`/?token=wrong-${n}`, { method: "HEAD" }),
    (stand, n) => stand.post("/login", { token: `wrong-${n}` }, { origin: "https://evil.example" }),
    (stand, n) => stand.get("/api/status", { authorization: `Basic wrong-${n}` }),
    (stand, n) => stand.get("/api/status", { authorization: [`Bearer a${n}`, `Bearer b${n}`] }),
    (stand, n) => stand.get("/api/status", { cookie: `service_session_${stand.port}=wrong-${n}` }),
    (stand, n) => stand.post("/setup", { code: `wrong-${n}`, keep: true }),
    (stand) => stand.post("/login", { token: TOKEN }),
    (stand) => stand.get(`/?token=${TOKEN}`),
    (stand) => stand.post("/login", { token: mintLink(stand) }),
    (stand) => stand.post("/login", { token: "the same wrong one" }),
  ];

  test("never block, in any order and number", () =>
    fc.assert(
      fc.asyncProperty(fc.array(fc.nat(harmless.length - 1), { maxLength: 60 }), async (picks) => {
        await using stand = await startDashboard({ launcher: { login_attempts_per_minute: 2 } });
        for (const [n, pick] of picks.entries()) await harmless[pick]!(stand, n);
        expect((await stand.post("/login", { token: "a wrong one" })).status).toBe(401);
        await stand.post("/login", { token: "another wrong one" });
        expect((await stand.post("/login", { token: "yet another" })).status).toBe(429);
      }),
      { numRuns: 15 },
    ));
});
