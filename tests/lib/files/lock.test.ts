import { execFileSync, spawn } from "node:child_process";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import type { Writable } from "node:stream";
import { afterEach, describe, expect, test, vi } from "vitest";
import { lockFile, readJson, readYaml, updateFile } from "../../../lib/files/index.ts";
import { startChild, temporaryFolder } from "./support.ts";

describe("lockFile", () => {
  test("excludes others until its release, and leaves no file", async () => {
    const folder = temporaryFolder();
    const path = join(folder, "a");
    const lock = await lockFile(path, { waitMs: 0 });
    await expect(lockFile(path, { waitMs: 0 })).rejects.toMatchObject({ code: "FILE_LOCKED" });
    const second = lockFile(path);
    await lock.release();
    await (await second).release();
    expect(readdirSync(folder)).toEqual([]);
  });

  test("names the pid of the holder, and is free after its death", async () => {
    const path = join(temporaryFolder(), "a");
    const holder = startChild("holder", path);
    await holder.printed(1);
    await expect(lockFile(path, { waitMs: 0 })).rejects.toMatchObject({
      code: "FILE_LOCKED",
      message: expect.stringContaining(`another process (${holder.process.pid})`),
    });
    await expect(updateFile(path, () => "x", { waitMs: 0 })).rejects.toMatchObject({
      code: "store_unavailable",
    });
    holder.process.kill("SIGKILL");
    await holder.ended;
    await (await lockFile(path, { waitMs: 0 })).release();
  });

  test("respects locks of other machines only while they are touched", async () => {
    const path = join(temporaryFolder(), "a");
    const lock = join(path, "..", ".a.lock");
    writeFileSync(lock, "00000000 1 1 0123456789abcdef");
    await expect(lockFile(path, { waitMs: 0 })).rejects.toMatchObject({ code: "FILE_LOCKED" });
    utimesSync(lock, new Date(), new Date(Date.now() - 11_000));
    await (await lockFile(path, { waitMs: 0 })).release();
  });

  test(
    "treats a lock with a reused pid as stale",
    { skip: process.platform !== "linux" },
    async () => {
      const path = join(temporaryFolder(), "a");
      const file = join(path, "..", ".a.lock");
      const lock = await lockFile(path);
      const [host, pid] = readFileSync(file, "utf8").split(" ");
      await lock.release();
      writeFileSync(file, `${host} ${pid} 1 0123456789abcdef`);
      await (await lockFile(path, { waitMs: 0 })).release();
    },
  );

  test.runIf(process.platform === "linux")(
    "treats a lock held by a zombie process as stale",
    async () => {
      const path = join(temporaryFolder(), "a");
      const file = join(path, "..", ".a.lock");
      // The child ends only after its parent has become a program that never collects exit
      // statuses. A shell would collect them.
      const stdio = ["ignore", "pipe", "ignore", "pipe"] as const;
      const parent = spawn("sh", ["-c", 'cat <&3 & echo "$!"; exec sleep 600'], {
        stdio: [...stdio],
      });
      let pid = "";
      parent.stdout!.on("data", (piece) => void (pid += String(piece)));
      const stat = () =>
        pid.endsWith("\n")
          ? readFileSync(`/proc/${pid.trim()}/stat`, "latin1").split(") ")[1]!.split(" ")
          : [];
      await expect.poll(() => readFileSync(`/proc/${parent.pid}/comm`, "utf8")).toBe("sleep\n");
      (parent.stdio[3] as Writable).end();
      await expect.poll(() => stat()[0]).toBe("Z");
      const lock = await lockFile(path);
      const [host] = readFileSync(file, "utf8").split(" ");
      await lock.release();
      writeFileSync(file, `${host} ${pid.trim()} ${stat()[19]} 0123456789abcdef`);
      await (await lockFile(path, { waitMs: 0 })).release();
      parent.kill();
    },
  );

  test("treats a lock without content as stale after a moment", async () => {
    const path = join(temporaryFolder(), "a");
    writeFileSync(join(path, "..", ".a.lock"), "");
    await (await lockFile(path)).release();
  });

  test("has one holder at a time after a stale lock", async () => {
    const folder = temporaryFolder();
    const path = join(folder, "a");
    writeFileSync(join(folder, ".a.lock"), "00000000 1 1 0123456789abcdef");
    utimesSync(join(folder, ".a.lock"), new Date(), new Date(Date.now() - 60_000));
    let holders = 0;
    const most: number[] = [];
    const takeOne = async () => {
      const lock = await lockFile(path);
      most.push(++holders);
      await new Promise((done) => setImmediate(done));
      expect(await lock.held()).toBe(true);
      holders--;
      await lock.release();
    };
    await Promise.all(Array.from({ length: 12 }, takeOne));
    expect(most).toEqual(Array(12).fill(1));
    expect(readdirSync(folder)).toEqual([]);
  });

  test.runIf(process.getuid?.() === 0)("reports a stale lock that cannot be removed", async () => {
    const folder = temporaryFolder();
    chmodSync(folder, 0o1777);
    writeFileSync(join(folder, ".a.lock"), "00000000 1 1 0123456789abcdef");
    utimesSync(join(folder, ".a.lock"), new Date(), new Date(Date.now() - 60_000));
    process.seteuid!(65_534);
    try {
      await expect(lockFile(join(folder, "a"))).rejects.toMatchObject({ code: "EPERM" });
    } finally {
      process.seteuid!(0);
    }
  });

  test("does not write after the lock was lost", async () => {
    const path = join(temporaryFolder(), "a");
    const update = updateFile(path, () => {
      writeFileSync(join(path, "..", ".a.lock"), "00000000 1 1 0123456789abcdef");
      return "late";
    });
    await expect(update).rejects.toMatchObject({ code: "store_unavailable" });
    expect(existsSync(path)).toBe(false);
  });

  test("loses no key when two processes write in parallel", async () => {
    const folder = temporaryFolder();
    const [json, yaml] = [join(folder, "a.json"), join(folder, "b.yml")];
    const children = ["left", "right"].map((name) => startChild("keys", name, "20", json, yaml));
    expect(await Promise.all(children.map(({ ended }) => ended))).toEqual([0, 0]);
    const names = ["left", "right"]
      .flatMap((name) => Array.from({ length: 20 }, (_, i) => `${name}${i}`))
      .sort();
    const inJson = (await readJson(json))?.value as { keys: object };
    const inYaml = (await readYaml(yaml))?.value as { channels: object };
    expect([Object.keys(inJson.keys).sort(), Object.keys(inYaml.channels).sort()]).toEqual([
      names,
      names,
    ]);
  });

  test("runs updates of one process in order, also after a failure", async () => {
    const path = join(temporaryFolder(), "a");
    const added = (letter: string) => updateFile(path, async (text = "") => text + letter);
    const failing = updateFile(path, () => Promise.reject(new Error("no")));
    const all = Promise.all(["a", "b", "c", "d"].map(added));
    await expect(failing).rejects.toThrow("no");
    await all;
    expect(readFileSync(path, "utf8")).toBe("abcd");
    const order: number[] = [];
    const numbers = Array.from({ length: 100 }, (_, number) => number);
    await Promise.all(numbers.map((number) => updateFile(path, () => void order.push(number))));
    expect(order).toEqual(numbers);
  });

  test("does not write if an update changes nothing", async () => {
    const path = join(temporaryFolder(), "a");
    expect(await updateFile(path, () => undefined)).toBe(false);
    expect(await updateFile(path, () => "x")).toBe(true);
    expect(await updateFile(path, (text) => text)).toBe(false);
  });

  describe("system clock changes", () => {
    afterEach(() => void vi.useRealTimers());

    /** Lets time pass for the process whenever it has nothing else to do. */
    async function passes(work: Promise<unknown>): Promise<void> {
      let isOver = false;
      void work.catch(() => undefined).finally(() => (isOver = true));
      while (!isOver) {
        await new Promise((done) => setImmediate(done));
        if (vi.getTimerCount() > 0) vi.advanceTimersByTime(200);
      }
    }

    test("takes an untouched lock with a future date", async () => {
      const path = join(temporaryFolder(), "a");
      const file = join(path, "..", ".a.lock");
      writeFileSync(file, "00000000 1 1 0123456789abcdef");
      utimesSync(file, new Date(), new Date(Date.now() + 86_400_000));
      vi.useFakeTimers({ toFake: ["setTimeout", "performance"] });
      const lock = lockFile(path);
      await passes(lock);
      await (await lock).release();
    });

    test(
      "keeps the lock of a living holder when the clock jumps ahead",
      { skip: process.platform !== "linux" },
      async () => {
        const path = join(temporaryFolder(), "a");
        const file = join(path, "..", ".a.lock");
        const lock = await lockFile(path);
        utimesSync(file, new Date(), new Date(Date.now() - 86_400_000));
        await expect(lockFile(path, { waitMs: 0 })).rejects.toMatchObject({ code: "FILE_LOCKED" });
        expect(await lock.held()).toBe(true);
        await lock.release();
      },
    );

    test("ends the wait for a lock when the clock is set back", async () => {
      const path = join(temporaryFolder(), "a");
      const lock = await lockFile(path);
      vi.useFakeTimers({ toFake: ["setTimeout", "performance", "Date"] });
      const second = lockFile(path, { waitMs: 1_000 });
      while (vi.getTimerCount() === 0) await new Promise((done) => setImmediate(done));
      vi.setSystemTime(Date.now() - 86_400_000);
      await passes(second);
      await expect(second).rejects.toMatchObject({ code: "FILE_LOCKED" });
      vi.useRealTimers();
      await lock.release();
    });
  });

  describe("blocked lock names", () => {
    const inTheWay: readonly (readonly [string, (lock: string) => unknown])[] = [
      ["a dangling symbolic link", (lock) => symlinkSync("nowhere", lock)],
      ["a symbolic link to a file", (lock) => symlinkSync("/etc/hostname", lock)],
      ["a symbolic link to a device", (lock) => symlinkSync("/dev/zero", lock)],
      ["a folder", (lock) => mkdirSync(lock)],
      ["a pipe", (lock) => execFileSync("mkfifo", [lock])],
      [
        "a socket",
        (lock) => new Promise<void>((done) => createServer().listen(lock, done).unref()),
      ],
    ];

    test.each(inTheWay)("names %s at the path of the lock", async (_, make) => {
      const path = join(temporaryFolder(), "a");
      const lock = join(path, "..", ".a.lock");
      await make(lock);
      await expect(lockFile(path)).rejects.toMatchObject({
        code: "FILE_LOCK_BLOCKED",
        message: expect.stringContaining(lock),
      });
      await expect(updateFile(path, () => "x")).rejects.toMatchObject({
        code: "store_unavailable",
        message: expect.stringMatching(/a cannot be written: .*\.a\.lock has the name/),
      });
      expect(lstatSync(lock, { throwIfNoEntry: false })).toBeDefined();
      expect(existsSync(path)).toBe(false);
    });

    const isRoot = process.getuid?.() === 0;
    test("names an unreadable lock", { skip: isRoot }, async () => {
      const path = join(temporaryFolder(), "a");
      writeFileSync(join(path, "..", ".a.lock"), "", { mode: 0 });
      await expect(lockFile(path)).rejects.toMatchObject({
        code: "FILE_LOCK_BLOCKED",
        message: expect.stringContaining("permission denied"),
      });
    });

    test("names a link at the path of a tombstone", async () => {
      const path = join(temporaryFolder(), "a");
      const lock = join(path, "..", ".a.lock");
      writeFileSync(lock, "00000000 1 1 0123456789abcdef");
      utimesSync(lock, new Date(), new Date(Date.now() - 11_000));
      symlinkSync("nowhere", `${lock}.0123456789abcdef`);
      await expect(lockFile(path, { waitMs: 0 })).rejects.toMatchObject({
        code: "FILE_LOCK_BLOCKED",
        message: expect.stringContaining(`${lock}.0123456789abcdef`),
      });
    });

    test("reads no more bytes than a lock has", async () => {
      const path = join(temporaryFolder(), "a");
      const lock = join(path, "..", ".a.lock");
      writeFileSync(lock, Buffer.alloc(8 * 1024 * 1024, "x"));
      await expect(lockFile(path, { waitMs: 0 })).rejects.toMatchObject({ code: "FILE_LOCKED" });
    });
  });
});
