import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { describe, expect, test, vi } from "vitest";
import { WebSocket } from "ws";
import type { LogLineView, LogSource } from "../../../../../plugins/dashboard/index.ts";
import { signIn } from "../../../../support/dashboard-server.ts";
import { PICO, TOKEN, withApi, type ApiClient } from "../../../../support/api-client.ts";

interface Event {
  readonly name: string;
  readonly id: string | undefined;
  readonly data: any;
}

/** Opens a real event stream and collects its events. */
async function listen(
  office: ApiClient,
  path = "/api/events",
  headers: Record<string, string> = office.session,
) {
  const answer = await new Promise<IncomingMessage>((done, failed) => {
    get(
      { port: office.port, host: "127.0.0.1", path, headers: { ...headers }, agent: false },
      done,
    ).on("error", failed);
  });
  const events: Event[] = [];
  let text = "";
  let ended = false;
  answer.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
    for (let at = text.indexOf("\n\n"); at >= 0; at = text.indexOf("\n\n")) {
      const block = text.slice(0, at);
      text = text.slice(at + 2);
      const field = (name: string) => new RegExp(`^${name}: (.*)$`, "m").exec(block)?.[1];
      const name = field("event");
      if (name !== undefined)
        events.push({ name, id: field("id"), data: JSON.parse(field("data") ?? "null") });
    }
  });
  answer.on("close", () => {
    ended = true;
  });
  answer.on("error", () => undefined);
  const event = (name: string) =>
    vi.waitFor(
      () => {
        const found = events.find((each) => each.name === name);
        expect(found, `${name} among ${events.map((each) => each.name).join(" ")}`).toBeDefined();
        return found!;
      },
      { timeout: 20_000, interval: 10 },
    );
  return {
    answer,
    events,
    event,
    ended: () => vi.waitFor(() => expect(ended).toBe(true), { timeout: 20_000, interval: 10 }),
    close: () => answer.destroy(),
  };
}

