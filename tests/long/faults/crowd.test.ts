import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { expect, test } from "vitest";
import { startChild } from "./child.ts";
import { eventually, join, joinMany, startServer } from "./server.ts";

const MiB = 1024 * 1024;
const limit = Number(
  /^Max open files +(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1] ?? 1_024,
);

test("returns memory and descriptors after 18,000 clients", async () => {
  const many = Math.min(18_000, limit - 1_000);
  if (many < 18_000) console.log(`${many} clients: this process may open ${limit} files`);
  const config = {
    max_connections: many,
    ping_interval: 3_600,
    read_timeout: 7_200,
    message_rate: 0,
  };
  await using server = await startServer({ config, nodeArgs: ["--expose-gc"] });
  const seed = Math.floor(Math.random() * 2 ** 31);
  await using crowd = startChild("crowd", { port: server.port, seed }, () => undefined);
  const allGone = () => eventually(async () => (await server.ask("connections")) === 0);
  try {
    await crowd.ask("open", { count: 1_000 });
    await crowd.ask("close", { count: 1_000 });
    await allGone();
    const before = await server.ask("held");

    await crowd.ask("open", { count: many });
    expect(await server.ask("connections")).toBe(many);
    const during = await server.ask("held");
    await crowd.ask("close", { count: many / 2 });
    await crowd.ask("mingle", { count: 2_000 });
    await crowd.ask("close", { count: (await crowd.ask("count")) as number });
    await allGone();
    let after = await server.ask("held");
    const hasReturned = () =>
      after.files <= before.files + 2 && after.bytes - before.bytes < 4 * MiB;
    for (let look = 0; look < 50 && !hasReturned(); look++) after = await server.ask("held");
    const figures = {
      many,
      before,
      during,
      after,
      perConnection: Math.round((during.bytes - before.bytes) / many),
    };
    console.log(JSON.stringify(figures));
    expect(during.files).toBeGreaterThanOrEqual(before.files + many);
    expect(after.files).toBeLessThanOrEqual(before.files + 2);
    expect(after.bytes - before.bytes).toBeLessThan(4 * MiB);
  } catch (error) {
    console.log(`the seed was ${seed}`);
    throw error;
  }
});

test("keeps open connections and recovers when descriptors run out", async () => {
  const files = 256;
  await using server = await startServer({ config: { max_connections: 100 }, files });
  const here = await joinMany(40, () => server.url);
  const hogs: Socket[] = [];
  let closed = 0;
  for (let n = 0; n < files; n++) {
    hogs.push(
      connect(server.port, "127.0.0.1")
        .on("error", () => undefined)
        .on("close", () => void (closed += 1))
        .resume(),
    );
  }
  await server.until("it said so", () =>
    server.lines.some(({ text }) => text.includes("ulimit -n")),
  );
  await eventually(() => closed >= 40);
  const isIn = () =>
    join(server.url).then(
      ({ ws }) => ws.terminate(),
      () => false,
    );
  expect(await isIn()).toBe(false);
  here.forEach((peer, n) => peer.say(String(n)));
  await eventually(() => here.every(({ heard }) => heard.length === 1));
  expect(here.map(({ heard }) => heard[0])).toEqual(here.map((_, n) => `you said ${n}`));
  expect((await server.ask("held")).files).toBeLessThan(files - 16);

  for (const hog of hogs) hog.destroy();
  await eventually(async () => (await isIn()) !== false);
  expect(server.disconnected.filter(({ code }) => code !== 1006)).toEqual([]);
  expect(server.lines.filter(({ text }) => text.includes("ulimit -n"))).toHaveLength(1);
  here.forEach((peer) => peer.say("still here"));
  await eventually(() => here.every(({ heard }) => heard.length === 2));
  here.forEach(({ ws }) => ws.terminate());
});
