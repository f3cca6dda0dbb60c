import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { describe, afterEach, beforeEach, expect, test } from "vitest";
import { createFaultProxy, createQueue, type FaultProxy, type Queue } from "../../testkit/index.ts";

/** A server that only receives, and the bytes it received. */
let server: ReturnType<typeof createServer>;
let arrivals: Queue<Socket>;
let proxy: FaultProxy;

beforeEach(async () => {
  arrivals = createQueue();
  server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on("error", () => undefined);
    arrivals.push(socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  proxy = await createFaultProxy({ port: (server.address() as AddressInfo).port });
});
afterEach(async () => {
  await proxy.close();
  server.close();
});

async function join(): Promise<{ near: Socket; far: Socket }> {
  const near = connect({ port: proxy.port, host: "127.0.0.1", allowHalfOpen: true }).on(
    "error",
    () => undefined,
  );
  const far = await arrivals.next("a connection");
  return { near, far };
}
/** Reads until the end; the other direction continues. */
async function all(socket: Socket): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of socket.iterator({ destroyOnReturn: false })) parts.push(part as Buffer);
  return Buffer.concat(parts);
}
function bytes(socket: Socket, count: number): Promise<string> {
  return new Promise((done) => {
    let text = "";
    const take = (part: Buffer): void => {
      text += String(part);
      if (text.length < count) return;
      socket.off("data", take);
      done(text);
    };
    socket.on("data", take);
  });
}
const noise = Buffer.from(Array.from({ length: 3_000_000 }, (_, n) => (n * 7 + (n >> 8)) % 251));

describe("createFaultProxy", () => {
  test("passes every byte and both ends without a fault", async () => {
    const { near, far } = await join();
    near.end(noise);
    far.end(noise.subarray(1));
    const [up, down] = await Promise.all([all(far), all(near)]);
    expect([up.equals(noise), down.equals(noise.subarray(1))]).toEqual([true, true]);
  });

  test("delays each byte without changing the order", async () => {
    proxy.set({ down: { delayMs: 60 } });
    const { near, far } = await join();
    const began = performance.now();
    for (const part of ["one ", "two ", "three"]) far.write(part);
    expect(await bytes(near, 13)).toBe("one two three");
    expect(performance.now() - began).toBeGreaterThanOrEqual(59);
    far.end("!");
    expect(String(await all(near))).toBe("!");
  });

  test("limits bytes per interval in one direction only", async () => {
    proxy.set({ up: { bytes: 2, everyMs: 5 } });
    const { near, far } = await join();
    near.end("0123456789");
    const parts: string[] = [];
    far.on("data", (part) => parts.push(String(part)));
    far.write("immediately");
    expect(await bytes(near, 7)).toBe("immediately");
    await once(far, "end");
    expect(parts.join("")).toBe("0123456789");
    expect(parts.length).toBeGreaterThan(1);
  });

  test("blocks the sender during a stall, and loses nothing", async () => {
    proxy.set({ up: "stall" });
    const { near, far } = await join();
    const parts: Buffer[] = [];
    far.on("data", (part: Buffer) => parts.push(part));
    let sent = 0;
    for (let waits = 0; waits < 20 && sent < 200_000_000;) {
      sent += noise.byteLength;
      const flushed = new Promise<boolean>((done) => void near.write(noise, () => done(true)));
      waits += (await Promise.race([flushed, new Promise((turn) => setTimeout(turn, 5))])) ? 0 : 1;
    }
    expect([near.writableLength > 0, parts.length]).toEqual([true, 0]);
    proxy.set({ up: "none" });
    near.end();
    await once(far, "end");
    expect(parts.reduce((sum, { byteLength }) => sum + byteLength, 0)).toBe(sent);
  });

  test("discards swallowed bytes and hides the end of the sender", async () => {
    const { near, far } = await join();
    near.write("heard");
    await bytes(far, 5);
    let seen = "";
    far
      .on("data", (part) => (seen += String(part)))
      .on("end", () => (seen += "end"))
      .on("close", () => (seen += "close"));
    proxy.set({ up: "swallow" });
    near.write("not heard");
    near.resetAndDestroy();
    await once(near, "close");
    far.write("into the void");
    for (let rounds = 0; rounds < 5; rounds++) {
      const { near: other, far: otherFar } = await join();
      otherFar.write("alive");
      expect(await bytes(other, 5)).toBe("alive");
    }
    proxy.set({ up: "none" });
    expect([seen, far.destroyed]).toEqual(["", false]);
  });

  test("resets both sides on a cut and connects to the new port", async () => {
    const { near, far } = await join();
    near.write("x");
    await bytes(far, 1);
    const codes = [near, far].map((socket) =>
      once(socket, "end").catch(({ code }: { code?: string }) => code),
    );
    expect([proxy.cut(), proxy.connections()]).toEqual([1, 0]);
    expect(await Promise.all(codes)).toEqual(["ECONNRESET", "ECONNRESET"]);

    const other = createServer(
      (socket) => void socket.on("error", () => undefined).end("the other one"),
    );
    other.listen(0, "127.0.0.1");
    await once(other, "listening");
    proxy.lead((other.address() as AddressInfo).port);
    const next = connect(proxy.port, "127.0.0.1").on("error", () => undefined);
    expect(String(await all(next))).toBe("the other one");
    other.close();
  });

  test("passes on a reset after an end at the next byte", async () => {
    const { near, far } = await join();
    near.end("the end");
    expect(await bytes(far, 7)).toBe("the end");
    near.resetAndDestroy();
    const lost = new Promise((done) =>
      far.on("error", ({ code }: { code?: string }) => done(code)),
    );
    while (!far.destroyed) {
      far.write("x");
      await new Promise((turn) => setImmediate(turn));
    }
    expect(["ECONNRESET", "EPIPE"]).toContain(await lost);
    await expect.poll(() => proxy.connections()).toBe(0);
  });

  test("keeps path and query of an address", () => {
    const { port } = proxy;
    expect(proxy.through("ws://localhost:1/pico?session_id=s")).toBe(
      `ws://127.0.0.1:${port}/pico?session_id=s`,
    );
  });
});