describe("GET /api/events", () => {
  test("begins with hello, is not cached and requires a session", () =>
    withApi(async (office) => {
      const stream = await listen(office);
      expect(await stream.event("hello")).toMatchObject({
        data: { resumed: false, state: "running" },
        id: expect.any(String),
      });
      expect(stream.answer.headers).toMatchObject({
        "content-type": "text/event-stream; charset=utf-8",
        "cache-control": "no-store",
        "x-frame-options": "DENY",
      });
      expect((await office.ask("GET", "/api/events", undefined, {})).status).toBe(401);
    }));

  test("replays no session id that a rotation turned into a token", () =>
    withApi(async (office) => {
      const session = "session-with-the-name-of-a-later-channel-token";
      const stream = await listen(office);
      const { id } = await stream.event("hello");
      const headers = { authorization: `Bearer ${PICO}` };
      const ws = new WebSocket(`ws://127.0.0.1:${office.port}/pico?session_id=${session}`, {
        headers,
      });
      const closed = once(ws, "close");
      expect((await stream.event("connected")).data).toMatchObject({ session });
      const change = { which: "pico", token: session, current: TOKEN };
      expect(await office.ask("POST", "/api/token/rotate", change)).toMatchObject({ status: 200 });
      expect((await stream.event("disconnected")).data).toMatchObject({ session: "[redacted]" });
      await closed;
      const late = await listen(office, `/api/events?last=${id}`);
      expect((await late.event("hello")).data.resumed).toBe(false);
      await office.ask("POST", "/api/token/rotate", { which: "pico", current: TOKEN });
      await late.event("token");
      expect(JSON.stringify(late.events)).not.toContain(session);
      for (const each of [stream, late]) each.close();
    }));

  test("reports sign-ins, rejections, rotations and changed settings", () =>
    withApi(async (office) => {
      const stream = await listen(office);
      await stream.event("hello");
      await signIn(office);
      await office.post("/login", { token: "wrong-token-of-somebody" });
      await office.ask("POST", "/api/token/rotate", { which: "pico", current: TOKEN });
      const { body } = await office.ask("GET", "/api/settings");
      const { etag } = body.sections.find(
        (each: { section: string }) => each.section === "channels.pico",
      );
      await office.ask(
        "PUT",
        "/api/channels/pico",
        { max_connections: 9 },
        { ...office.session, "if-match": etag },
      );
      expect((await stream.event("signed-in")).data).toMatchObject({
        address: "127.0.0.1",
        via: "form",
        at: office.clock.now(),
      });
      expect((await stream.event("sign-in-refused")).data).toMatchObject({ code: "invalid_token" });
      expect((await stream.event("token")).data).toMatchObject({ name: "pico", what: "rotated" });
      expect((await stream.event("settings")).data).toMatchObject({
        section: "channels.pico",
        keys: ["max_connections"],
      });
    }));

  test("reports connections and messages per second", () =>
    withApi(async (office) => {
      const stream = await listen(office);
      await stream.event("hello");
      await office.ask("POST", "/api/channels/pico/try");
      expect((await stream.event("connected")).data).toMatchObject({
        method: "header",
        session: expect.any(String),
      });
      expect((await stream.event("disconnected")).data).toMatchObject({ code: expect.any(Number) });
      expect(stream.events.map(({ name }) => name)).not.toContain("refused");
      await fetch(`http://127.0.0.1:${office.port}/pico?token=${PICO}`);
      expect((await stream.event("refused")).data).toMatchObject({ code: "token_query_disabled" });
      await expect
        .poll(async () => (await office.ask("GET", "/api/connections")).body.total)
        .toBe(0);
      office.clock.increment(1_000);
      expect((await stream.event("rate")).data).toMatchObject({
        in: 0,
        out: 0,
        connections: 0,
        queuedBytes: 0,
      });
    }));

  test("resumes after the last event or reports that it cannot", () =>
    withApi(async (office) => {
      const first = await listen(office);
      await first.event("hello");
      await signIn(office);
      const { id } = await first.event("signed-in");
      first.close();
      await office.post("/login", { token: "wrong-token-of-somebody" });
      const second = await listen(office, "/api/events", {
        ...office.session,
        "last-event-id": id!,
      });
      expect((await second.event("hello")).data.resumed).toBe(true);
      await second.event("sign-in-refused");
      expect(second.events.map(({ name }) => name)).toEqual(["hello", "sign-in-refused"]);
      const byAddress = await listen(office, `/api/events?last=${id}`);
      await byAddress.event("sign-in-refused");
      const stranger = await listen(office, "/api/events", {
        ...office.session,
        "last-event-id": "00000000-1",
      });
      expect((await stranger.event("hello")).data.resumed).toBe(false);
    }));

  test("closes the oldest stream beyond four per session", () =>
    withApi(async (office) => {
      const streams = [];
      for (let n = 0; n < 5; n += 1) {
        streams.push(await listen(office));
        await streams.at(-1)!.event("hello");
      }
      await streams[0]!.event("superseded");
      await streams[0]!.ended();
      const other = await listen(office, "/api/events", await signIn(office));
      await other.event("hello");
      expect(
        streams.slice(1).some(({ events }) => events.some(({ name }) => name === "superseded")),
      ).toBe(false);
    }));

  test.each([
    ["a sign-out", "sign-out", (office: ApiClient) => office.ask("POST", "/logout")],
    [
      "a revocation",
      "revoked",
      async (office: ApiClient) => {
        const [{ id }] = (await office.ask("GET", "/api/sessions")).body.sessions;
        await office.ask("DELETE", `/api/sessions/${id}`);
      },
    ],
    [
      "the end of seven days",
      "expired",
      async (office: ApiClient) => office.clock.increment(7 * 86_400_000),
    ],
    [
      "a rotation of the launcher token",
      "rotated",
      (office: ApiClient) =>
        office.ask("POST", "/api/token/rotate", { which: "launcher", current: TOKEN }),
    ],
  ])("ends with its session by %s", (_, reason, end) =>
    withApi(async (office) => {
      const stream = await listen(office);
      await stream.event("hello");
      await end(office);
      expect((await stream.event("ended")).data).toEqual({ reason });
      await stream.ended();
    }),
  );

  test("ends for a program when the launcher token is rotated", () =>
    withApi(async (office) => {
      const stream = await listen(office, "/api/events", { authorization: `Bearer ${TOKEN}` });
      await stream.event("hello");
      await office.ask("POST", "/api/token/rotate", { which: "launcher", current: TOKEN });
      expect((await stream.event("ended")).data).toEqual({ reason: "rotated" });
    }));

  test("ends immediately when the service stops", () =>
    withApi(async (office) => {
      const stream = await listen(office);
      await stream.event("hello");
      const stopped = office.kernel.stop();
      await stream.ended();
      await stopped;
    }));

  test("limits events per second and reports the rest", () =>
    withApi(async (office) => {
      const stream = await listen(office);
      await stream.event("hello");
      for (let n = 0; n < 30; n += 1) {
        await Promise.all(
          Array.from({ length: 4 }, () => office.post("/login", { token: `wrong-token-${n}` })),
        );
      }
      office.clock.increment(1_000);
      expect((await stream.event("missed")).data.count).toBeGreaterThan(0);
      expect(
        stream.events.filter(({ name }) => name === "sign-in-refused").length,
      ).toBeLessThanOrEqual(100);
    }));
});

