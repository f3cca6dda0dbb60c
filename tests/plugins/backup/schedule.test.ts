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
import { lockFile } from "../../../lib/files/index.ts";
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
  const { home, section = { every: 6, keep: 3 }, make = makeFile } = options;
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
          for (let hour = 0; hour < hours; hour += 1) {
            clock.increment(60 * minuteMs);
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

/** A clock whose system time jumps by days, as after a sleep: the other time does not. */
function createJumpingClock(): StoppedClock & { jump(days: number): void } {
  const time = createStoppedClock();
  let jumpMs = 0;
  return {
    now: () => time.now() + jumpMs,
    monotonic: () => time.now(),
    setTimeout: (work, ms) => time.setTimeout(work, ms),
    clearTimeout: (timer) => time.clearTimeout(timer as number),
    increment: (ms) => time.increment(ms),
    set: (now) => time.set(now),
    jump: (days) => {
      jumpMs += days * 86_400_000;
    },
  };
}

const numbersOf = (names: readonly string[]): number[] =>
  names.map((name) => Number(/^doorward-(\d+)-/.exec(name)![1]));

describe("backup", () => {
  test("makes one soon after the start, and one each interval", () =>
    withHome((home) =>
      run({ home }, async ({ pass, names, backups }) => {
        await pass(1);
        expect(numbersOf(await names())).toEqual([1]);
        await pass(4);
        expect(numbersOf(await names())).toEqual([1]);
        await pass(2);
        expect(numbersOf(await names())).toEqual([1, 2]);
        expect(await backups.view()).toMatchObject({
          every: 6,
          last: { conversations: 2, bytes: 6 },
        });
        await pass(18);
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
        await pass(14);
        const good = await names();
        isFull = true;
        await pass(7);
        expect(await names()).toEqual(good);
        expect(await backups.view()).toMatchObject({
          failed: { reason: "The disk is full." },
          last: { file: join(home, "backups", good.at(-1)!) },
        });
        isFull = false;
        await pass(2);
        expect((await backups.view()).failed).toBeUndefined();
        expect(numbersOf(await names())).toEqual([2, 3, 4]);
      });
    }));

  test("continues the interval after a restart", () =>
    withHome(async (home) => {
      const clock = createStoppedClock();
      await run({ home, clock }, ({ pass }) => pass(4));
      await run({ home, clock }, async ({ pass, names }) => {
        await pass(1);
        expect(numbersOf(await names())).toEqual([1]);
        await pass(3);
        expect(numbersOf(await names())).toEqual([1, 2]);
      });
    }));

  test("makes one backup more if the system clock jumps ahead", () =>
    withHome(async (home) => {
      const clock = createJumpingClock();
      await run({ home, clock }, async ({ pass, names, backups }) => {
        await pass(8);
        expect(numbersOf(await names())).toEqual([1, 2]);
        clock.jump(400);
        await pass(3);
        expect(numbersOf(await names())).toEqual([1, 2, 3]);
        clock.jump(-440);
        await pass(2);
        expect(numbersOf(await names())).toEqual([1, 2, 3]);
        await pass(3);
        const now = await names();
        expect(numbersOf(now)).toEqual([2, 3, 4]);
        expect((await backups.view()).last!.file).toContain(now.at(-1)!);
      });
    }));

  test("makes a late backup soon after the machine slept or was off", () =>
    withHome(async (home) => {
      const clock = createJumpingClock();
      await run({ home, clock }, async ({ pass, names }) => {
        await pass(3);
        clock.jump(3);
        await pass(1);
        expect(numbersOf(await names())).toEqual([1, 2]);
        clock.jump(3);
      });
      await run({ home, clock }, async ({ pass, names }) => {
        await pass(1);
        expect(numbersOf(await names())).toEqual([1, 2, 3]);
      });
    }));

  test("leaves other files of the folder alone", () =>
    withHome((home) =>
      run({ home, section: { every: 1, keep: 1 } }, async ({ pass, names }) => {
        await makeFile(join(home, "backups", "mine.tar"));
        await pass(3);
        expect(await names()).toEqual([expect.stringMatching(/^doorward-/), "mine.tar"]);
      }),
    ));

  test("removes unfinished files of killed processes, and of no living one", () =>
    withHome(async (home) => {
      const folder = join(home, "backups");
      const [dead, living] = [
        "doorward-000001-20260101T000000Z.tar",
        "doorward-000002-20260101T000000Z.tar",
      ];
      await mkdir(folder, { recursive: true });
      for (const name of [dead, living]) await writeFile(join(folder, `.${name}.part-db`), "half");
      const lock = await lockFile(join(folder, living));
      await run({ home }, async ({ pass, names }) => {
        await pass(1);
        expect((await names()).filter((name) => name.startsWith("."))).toEqual([
          `.${living}.lock`,
          `.${living}.part-db`,
        ]);
      });
      await lock.release();
    }));

  test("reads nothing from a damaged history", () =>
    withHome(async (home) => {
      await mkdir(join(home, "state"));
      for (const text of ["", "{", '{"last":{"at":"x"},"failed":1,"clock":null}']) {
        await writeFile(join(home, "state", "backups.json"), text);
        expect(await readBackups(home)).toEqual({});
      }
    }));
});
