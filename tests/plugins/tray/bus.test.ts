import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join as joinPath } from "node:path";
import { describe, expect, test } from "vitest";
import { createStoppedClock } from "../../../kernel/testing.ts";
import { openBus, type Bus } from "../../../plugins/tray/dbus/index.ts";
import { hasBus, join, startBus, waitFor } from "./bus.ts";

const daemon = {
  destination: "org.freedesktop.DBus",
  path: "/org/freedesktop/DBus",
  interface: "org.freedesktop.DBus",
};

/** A server at the address of the bus, and the result of opening the bus with a stopped clock. */
async function against(
  serve: (socket: Socket) => void,
  visit: (open: Promise<Bus>, increment: (ms: number) => void) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(joinPath(tmpdir(), "doorward-bus-"));
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on("error", () => undefined));
    serve(socket);
  }).listen(joinPath(folder, "bus"));
  await new Promise((ready) => server.once("listening", ready));
  const clock = createStoppedClock();
  const closing = new AbortController();
  try {
    await visit(
      openBus({
        env: { DBUS_SESSION_BUS_ADDRESS: `unix:path=${joinPath(folder, "bus")}` },
        uid: 1000,
        objects: {},
        after: (ms, run) => {
          const id = clock.setTimeout(run, ms);
          return () => clock.clearTimeout(id);
        },
        onSignal: () => undefined,
        closed: () => undefined,
        closing: closing.signal,
      }),
      (ms) => clock.increment(ms),
    );
  } finally {
    closing.abort();
    for (const socket of sockets) socket.destroy();
    await new Promise((closed) => server.close(closed));
    await rm(folder, { recursive: true, force: true });
  }
}

describe("openBus without a bus", () => {
  test.each<[string, (socket: Socket) => void, RegExp]>([
    ["rejects the user", (socket) => socket.write("REJECTED EXTERNAL\r\n"), /rejects this user/],
    ["closes", (socket) => socket.end(), /closes the connection/],
    ["sends an endless line", (socket) => socket.write("x".repeat(600)), /line that is too long/],
    [
      "accepts the user and then uses another protocol",
      (socket) => {
        socket.once("data", () => {
          socket.write(`OK ${"a".repeat(32)}\r\n`);
          socket.on("data", () => socket.write("HTTP/1.1 400 Bad Request\r\n\r\n"));
        });
      },
      /not a D-Bus message/,
    ],
  ])("%s: opening it says so", async (_, serve, words) => {
    await against(serve, (open) => expect(open).rejects.toThrow(words));
  });

  test("fails after ten seconds without a response", async () => {
    let received = "";
    await against(
      (socket) =>
        socket.on("data", (text) => {
          received += String(text);
        }),
      async (open, increment) => {
        const ended = expect(open).rejects.toThrow("it does not respond");
        await waitFor(() => expect(received).toBe("\0AUTH EXTERNAL 31303030\r\n"));
        increment(10_000);
        await ended;
      },
    );
  });
});

describe.skipIf(!hasBus)("openBus with a real bus", () => {
  test("returns results, errors of the bus, and requested names", async () => {
    await using bus = await startBus();
    using one = await join(bus);
    using two = await join(bus);
    expect(one.name).toMatch(/^:\d+\.\d+$/);
    expect(await one.call(daemon, "NameHasOwner", "s", [two.name])).toEqual([true]);
    await expect(one.call(daemon, "NoSuchThing")).rejects.toThrow(/NoSuchThing/);
    await expect(one.call({ ...daemon, destination: "org.example.Nobody" }, "X")).rejects.toThrow(
      /Nobody/,
    );
  });

  test("transfers messages larger than the socket buffer", async () => {
    await using bus = await startBus();
    const text = "ü".repeat(200_000);
    const echo = { takes: "s", gives: "s", run: (...[given]: readonly any[]) => [given] };
    const objects = {
      "/e": { "org.example.Echo": { properties: {}, methods: { Echo: echo }, signals: {} } },
    };
    using one = await join(bus, { objects });
    using two = await join(bus);
    const place = { destination: one.name, path: "/e", interface: "org.example.Echo" };
    expect(await two.call(place, "Echo", "s", [text])).toEqual([text]);
    const properties = { ...place, interface: "org.freedesktop.DBus.Properties" };
    await expect(
      two.call(properties, "Set", "ssv", ["org.example.Echo", "A", { signature: "y", value: 1 }]),
    ).rejects.toThrow("all properties are read-only");
    const described = await two.call(
      { ...place, interface: "org.freedesktop.DBus.Introspectable" },
      "Introspect",
    );
    expect(described[0]).toContain(
      '<method name="Echo"><arg type="s" direction="in"/><arg type="s" direction="out"/>',
    );
    expect(await two.call({ ...place, interface: "org.freedesktop.DBus.Peer" }, "Ping")).toEqual(
      [],
    );
  });

  test("reports the end of the bus once and fails pending calls", async () => {
    const bus = await startBus();
    const reasons: string[] = [];
    using one = await join(bus, { closed: (reason) => reasons.push(reason) });
    using deaf = await join(bus);
    await bus[Symbol.asyncDispose]();
    await waitFor(() => expect(reasons).toHaveLength(1));
    const place = { destination: deaf.name, path: "/d", interface: "org.example.D" };
    await expect(one.call(place, "X")).rejects.toThrow(/bus|closed|EPIPE|ECONN/);
  });
});
