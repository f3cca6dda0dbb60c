import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join as joinPath } from "node:path";
import { expect, test } from "vitest";
import { createFaultProxy } from "../../../testkit/index.ts";
import { findFaketime } from "../../support/tools.ts";
import { eventually, join, joinMany, startServer } from "./server.ts";

const library = findFaketime();

test.skipIf(!library)("keeps connections across clock changes and drops dead peers", async () => {
  const folder = mkdtempSync(joinPath(tmpdir(), "doorward-clock-"));
  try {
    const times = joinPath(folder, "times");
    const set = (to: string): void => writeFileSync(times, `${to}\n`);
    set("+0");
    await using server = await startServer({
      config: { read_timeout: 8, ping_interval: 2, max_connections: 200 },
      env: {
        LD_PRELOAD: library!,
        FAKETIME_TIMESTAMP_FILE: times,
        FAKETIME_NO_CACHE: "1",
        FAKETIME_DONT_FAKE_MONOTONIC: "1",
      },
    });
    await using network = await createFaultProxy({ port: server.port });
    const here = await joinMany(50, () => server.url);
    let rounds = 0;
    let gone = 0;
    for (const time of ["+1d", "-1d"]) {
      set(time);
      const offset = (time === "+1d" ? 1 : -1) * 86_400_000;
      await eventually(
        async () => Math.abs((await server.ask("now")) - Date.now() - offset) < 3_600_000,
      );
      const vanished = await join(network.through(server.url));
      network.set({ up: "swallow", down: "swallow" });
      vanished.ws.terminate();
      gone += 1;
      const before = here.map(({ pings }) => pings());
      await eventually(() => here.every(({ pings }, n) => pings() >= before[n]! + 2));
      await server.until("it let the one go", () => server.disconnected.length >= gone);
      network.set({ up: "none", down: "none" });
      rounds += 1;
      here.forEach((peer) => peer.say(String(rounds)));
      await eventually(() => here.every(({ heard }) => heard.length === rounds));
    }
    expect(server.disconnected.map(({ code }) => code)).toEqual([4408, 4408]);
    expect(new Set(here.map(({ heard }) => heard.join()))).toEqual(
      new Set(["you said 1,you said 2"]),
    );
    here.forEach(({ ws }) => ws.terminate());
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
