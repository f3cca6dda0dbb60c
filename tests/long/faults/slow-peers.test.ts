import { connect as dial } from "node:net";
import { describe, test } from "vitest";
import { connect } from "../../../lib/pico-link/client.ts";
import { createFaultProxy } from "../../../testkit/index.ts";
import { eventually, join, joinMany, startServer, token } from "./server.ts";

const contents = (count: number): string[] => Array.from({ length: count }, (_, n) => String(n));

/* The tests run concurrently, because they mostly wait. */
describe.concurrent("slow peers", () => {
  test("closes a peer that does not read without delaying others", async ({ expect }) => {
    const many = 1_000;
    const write_timeout = 8;
    await using server = await startServer({
      config: { max_connections: many + 1, write_timeout, read_timeout: 600 },
    });
    let heard = 0;
    const healthy = await joinMany(
      many,
      () => `${server.url}?session_id=all`,
      () => void (heard += 1),
    );
    await using network = await createFaultProxy({ port: server.port });
    const stuck = await join(`${network.through(server.url)}?session_id=all`);
    stuck.say("this session too", "alone");
    await eventually(() => stuck.heard.length === 1);
    network.set({ down: "stall" });
    while ((await server.ask("queued")) < 384 * 1024)
      await server.ask("say", { session: "alone", content: "x", bytes: 200_000 });

    let said = 0;
    // The server sends the next message after all thousand clients have received the one before, so
    // a delay of one client would stop the rounds.
    while (server.disconnected.length === 0) {
      await server.ask("say", { session: "all", content: String(said) });
      said += 1;
      await eventually(() => heard >= said * many);
    }
    expect(server.disconnected).toMatchObject([
      { code: 4410, reason: "slow_consumer", initiator: "server" },
    ]);
    expect(said).toBeGreaterThanOrEqual(2);
    expect(new Set(healthy.map((peer) => peer.heard.join()))).toEqual(
      new Set([contents(said).join()]),
    );
    expect(await server.ask("connections")).toBe(many);
    console.log(JSON.stringify({ "messages that each of 1,000 had": said }));
    healthy.forEach(({ ws }) => ws.terminate());
  });

  test("serves 16 MB over a slow line beyond write_timeout", async ({ expect }) => {
    await using server = await startServer({ config: { write_timeout: 6, read_timeout: 600 } });
    await using network = await createFaultProxy({ port: server.port });
    const peer = await join(`${network.through(server.url)}?session_id=s`);
    network.set({ down: { bytes: 65_536, everyMs: 30 } });
    const bytes = 400_000;
    const count = 40;
    const began = performance.now();
    for (let n = 0; n < count; n++) {
      await eventually(async () => (await server.ask("queued")) < 2 * 1024 * 1024);
      await server.ask("say", { session: "s", content: `${n} `, bytes });
    }
    await eventually(() => peer.heard.length === count || server.disconnected.length > 0);
    expect(server.disconnected).toEqual([]);
    expect(performance.now() - began).toBeGreaterThan(6_000);
    expect(peer.heard.map((text) => [text.length, text.split(" ", 1)[0]])).toEqual(
      contents(count).map((n) => [bytes, n]),
    );
    peer.ws.terminate();
  });

  test("closes clients that send one byte per second", async ({ expect }) => {
    await using server = await startServer({ config: { read_timeout: 8, ping_interval: 2 } });
    await using network = await createFaultProxy({ port: server.port });
    const dripping = await join(network.through(server.url));
    network.set({ up: { bytes: 1, everyMs: 1_000 } });
    dripping.say("x".repeat(1_000));
    const request = dial(network.port, "127.0.0.1").on("error", () => undefined);
    request.write(`GET /pico HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n`);
    const answered = new Promise<string>((done) => {
      let text = "";
      request
        .setEncoding("latin1")
        .on("data", (part: string) => (text += part))
        .on("close", () => done(text));
    });
    const healthy = await join(server.url);
    for (let n = 0; server.disconnected.length === 0; n++) {
      healthy.say(String(n));
      await eventually(() => healthy.heard.length === n + 1);
    }
    expect(server.disconnected).toMatchObject([
      { code: 4408, reason: "heartbeat", initiator: "server" },
    ]);
    expect(await dripping.closed).toEqual({ code: 4408, reason: "heartbeat" });
    expect((await answered).split("\r\n", 1)[0]).toBe("HTTP/1.1 408 Request Timeout");
    expect(await server.ask("connections")).toBe(1);
    healthy.ws.terminate();
  });

  test("drops a hundred vanished peers after read_timeout", async ({ expect }) => {
    await using server = await startServer({
      config: { read_timeout: 8, ping_interval: 2, max_connections: 200 },
    });
    await using network = await createFaultProxy({ port: server.port });
    const here = await joinMany(50, () => server.url);
    const vanished = await joinMany(100, () => network.through(server.url));
    network.set({ up: "swallow", down: "swallow" });
    vanished.forEach(({ ws }) => ws.terminate());
    await server.until("they were let go", () => server.disconnected.length >= 100);
    expect(
      new Set(server.disconnected.map(({ code, initiator }) => `${code} ${initiator}`)),
    ).toEqual(new Set(["4408 server"]));
    here.forEach((peer, n) => peer.say(String(n)));
    await eventually(() => here.every(({ heard }) => heard.length === 1));
    expect([server.disconnected.length, await server.ask("connections")]).toEqual([100, 50]);
    here.forEach(({ ws }) => ws.terminate());
  });

  test("detects a dead line on both sides and loses no messages", async ({ expect }) => {
    await using server = await startServer({ config: { read_timeout: 5, ping_interval: 2 } });
    await using network = await createFaultProxy({ port: server.port });
    const heard: string[] = [];
    const states: string[] = [];
    const link = connect({
      url: network.through(server.url),
      token,
      sessionId: "s",
      onMessage: ({ content }) => void heard.push(content),
      onState: ({ to, reason }) => void states.push(to === "waiting" ? `${to} (${reason})` : to),
    });
    await link.send("before").accepted;
    network.set({ up: "swallow", down: "swallow" });
    const offline = link.send("offline").accepted;
    for (const content of ["1", "2", "3"]) await server.ask("say", { session: "s", content });
    await server.until("it let go", () => server.disconnected.length > 0);
    await eventually(() => states.at(-1) !== "open");
    network.set({ up: "none", down: "none" });
    expect(await offline).toMatchObject({ status: "delivered" });
    await eventually(() => heard.length >= 5);
    expect(heard).toEqual(["you said before", "1", "2", "3", "you said offline"]);
    expect(server.disconnected[0]).toMatchObject({ code: 4408, initiator: "server" });
    expect(states).toContain("waiting (heartbeat)");
    link.close();
  });

  test("closes only dead peers after the event loop was blocked", async ({ expect }) => {
    await using server = await startServer({
      config: { read_timeout: 6, ping_interval: 2, max_connections: 300 },
    });
    await using network = await createFaultProxy({ port: server.port });
    const here = await joinMany(200, () => server.url);
    const vanished = await join(network.through(server.url));
    network.set({ up: "swallow", down: "swallow" });
    vanished.ws.terminate();
    await server.ask("stall", { ms: 8_000 });
    const before = here.map(({ pings }) => pings());
    await eventually(() => here.every(({ pings }, n) => pings() >= before[n]! + 2));
    await server.until("it let the one go", () => server.disconnected.length > 0);
    here.forEach((peer, n) => peer.say(String(n)));
    await eventually(() => here.every(({ heard }) => heard.length === 1));
    expect(server.disconnected).toMatchObject([{ code: 4408, initiator: "server" }]);
    expect(await server.ask("connections")).toBe(200);
    here.forEach(({ ws }) => ws.terminate());
  });
});
