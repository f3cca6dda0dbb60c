import fs, { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { BatchLog } from "../../../../plugins/conversations/stores/sqlite/batch-log.ts";
import {
  logFiles,
  logHeader,
  readLog,
  recordHeader,
} from "../../../../plugins/conversations/stores/sqlite/record.ts";
import { createFolder } from "../../../support/sqlite-storage-harness.ts";

const MiB = 1024 * 1024;
const key = "k";

function createLog(durability: "process" | "power" = "process", last = 0) {
  const path = join(createFolder(), "conversations.db");
  const log = new BatchLog({ path, key, last, durability });
  return { path, log };
}

/** A record whose batch is this text. */
const record = (text: string, bytes = text.length): Uint8Array =>
  Buffer.concat([Buffer.alloc(recordHeader), Buffer.alloc(bytes, text)]);

const textsIn = (path: string, written = 0): string[] =>
  readLog(path, key, written).records.map(({ batch }) => Buffer.from(batch).toString());

const sizes = (path: string): number[] =>
  logFiles(path).map((file) => statSync(file).size - logHeader(key).length);

/** Lets calls of a function fail until the returned function is called. */
function failing(name: "writeSync" | "ftruncateSync", code: string): () => void {
  const spy = vi.spyOn(fs, name).mockImplementation(() => {
    throw Object.assign(new Error("failed"), { code });
  });
  onTestFinished(() => spy.mockRestore());
  return () => spy.mockRestore();
}

describe("BatchLog.append", () => {
  test("stores batches synchronously, with consecutive numbers", () => {
    const { path, log } = createLog("process", 7);
    for (const text of ["one", "two", "three"]) expect(log.append(record(text))).toBeUndefined();
    expect(textsIn(path, 7)).toEqual(["one", "two", "three"]);
    expect(readLog(path, key, 8).records.map(({ number }) => number)).toEqual([9, 10]);
    expect(readLog(path, "another database", 7)).toEqual({ records: [], hasOthers: true });
    log.close();
  });

  test("stores nothing if the write fails, and continues", () => {
    const { path, log } = createLog();
    void log.append(record("one"));
    const work = failing("writeSync", "ENOSPC");
    expect(() => log.append(record("two"))).toThrow("the disk is full");
    work();
    void log.append(record("three"));
    expect(textsIn(path)).toEqual(["one", "three"]);
    expect(log.waitingBytes).toBe(2 * recordHeader + 8);
    log.close();
  });

  test("replaces what a failed write has left", () => {
    const { path, log } = createLog();
    const write = fs.writeSync;
    const spy = vi.spyOn(fs, "writeSync");
    onTestFinished(() => spy.mockRestore());
    spy.mockImplementationOnce(((fd: number, data: Uint8Array, at: number, _: number, to: number) =>
      write(fd, data, at, 20, to)) as typeof fs.writeSync);
    spy.mockImplementationOnce(() => {
      throw Object.assign(new Error("failed"), { code: "EIO" });
    });
    const work = failing("ftruncateSync", "EIO");
    expect(() => log.append(record("a long first text"))).toThrow("the disk reports an error");
    work();
    expect(sizes(path)).toEqual([20, 0]);
    void log.append(record("two"));
    expect(textsIn(path)).toEqual(["two"]);
    log.close();
  });

  test("waits for the disk with the durability power", async () => {
    const { path, log } = createLog("power");
    const spy = vi.spyOn(fs, "fdatasync");
    onTestFinished(() => spy.mockRestore());
    await Promise.all(["one", "two"].map((text) => log.append(record(text))));
    expect(spy).toHaveBeenCalledTimes(2);
    spy.mockImplementationOnce(((_: number, done: (error: Error) => void) =>
      done(Object.assign(new Error("failed"), { code: "EIO" }))) as never);
    await expect(log.append(record("lost"))).rejects.toThrow("the disk reports an error");
    await log.append(record("three"));
    expect(textsIn(path)).toEqual(["one", "two", "three"]);
    log.close();
  });
});

describe("BatchLog.release", () => {
  test("empties the files when their rows are written", () => {
    const { path, log } = createLog();
    void log.append(record("a", 17 * MiB));
    void log.append(record("b", MiB));
    void log.append(record("c", MiB));
    expect(sizes(path).map((size) => Math.floor(size / MiB))).toEqual([17, 2]);
    log.release(1);
    expect(sizes(path).map((size) => Math.floor(size / MiB))).toEqual([0, 2]);
    expect(log.waitingBytes).toBe(2 * (MiB + recordHeader));
    log.release(2);
    expect(log.hasWritten()).toBe(true);
    log.rotate();
    void log.append(record("d"));
    log.release(3);
    expect(log.hasWritten()).toBe(false);
    expect(textsIn(path, 3)).toEqual(["d"]);
    log.release(4);
    expect(sizes(path)).toEqual([0, 0]);
    log.close();
  });
});

describe("BatchLog.close", () => {
  test("removes the files unless batches wait for their rows", () => {
    const { path, log } = createLog();
    void log.append(record("one"));
    log.close();
    expect(textsIn(path)).toEqual(["one"]);
    const next = new BatchLog({ path, key, last: 1, durability: "process" });
    expect(logFiles(path).map((file) => readFileSync(file, "utf8"))).toEqual(
      Array(2).fill(logHeader(key)),
    );
    next.close();
    expect(readdirSync(join(path, ".."))).toEqual([]);
  });
});
