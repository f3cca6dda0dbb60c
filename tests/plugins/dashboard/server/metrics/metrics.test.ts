import { describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { application } from "../../../../../plugins/channels/index.ts";
import { memory } from "../../../../../plugins/token-store/index.ts";
import { PICO, withApi, type ApiClient } from "../../../../support/api-client.ts";
import { readExposition, type Scrape } from "../../../../support/prometheus-text.ts";
import { signIn, startDashboard, TOKEN } from "../../../../support/dashboard-server.ts";

const METRICS = "metrics-token-0123456789abcdef";
const env = { SERVICE_METRICS_TOKEN: METRICS };
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

async function scrape(
  office: Pick<ApiClient, "get">,
  headers: Record<string, string> = bearer(METRICS),
): Promise<Scrape> {
  const answer = await office.get("/metrics", headers);
  expect(answer.status).toBe(200);
  expect(answer.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
  expect(answer.headers.get("cache-control")).toBe("no-store");
  return readExposition(await answer.text());
}

/** Metrics other than zero, without those of the process and of the current time. */
const counted = (all: Scrape): Record<string, number> =>
  Object.fromEntries(
    [...all].filter(([name, value]) => value !== 0 && /^pico_(?!bytes|wheel)/.test(name)),
  );

async function until(find: () => Promise<boolean>): Promise<void> {
  while (!(await find())) await new Promise((resolve) => setTimeout(resolve, 5));
}

async function connect({ port }: ApiClient, path: string, token = PICO) {
  const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, { headers: bearer(token) });
  const received: string[] = [];
  socket.on("message", (data) =>
    received.push((JSON.parse((data as Buffer).toString()) as { type: string }).type),
  );
  socket.on("error", () => undefined);
  await new Promise((done) => socket.once("open", done).once("close", done));
  return {
    socket,
    send: (frame: object | string) =>
      socket.send(typeof frame === "string" ? frame : JSON.stringify(frame)),
    receives: async (type: string) => until(async () => received.includes(type)),
    end: async (code: number) => {
      const closed = new Promise((done) => socket.once("close", done));
      socket.close(code);
      await closed;
    },
  };
}

const echoes = application(
  async (message) => void (await message.reply({ content: message.content })),
);

describe("GET /metrics", () => {
  test("counts known traffic by name", () =>
    withApi(
      async (office) => {
        const before = await scrape(office);
        expect(counted(before)).toEqual({});
        const first = await connect(office, "/pico?session_id=s&pico_ext=1");
        await first.receives("hello");
        first.send({ type: "message.send", id: "1", payload: { content: "one" } });
        await first.receives("message.ack");
        await first.receives("message.create");
        first.send({ type: "ping" });
        await first.receives("pong");
        first.send("[");
        await first.receives("error");
        await connect(office, "/pico", "wrong-token-0123456789");
        await connect(office, "/pico?token=anything", "wrong-token-0123456789");
        await office.get("/pico");
        await first.end(4999);
        const second = await connect(
          office,
          "/pico?session_id=s&pico_ext=1&resume=0123456789abcdef:1",
        );
        await second.receives("gap");
        await until(async () => (await scrape(office)).get("pico_connections") === 1);

        const after = await scrape(office);
        expect(counted(after)).toEqual({
          pico_connections: 1,
          'pico_handshakes_total{result="accepted"}': 2,
          'pico_handshakes_total{result="token_mismatch"}': 2,
          'pico_closes_total{initiator="client",code="other"}': 1,
          'pico_frames_total{dir="in",type="message.send"}': 1,
          'pico_frames_total{dir="in",type="ping"}': 1,
          'pico_frames_total{dir="in",type="invalid"}': 1,
          'pico_frames_total{dir="out",type="hello"}': 2,
          'pico_frames_total{dir="out",type="message.create"}': 1,
          'pico_frames_total{dir="out",type="message.ack"}': 1,
          'pico_frames_total{dir="out",type="pong"}': 1,
          'pico_frames_total{dir="out",type="error"}': 1,
          'pico_frames_total{dir="out",type="gap"}': 1,
          'pico_resumes_total{result="gap"}': 1,
          'pico_gaps_total{reason="epoch_changed"}': 1,
          'pico_auth_failures_total{method="header",reason="token_mismatch"}': 2,
          'pico_auth_failures_total{method="none",reason="token_missing"}': 1,
        });
        expect(after.get('pico_bytes_total{dir="in"}')).toBeGreaterThan(100);
        expect(after.get('pico_bytes_total{dir="out"}')).toBeGreaterThan(500);
        expect(after.get("pico_wheel_late_seconds")).toBe(0);
        second.socket.terminate();
      },
      { env, plugins: [echoes] },
    ));

  test("has fixed names and complete labels from the start", () =>
    withApi(
      async (office) => {
        const all = [...(await scrape(office)).keys()];
        const families = new Set(
          all.map((name) => name.replace(/\{.*/, "")).filter((name) => name.startsWith("pico_")),
        );
        expect([...families]).toEqual([
          "pico_connections",
          "pico_handshakes_total",
          "pico_frames_total",
          "pico_bytes_total",
          "pico_queue_bytes",
          "pico_coalesced_total",
          "pico_dropped_total",
          "pico_resumes_total",
          "pico_gaps_total",
          "pico_wheel_late_seconds",
        ]); // closes and failures have a series when there was one
        expect(
          all.filter((name) => name.startsWith("pico_handshakes_total")).length,
        ).toBeGreaterThan(20);
        expect(all).toEqual(
          expect.arrayContaining([
            'pico_gaps_total{reason="overflow"}',
            'pico_frames_total{dir="out",type="typing.start"}',
            'pico_dropped_total{class="typing"}',
          ]),
        );
      },
      { env },
    ));

  test("contains process metrics and the launcher state", () =>
    withApi(
      async (office) => {
        const all = await scrape(office);
        for (const name of [
          "process_cpu_seconds_total",
          "process_resident_memory_bytes",
          "process_start_time_seconds",
          "process_open_fds",
          "process_max_fds",
          "nodejs_eventloop_lag_seconds",
          "nodejs_heap_size_used_bytes",
        ]) {
          expect(all.has(name), name).toBe(true);
        }
        expect(all.get('doorward_info{version="7.0.0"}')).toBe(1);
        const states = [...all]
          .filter(([name]) => name.startsWith("doorward_state"))
          .filter(([, value]) => value === 1);
        expect(states).toEqual([['doorward_state{state="running"}', 1]]);
        expect(all.get("doorward_ready")).toBe(1);
        expect(all.get("doorward_sessions")).toBe(1);
      },
      { env, dashboard: { version: "7.0.0" } },
    ));

  test("serves parallel scrapes independently", () =>
    withApi(
      async (office) => {
        const [one, two] = await Promise.all([scrape(office), scrape(office)]);
        const ours = (all: Scrape): string[] =>
          [...all.keys()].filter((name) => !name.startsWith("nodejs_active"));
        expect(ours(one)).toEqual(ours(two));
      },
      { env },
    ));
});

describe("access to /metrics", () => {
  test("requires the metrics token, launcher token or a session", () =>
    withApi(
      async (office) => {
        for (const headers of [bearer(METRICS), bearer(TOKEN), office.session])
          await scrape(office, headers);
        expect((await office.get("/metrics")).status).toBe(401);
        const refused = await office.get("/metrics", {
          accept: "text/html",
          "sec-fetch-mode": "navigate",
        });
        expect(refused.status).toBe(401);
        expect(refused.headers.get("www-authenticate")).toBe('Bearer realm="launcher"');
        const posted = await office.post("/metrics", {}, bearer(TOKEN));
        expect([posted.status, posted.headers.get("allow")]).toEqual([405, "HEAD, GET"]);
      },
      { env },
    ));

  test("ends at this path for the metrics token", () =>
    withApi(
      async (office) => {
        for (const path of [
          "/api/status",
          "/api/tokens",
          "/api/x/any",
          "/metrics/more",
          "/metrics/",
        ]) {
          const { status } = await office.get(path, bearer(METRICS));
          expect([path, status]).toEqual([path, 401]);
        }
        expect((await office.post("/login", { token: METRICS })).status).toBe(401);
        expect((await office.get("/pico", bearer(METRICS))).status).toBe(401);
      },
      { env },
    ));

  test("rejects the channel token and an empty token", () =>
    withApi(async (office) => {
      for (const token of [PICO, "", " "])
        expect((await office.get("/metrics", bearer(token))).status).toBe(401);
    }));

  test("counts wrong tokens once in the dashboard limit", () =>
    withApi(
      async (office) => {
        const from = "127.0.0.9";
        for (let n = 0; n < 10; n++) {
          expect((await office.get("/metrics", bearer(`wrong-${n}`), from)).status).toBe(401);
        }
        const limited = await office.get("/metrics", bearer("wrong-11"), from);
        expect([limited.status, limited.headers.get("retry-after")]).toEqual([429, "60"]);
        expect((await office.post("/login", { token: "wrong-12" }, {}, from)).status).toBe(429);
        await scrape(office);
      },
      { env },
    ));

  test("accepts a token of launcher-config.json and shows its source", () =>
    withApi(async ({ home, ask, get }) => {
      const { readFile, writeFile } = await import("node:fs/promises");
      const path = `${home}/launcher-config.json`;
      expect(
        (await ask("GET", "/api/tokens")).body.tokens.map(({ name }: { name: string }) => name),
      ).not.toContain("metrics");
      const before = JSON.parse(await readFile(path, "utf8")) as object;
      await writeFile(path, JSON.stringify({ ...before, metrics_token: METRICS }));
      await until(async () => (await get("/metrics", bearer(METRICS))).status === 200);
      const { body } = await ask("GET", "/api/tokens");
      expect(body.tokens.at(-1)).toMatchObject({
        name: "metrics",
        source: "config",
        managedByEnv: false,
      });
      expect(JSON.stringify(body)).not.toContain(METRICS);
    }));

  test("does not exist during setup", async () => {
    await using server = await startDashboard({ form: memory({ metrics: METRICS }) });
    const answer = await server.get("/metrics", bearer(METRICS));
    expect([answer.status, ((await answer.json()) as { error: string }).error]).toEqual([
      403,
      "setup_required",
    ]);
  });

  test("requires an allowed host before a token", () =>
    withApi(
      async (office) => {
        expect(
          (await office.get("/metrics", { ...bearer(METRICS), host: "evil.example" })).status,
        ).toBe(403);
      },
      { env },
    ));

  test("logs no token and works without a channel", async () => {
    await using server = await startDashboard({
      form: memory({ launcher: TOKEN, metrics: METRICS }),
    });
    const cookie = await signIn(server);
    const all = await scrape(server, cookie);
    expect([...all.keys()].filter((name) => name.startsWith("pico_"))).toEqual([]);
    expect(all.get("doorward_ready")).toBe(1);
    expect(server.logged()).not.toContain(METRICS);
  });
});
