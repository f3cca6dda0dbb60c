import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { createStoppedClock } from "../../../kernel/testing.ts";
import { createPendingMessages } from "../../../plugins/program/pending-messages.ts";
import { toy } from "../../support/sample-channel.ts";
import { createLineReader } from "../../../plugins/program/line-reader.ts";
import { isAlive, stand, until } from "../../support/program-harness.ts";

test("a program that ignores everything is gone, too, when a stop is given no time", async () => {
  await using door = await stand(
    `process.on("SIGTERM", () => {}); setInterval(() => {}, 1000); console.error("up");`,
  );
  await until(() => door.status().stderr.length > 0);
  const pid = door.status().pid!;
  await door.kernel.stop({ timeoutMs: 20 });
  await until(() => !isAlive(pid));
});

test("what comes while a program is being ended is not given to it, and waits for the next one", () => {
  const given: string[] = [];
  let takes = false;
  const program = {
    pid: 1,
    takes: () => takes,
    pause: () => undefined,
    stop: () => undefined,
    kill: () => undefined,
    write: (line: string) => given.push(line) > 0,
  };
  const requests = createPendingMessages({
    after: () => () => undefined,
    timeoutS: 1,
    running: () => program,
    settled: () => undefined,
    down: () => undefined,
    hung: () => undefined,
  });
  const { message } = toy();
  void requests.accept({
    ...message(),
    accept: () => undefined,
    reply: () => Promise.reject(),
    stream: () => {
      throw 0;
    },
  });
  requests.pump();
  expect([given.length, requests.queued()]).toEqual([0, 1]);
  requests.ended("SIGTERM", false);
  takes = true;
  requests.pump();
  expect([given.length, requests.queued()]).toEqual([1, 0]);
});

test("a clock that is set back does not make a first failure the second one", async () => {
  let back = 0;
  const clock = createStoppedClock();
  const set = {
    ...clock,
    setTimeout: clock.setTimeout.bind(clock),
    clearTimeout: clock.clearTimeout.bind(clock),
    now: () => clock.now() - back,
  };
  await using door = await stand(
    "each((m) => m.payload.content === 'crash' ? process.exit(3) : answer(m, 'here'));",
    {},
    {},
    set,
  );
  await door.say("crash").catch(() => undefined);
  clock.increment(1_000);
  await door.say("well");
  clock.increment(60_000);
  back = 86_400_000;
  await door.say("crash").catch(() => undefined);
  const waits = door.say("waits for the next one");
  await until(() => door.status().queued === 1);
  clock.increment(1_000);
  expect(await waits).toBe("accepted");
});

test("a line that comes byte by byte takes no more than what it holds", () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const lines: string[] = [];
  const { accept: take, end } = createLineReader({
    most: 1024 * 1024,
    line: (text) => void lines.push(text),
    tooLong: () => undefined,
  });
  collect();
  const before = process.memoryUsage().heapUsed;
  for (let at = 0; at < 200_000; at++) take(Buffer.from(new Uint8Array([46])));
  collect();
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(10_000_000);
  end();
  expect(lines.map(({ length }) => length)).toEqual([200_000]);
});
