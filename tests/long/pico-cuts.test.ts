import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { expect, test } from "vitest";
import { far, near } from "../plugins/pico-client/stand.ts";

/** Passes bytes on until it is told to cut. */
async function createRelay(port: number) {
  const pairs = new Set<readonly [Socket, Socket]>();
  const server = createServer((from) => {
    const to = connect(port, "127.0.0.1");
    const pair = [from, to] as const;
    pairs.add(pair);
    from.pipe(to).pipe(from);
    for (const socket of pair) {
      socket.on("error", () => {});
      socket.on("close", () => {
        pairs.delete(pair);
        from.destroy();
        to.destroy();
      });
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}/pico`,
    cut: () => pairs.forEach(([from]) => from.resetAndDestroy()),
    [Symbol.asyncDispose]: async () => void server.close(),
  };
}

const pause = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));

test("two thousand messages each way over a connection that is cut twenty times: none lost, none doubled, in order", async () => {
  const many = 2_000;
  await using there = await far(() => undefined, { config: { message_rate: 0 } });
  await using relay = await createRelay(there.port);
  await using here = await near(relay.url);
  await here.until(here.changes, ({ to }) => to === "open");
  const session = here.link.session()!;
  const names = Array.from({ length: many }, (_, n) => `${n + 1}`);

  const upwards = (async () => {
    const sent: Promise<unknown>[] = [];
    for (const content of names) {
      sent.push(here.link.send({ content }));
      await pause(12);
    }
    await Promise.all(sent);
  })();
  const downwards = (async () => {
    for (const content of names) {
      await there.channels.send({ channel: "pico", session }, { content });
      await pause(12);
    }
  })();
  for (let cut = 0; cut < 20; cut++) {
    // longer than a connection takes to forget failures: backoffs stay short, and what is missed stays held
    await pause(1_150 + ((cut * 37) % 101));
    relay.cut();
  }
  await Promise.all([upwards, downwards]);
  await here.until(here.heard, ({ content }) => content === String(many));

  expect(there.heard.map(({ content }) => content)).toEqual(names);
  expect(here.heard.map(({ content }) => content)).toEqual(names);
  expect(here.changes.filter(({ to }) => to === "waiting").length).toBeGreaterThanOrEqual(15);
  expect(here.lines.filter(({ text }) => text.includes("are lost"))).toEqual([]);
});