/** A log source whose lines the test writes. */
function writable() {
  const followers = new Set<(line: LogLineView) => void>();
  const lines: LogLineView[] = [];
  const source: LogSource = {
    read: async ({ limit }) => ({ lines: lines.slice(-limit), truncated: lines.length > limit }),
    async *lines() {
      for (const { text } of lines) yield `${text}\n`;
    },
    follow(onLine) {
      followers.add(onLine);
      return () => void followers.delete(onLine);
    },
  };
  const write = (level: LogLineView["level"], text: string): void => {
    const line = { at: 1, level, text, fields: {} };
    lines.push(line);
    for (const onLine of followers) onLine(line);
  };
  return { source, write, followers, lines };
}

describe("log in GET /api/events", () => {
  test("starts at a level and listens only while a stream is open", () => {
    const { source, write, followers } = writable();
    return withApi(
      async (office) => {
        const without = await listen(office);
        await without.event("hello");
        expect(followers.size).toBe(0);
        const stream = await listen(office, "/api/events?log=warn");
        await stream.event("hello");
        write("info", "quiet");
        write("warn", "loud");
        expect((await stream.event("log")).data).toEqual({
          at: 1,
          level: "warn",
          text: "loud",
          fields: {},
        });
        expect(without.events.map(({ name }) => name)).toEqual(["hello"]);
        stream.close();
        await expect.poll(() => followers.size).toBe(0);
      },
      { dashboard: { log: source } },
    );
  });

  test("limits lines per second and reports the rest", () => {
    const { source, write } = writable();
    return withApi(
      async (office) => {
        const stream = await listen(office, "/api/events?log=info");
        await stream.event("hello");
        for (let n = 0; n < 80; n += 1) write("info", `line ${n}`);
        office.clock.increment(1_000);
        expect((await stream.event("log-skipped")).data).toEqual({ count: 30 });
        expect(stream.events.filter(({ name }) => name === "log")).toHaveLength(50);
      },
      { dashboard: { log: source } },
    );
  });

  test("exists for reading and download only with a log source", () => {
    const { source, write, lines } = writable();
    write("info", "first");
    write("info", "second");
    return withApi(
      async (office) => {
        expect((await office.ask("GET", "/api/log?limit=1")).body).toEqual({
          lines: [{ at: 1, level: "info", text: "second", fields: {} }],
          truncated: true,
        });
        expect(await office.ask("GET", "/api/log?level=loud")).toMatchObject({ status: 400 });
        for (let n = 0; n < 1_100; n += 1) write("info", "many");
        expect((await office.ask("GET", "/api/log?limit=5000")).body.lines).toHaveLength(1_000);
        lines.splice(2);
        const file = await office.ask("GET", "/api/log/download");
        expect(file.body).toBe("first\nsecond\n");
        expect(file.headers.get("content-disposition")).toBe('attachment; filename="launcher.log"');
      },
      { dashboard: { log: source } },
    ).then(() =>
      withApi(async ({ ask }) => expect((await ask("GET", "/api/log")).status).toBe(404)),
    );
  });
});
