import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join as joinPath } from "node:path";
import { describe, expect, test } from "vitest";
import { createStoppedClock } from "../../../kernel/testing.ts";
import { openBus, type Bus } from "../../../plugins/tray/dbus/index.ts";
import { hasBus, join, startBus, until } from "./bus.ts";

const daemon = {
  destination: "org.freedesktop.DBus",
  path: "/org/freedesktop/DBus",
  interface: "org.freedesktop.DBus",
};

/** Something that listens where a bus should, and what opening it does under a stopped clock. */
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
  const leaving = new AbortController();
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
        heard: () => undefined,
        closed: () => undefined,
        leaving: leaving.signal,
      }),
      (ms) => clock.increment(ms),
    );
  } finally {
    leaving.abort();
    for (const socket of sockets) socket.destroy();
    await new Promise((closed) => server.close(closed));
    await rm(folder, { recursive: true, force: true });
  }
}

describe("a bus that is none", () => {
  test.each<[string, (socket: Socket) => void, RegExp]>([
    ["refuses the user", (socket) => socket.write("REJECTED EXTERNAL\r\n"), /refuses this user/],
    ["closes", (socket) => socket.end(), /closes the connection/],
    ["talks and talks", (socket) => socket.write("x".repeat(600)), /too long a line/],
    [
      "takes the user and then speaks another protocol",
      (socket) => {
        socket.once("data", () => {
          socket.write(`OK ${"a".repeat(32)}\r\n`);
          socket.on("data", () => socket.write("HTTP/1.1 400 Bad Request\r\n\r\n"));
        });
      },
      /not a message of D-Bus/,
    ],
  ])("%s: opening it says so", async (_, serve, words) => {
    await against(serve, (open) => expect(open).rejects.toThrow(words));
  });

  test("one that says nothing is given up after ten seconds", async () => {
    let heard = "";
    await against(
      (socket) =>
        socket.on("data", (text) => {
          heard += String(text);
        }),
      async (open, increment) => {
        const ended = expect(open).rejects.toThrow("it does not answer");
        await until(() => expect(heard).toBe("\0AUTH EXTERNAL 31303030\r\n"));
        increment(10_000);
        await ended;
      },
    );
  });
});

describe.skipIf(!hasBus)("on a real bus", () => {
  test("calls are answered, errors carry the bus's words, and a name can be asked for", async () => {
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

  test("messages larger than a socket's buffer arrive whole", async () => {
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
    ).rejects.toThrow("nothing can be set");
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

  test("its end is told once, with the calls that wait", async () => {
    const bus = await startBus();
    const reasons: string[] = [];
    using one = await join(bus, { closed: (reason) => reasons.push(reason) });
    using deaf = await join(bus);
    await bus[Symbol.asyncDispose]();
    await until(() => expect(reasons).toHaveLength(1));
    const place = { destination: deaf.name, path: "/d", interface: "org.example.D" };
    await expect(one.call(place, "X")).rejects.toThrow(/bus|closed|EPIPE|ECONN/);
  });
});
