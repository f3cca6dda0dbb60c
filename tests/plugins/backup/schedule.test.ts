// Makes backups on a schedule, with a clock that the test moves.
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { createStoppedClock, withKernel, type StoppedClock } from "../../../kernel/testing.ts";
import {
  backup,
  readBackups,
  type Backups,
  type MadeBackup,
} from "../../../plugins/backup/index.ts";
import { settled } from "../../support/timers.ts";

const minuteMs = 60_000;

interface Run {
  readonly home: string;
  readonly backups: Backups;
  /** Lets hours pass. */
  pass(hours: number): Promise<void>;
  /** Names of the backups, oldest first. */
  names(): Promise<string[]>;
}

interface RunOptions {
  readonly home: string;
  readonly section?: object;
  readonly clock?: StoppedClock;
  readonly make?: (file: string) => Promise<MadeBackup>;
}

/** Writes a file as a backup does. */
async function makeFile(file: string): Promise<MadeBackup> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, "backup");
  return { file, bytes: 6, conversations: 2 };
}

function run(options: RunOptions, visit: (run: Run) => Promise<void>): Promise<void> {
  const { home, section = { every: 24, keep: 3 }, make = makeFile } = options;
  const plugin = backup({ home, make, places: {} });
  const own = options.clock ? { clock: options.clock } : {};
  return withKernel(
    [plugin],
    async ({ kernel, clock }) => {
      const { backups } = kernel.services;
      await visit({
        home,
        backups,
        async pass(hours) {
          for (let minutes = 0; minutes < hours * 60; minutes += 15) {
            clock.increment(15 * minuteMs);
            do await settled();
            while ((await backups.view()).running);
          }
        },
        names: async () => (await readdir(join(home, "backups")).catch(() => [])).sort(),
      });
    },
    { config: { backup: section }, ...own },
  );
}

async function withHome(visit: (home: string) => Promise<void>): Promise<void> {
  const home = await mkdtemp(join(tmpdir(), "doorward-schedule-"));
  try {
    await visit(home);
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

const numbersOf = (names: readonly string[]): number[] =>
  names.map((name) => Number(/^doorward-(\d+)-/.exec(name)![1]));

describe("backup", () => {
  test("makes one soon after the start, and one each interval", () =>
    withHome((home) =>
      run({ home }, async ({ pass, names, backups }) => {
        await pass(1);
        expect(numbersOf(await names())).toEqual([1]);
        await pass(22);
        expect(numbersOf(await names())).toEqual([1]);
        await pass(2);
        expect(numbersOf(await names())).toEqual([1, 2]);
        expect(await backups.view()).toMatchObject({
          every: 24,
          last: { conversations: 2, bytes: 6 },
        });
        await pass(72);
        expect(numbersOf(await names())).toEqual([3, 4, 5]);
      }),
    ));

  test("makes none unless the owner sets an interval", () =>
    withHome((home) =>
      run({ home, section: {} }, async ({ pass, names }) => {
        await pass(100);
        expect(await names()).toEqual([]);
      }),
    ));

  test("keeps good backups while new ones fail, and says why", () =>
    withHome(async (home) => {
      let isFull = false;
      const make = async (file: string): Promise<MadeBackup> => {
        if (isFull) throw new Error("The disk is full.");
        return makeFile(file);
      };
      await run({ home, make }, async ({ pass, names, backups }) => {
        await pass(80);
        const good = await names();
        isFull = true;
        await pass(30);
        expect(await names()).toEqual(good);
        expect(await backups.view()).toMatchObject({
          failed: { reason: "The disk is full." },
          last: { file: join(home, "backups", good.at(-1)!) },
        });
        isFull = false;
        await pass(2);
        expect((await backups.view()).failed).toBeUndefined();
        expect(numbersOf(await names())).toEqual([3, 4, 5]);
      });
    }));

  test("continues the interval after a restart", () =>
    withHome(async (home) => {
      const clock = createStoppedClock();
      await run({ home, clock }, ({ pass }) => pass(20));
      await run({ home, clock }, async ({ pass, names }) => {
        await pass(3);
        expect(numbersOf(await names())).toEqual([1]);
        await pass(3);
        expect(numbersOf(await names())).toEqual([1, 2]);
      });
    }));

  test("replaces no good backup because the system clock jumps", () =>
    withHome(async (home) => {
      const time = createStoppedClock();
      let jumpMs = 0;
      const clock: StoppedClock = {
        now: () => time.now() + jumpMs,
        monotonic: () => time.now(),
        setTimeout: (work, ms) => time.setTimeout(work, ms),
        clearTimeout: (timer) => time.clearTimeout(timer as number),
        increment: (ms) => time.increment(ms),
        set: (now) => time.set(now),
      };
      await run({ home, clock }, async ({ pass, names, backups }) => {
        await pass(50);
        expect(numbersOf(await names())).toEqual([1, 2, 3]);
        jumpMs = 400 * 86_400_000;
        await pass(12);
        expect(numbersOf(await names())).toEqual([2, 3, 4]);
        jumpMs = -40 * 86_400_000;
        await pass(24);
        const now = await names();
        expect(numbersOf(now)).toEqual([3, 4, 5]);
        expect((await backups.view()).last!.file).toContain(now.at(-1)!);
      });
    }));

  test("leaves other files of the folder alone", () =>
    withHome((home) =>
      run({ home, section: { every: 1, keep: 1 } }, async ({ pass, names }) => {
        await makeFile(join(home, "backups", "mine.tar"));
        await pass(5);
        expect(await names()).toEqual([expect.stringMatching(/^doorward-/), "mine.tar"]);
      }),
    ));

  test("reads nothing from a damaged history", () =>
    withHome(async (home) => {
      await mkdir(join(home, "state"));
      for (const text of ["", "{", '{"last":{"at":"x"},"failed":1,"clock":null}']) {
        await writeFile(join(home, "state", "backups.json"), text);
        expect(await readBackups(home)).toEqual({});
      }
    }));
});
