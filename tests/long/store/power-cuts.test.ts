// Cuts the power of the disk below a SQLite store at random moments.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import {
  contentAfterCut,
  readTrace,
  tracedCalls,
  type Step,
} from "../../support/simulated-disk.ts";
import { rounds } from "../../support/runs.ts";
import { fileIn } from "../../support/sqlite-conversations.ts";
import { createFolder, epoch } from "../../support/sqlite-store.ts";
import { findTool } from "../../support/tools.ts";

const strace = findTool("strace");
const cuts = rounds(100);
/** Enough for a checkpoint. */
const batches = 1_500;
const child = (name: string): string =>
  fileURLToPath(new URL(`../children/${name}`, import.meta.url));

/** Lets a process append until it has printed the number of batches, and kills it. */
async function traceWriter(folder: string, durability: string): Promise<readonly Step[]> {
  const trace = join(folder, "trace");
  const options = ["-f", "-y", "-xx", "-s", "200000", "-e", `trace=${tracedCalls}`, "-o", trace];
  const script = [child("store-writer.mjs"), fileIn(folder), durability];
  const writer = spawn(strace!, [...options, process.execPath, ...script], {
    stdio: ["ignore", "pipe", "inherit"],
    detached: true,
  });
  let count = 0;
  createInterface({ input: writer.stdout }).on("line", () => {
    if (++count === batches) process.kill(-writer.pid!, "SIGKILL");
  });
  await once(writer, "close");
  return readTrace(trace);
}

interface Found {
  readonly seq: number;
  readonly epoch?: string;
  readonly last: number;
  readonly turns: number;
}

/** A process of its own: SQLite keeps what it knows of a file while its process lives. */
function readStore(folder: string, durability: string): Found {
  const args = [child("store-reader.mjs"), fileIn(folder), durability];
  return JSON.parse(execFileSync(process.execPath, args, { encoding: "utf8" })) as Found;
}

describe.skipIf(!strace)("a power failure", () => {
  test.each(["power", "process"] as const)(
    "leaves what the durability `%s` promises",
    { timeout: 600_000 },
    async (durability) => {
      const folder = createFolder();
      const steps = await traceWriter(folder, durability);
      const first = steps.findIndex((step) => "told" in step);
      expect(steps.length).toBeGreaterThan(first + batches);
      const checkpoint = steps
        .slice(first)
        .some((step) => "change" in step && step.file === fileIn(folder));
      expect(checkpoint).toBe(true);
      let lost = 0;
      for (let cut = 0; cut < cuts; cut++) {
        const at = first + 1 + Math.floor(Math.random() * (steps.length - first));
        const before = steps.slice(0, at);
        // In place: a new file would be a copy, whose streams get new epochs.
        for (const end of ["", "-wal"]) {
          const content = contentAfterCut(before, fileIn(folder) + end, Math.random);
          writeFileSync(fileIn(folder) + end, content);
        }
        rmSync(`${fileIn(folder)}-shm`, { force: true });
        const told = before.map((step) => ("told" in step ? step.told : "")).join("");
        const acknowledged = Number(told.trim().split("\n").at(-1));
        const found = readStore(folder, durability);
        expect([found.last, found.turns]).toEqual([found.seq, found.seq]);
        if (durability === "power") {
          expect(found.seq).toBeGreaterThanOrEqual(acknowledged);
          expect(found.epoch).toBe(epoch);
        } else expect(found.epoch).not.toBe(epoch);
        if (found.seq < acknowledged) lost += 1;
      }
      // Otherwise the simulated disk drops nothing.
      if (durability === "process") expect(lost).toBeGreaterThan(0);
    },
  );
});
