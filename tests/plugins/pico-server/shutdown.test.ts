import { describe, expect, test } from "vitest";
import type { Application } from "../../../plugins/channels/index.ts";
import {
  fetchJson,
  rejection,
  startPicoServer,
  token,
  waitFor,
  type Client,
} from "../../support/pico-server-harness.ts";

/** Milliseconds after which the close allows a reconnect. */
const retryOf = (reason: string): number =>
  Number(/^going_away; retry=(\d+)$/.exec(reason)?.[1] ?? Number.NaN);

/** A promise that the test resolves. */
function gate() {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => void (open = resolve));
  return { open: () => open(), opened };
}

/** The close reason of each client and its time, in the order of the closes. */
function ends(
  clients: readonly Client[],
): Promise<{ at: number; code: number; retryMs: number }[]> {
  return Promise.all(
    clients.map(async ({ closed }) => {
      const { code, reason } = await closed;
      return { at: performance.now(), code, retryMs: retryOf(reason) };
    }),
  );
}

describe("createShutdown", () => {
  test("closes clients in sequence and spreads reconnects by reconnect_rate", async () => {
    const testServer = await startPicoServer({ config: { drain_timeout: 5, reconnect_rate: 50 } });
    const clients: Client[] = [];
    for (let n = 0; n < 40; n++) clients.push(await testServer.connect());
    const heard = ends(clients);
    const stoppedAt = performance.now();
    await testServer.kernel.stop();
    const all = (await heard).map((end) => ({ ...end, at: end.at - stoppedAt }));
    expect(new Set(all.map(({ code }) => code))).toEqual(new Set([1001]));
    const times = all.map(({ at }) => at).sort((a, b) => a - b);
    expect(times.at(-1)!).toBeGreaterThan(700); // 40 clients at 50 per second
    const inFirstHalf = times.filter((at) => at < 400).length;
    expect(inFirstHalf).toBeLessThanOrEqual(22); // a busy machine may be later, never earlier
    // Each client reconnects at its own time: none before the last close, at most 50 per second.
    const back = all.map(({ at, retryMs }) => at + retryMs).sort((a, b) => a - b);
    expect(back[0]!).toBeGreaterThan(800 + 1_400);
    expect(back.at(-1)! - back[0]!).toBeGreaterThan(500);
    expect(testServer.facts.filter(({ type }) => type === "pico-server:disconnected")).toHaveLength(
      40,
    );
  });

  test("rejects new connections during the stop with Retry-After", async () => {
    const { open, opened } = gate();
    const testServer = await startPicoServer({
      app: () => opened,
      config: { drain_timeout: 5, reconnect_rate: 2 },
    });
    const clients = [
      await testServer.connect(),
      await testServer.connect(),
      await testServer.connect(),
      await testServer.connect(),
    ];
    clients[0]!.send({ type: "message.send", payload: { content: "work" } });
    await waitFor(() => testServer.services.picoServer.status().messagesIn === 1);
    const heard = ends(clients);
    let closed = 0;
    for (const client of clients) void client.closed.then(() => (closed += 1));
    const stoppedAt = performance.now();
    const stopped = testServer.kernel.stop();
    const refused = await Promise.all([1, 2, 3, 4, 5, 6].map(() => testServer.sendRaw("/pico")));
    const posted = await fetchJson(testServer.port, "/pico/messages", {
      method: "POST",
      body: { content: "late" },
    });
    const tookS = (performance.now() - stoppedAt) / 1_000;
    expect(closed).toBeLessThan(4);
    open();
    const waits = refused.map((answer) => {
      expect(answer).toMatchObject(rejection(503, "unavailable"));
      return Number(answer.headers["retry-after"]);
    });
    // after the four that were connected
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(Math.max(2, 6 - tookS));
    expect(new Set(waits).size).toBeGreaterThan(1);
    expect([posted.status, posted.body["error"]]).toEqual([503, "unavailable"]);
    await stopped;
    expect((await heard).every(({ code }) => code === 1001)).toBe(true);
  });

  test("waits for replies and acknowledgements of accepted messages", async () => {
    const { open, opened } = gate();
    const app: Application = async (message) => {
      await opened;
      await message.reply({ content: "done" });
    };
    const testServer = await startPicoServer({
      app,
      config: { drain_timeout: 20, reconnect_rate: 1_000 },
    });
    const busy = await testServer.connect("/pico?session_id=s&pico_ext=1");
    const idle = await testServer.connect("/pico?session_id=t");
    busy.send({ type: "message.send", id: "m", payload: { content: "work" } });
    await waitFor(() => testServer.services.picoServer.status().messagesIn === 1);
    const stopped = testServer.kernel.stop({ timeoutMs: 30_000 });
    expect((await idle.closed).code).toBe(1001);
    expect(busy.ws.readyState).toBe(busy.ws.OPEN);
    open();
    expect((await busy.closed).code).toBe(1001);
    await stopped;
    expect(busy.frames.map(({ type }) => type)).toEqual(["hello", "message.create", "message.ack"]);
  });

  test("waits for unfinished streams and for posted messages", async () => {
    const { open, opened } = gate();
    let answered = 0;
    const app: Application = async (message) => {
      message.accept();
      await opened;
      await message.reply({ content: "done" });
      answered += 1;
    };
    const testServer = await startPicoServer({ app, config: { drain_timeout: 20 } });
    const busy = await testServer.connect("/pico?session_id=s");
    busy.send({ type: "message.send", payload: { content: "work" } });
    expect(
      (
        await fetchJson(testServer.port, "/pico/messages", {
          method: "POST",
          body: { content: "p" },
        })
      ).status,
    ).toBe(202);
    await waitFor(() => testServer.services.picoServer.status().messagesIn === 2);
    const stopped = testServer.kernel.stop({ timeoutMs: 30_000 });
    expect((await testServer.sendRaw("/pico")).status).toBe(503);
    open();
    await stopped;
    expect(answered).toBe(2);
    expect(busy.frames.map(({ type }) => type)).toEqual(["message.create"]);
  });

  test("waits at most drain_timeout for an application that never settles", async () => {
    const testServer = await startPicoServer({
      app: () => new Promise(() => undefined),
      config: { drain_timeout: 0.3 },
    });
    const peer = await testServer.connect();
    peer.send({ type: "message.send", payload: { content: "work" } });
    await waitFor(() => testServer.services.picoServer.status().messagesIn === 1);
    const startedAt = performance.now();
    await testServer.kernel.stop();
    expect(performance.now() - startedAt).toBeGreaterThan(290);
    expect((await peer.closed).code).toBe(1001);
  });

  test("stays within the stop timeout when drain_timeout is longer", async () => {
    const testServer = await startPicoServer({
      app: () => new Promise(() => undefined),
      config: { drain_timeout: 300 },
    });
    const peer = await testServer.connect();
    peer.send({ type: "message.send", payload: { content: "work" } });
    await waitFor(() => testServer.services.picoServer.status().messagesIn === 1);
    await testServer.kernel.stop({ timeoutMs: 2_000 });
    expect((await peer.closed).code).toBe(1001);
  });

  test("closes all clients immediately and spreads reconnects with drain_timeout 0", async () => {
    const testServer = await startPicoServer({ config: { drain_timeout: 0, reconnect_rate: 10 } });
    const clients = [
      await testServer.connect(),
      await testServer.connect(),
      await testServer.connect(),
    ];
    const heard = ends(clients);
    await testServer.kernel.stop();
    const retries = (await heard).map(({ retryMs }) => retryMs).sort((a, b) => a - b);
    expect(retries[0]!).toBeGreaterThanOrEqual(1_400);
    expect(retries[2]! - retries[0]!).toBeGreaterThan(150);
  });

  test("sends the reconnect time to an event stream", async () => {
    const testServer = await startPicoServer({ config: { drain_timeout: 5 } });
    const headers = { authorization: `Bearer ${token}` };
    const stream = await fetch(`http://127.0.0.1:${testServer.port}/pico/events?session_id=s`, {
      headers,
    });
    const text = stream.text();
    await testServer.kernel.stop();
    const [, last] = /retry: (\d+)\n\n$/.exec(await text) ?? [];
    expect(Number(last)).toBeGreaterThanOrEqual(1_400);
  });
});
