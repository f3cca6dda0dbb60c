import { execFileSync } from "node:child_process";
import { readdirSync, readlinkSync } from "node:fs";
import { appendFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createRedactor, logSource } from "../../../bin/log/index.ts";

const line = (level: number, msg: string, fields: object = {}): string =>
  `${JSON.stringify({ level, time: "2026-01-02T03:04:05.000Z", ...fields, msg })}\n`;

async function withLog(
  text: string,
  visit: (
    log: ReturnType<typeof logSource>,
    file: string,
    say: (line: string) => void,
  ) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "doorward-log-"));
  const file = join(folder, "launcher.log");
  const followers = new Set<(line: string) => void>();
  const redactor = createRedactor();
  redactor.add("the-secret-in-play");
  const follow = (listener: (line: string) => void) => {
    followers.add(listener);
    return () => void followers.delete(listener);
  };
  try {
    await writeFile(file, text);
    await visit(logSource({ file, redactor, follow }), file, (added) =>
      followers.forEach((listener) => listener(added)),
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
const all = { level: "debug", text: "", limit: 1_000 } as const;

describe("logSource", () => {
  test("rejects a pipe in place of the file without waiting", () =>
    withLog("", async (log, file) => {
      await rm(file);
      execFileSync("mkfifo", [file]);
      await expect(log.read(all)).rejects.toMatchObject({ code: "ENXIO" });
      const lines = log.lines()[Symbol.asyncIterator]();
      await expect(lines.next()).rejects.toMatchObject({ code: "ENXIO" });
    }));

  test("returns time, level, text and fields, oldest line first", () =>
    withLog(line(30, "one", { plugin: "http" }) + line(50, "two"), async (log) => {
      const at = Date.parse("2026-01-02T03:04:05.000Z");
      expect(await log.read(all)).toEqual({
        truncated: false,
        lines: [
          { at, level: "info", text: "one", fields: { plugin: "http" } },
          { at, level: "error", text: "two", fields: {} },
        ],
      });
    }));

  test("filters by level and text and returns the newest lines", () =>
    withLog(
      line(20, "debug") + line(40, "warning one") + line(40, "Warning two") + line(30, "info"),
      async (log) => {
        const { lines, truncated } = await log.read({ level: "warn", text: "WARNING", limit: 1 });
        expect([lines.map(({ text }) => text), truncated]).toEqual([["Warning two"], true]);
      },
    ));

  test("redacts first-run tokens, known secrets and secret fields", async () => {
    const token = "Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9vYmFyYmE";
    const text = `launcher token (first run): ${token}\n${line(30, "has the-secret-in-play", { authorization: `Bearer ${token}` })}`;
    await withLog(text, async (log) => {
      const shown = [JSON.stringify(await log.read(all))];
      for await (const each of log.lines()) shown.push(each);
      expect(shown).toHaveLength(3);
      expect(shown.join("")).not.toMatch(new RegExp(`${token}|the-secret-in-play`));
    });
  });

  test("streams lines unchanged, including Unicode line separators", () => {
    const text =
      line(30, "one\u2028two\u2029three\u0085", { path: "\u2028" }) + "not JSON\rat all\n";
    return withLog(text, async (log) => {
      const streamed: string[] = [];
      for await (const each of log.lines()) streamed.push(each);
      expect(streamed.join("")).toBe(text);
      expect(streamed).toHaveLength(2);
    });
  });

  test("returns the whole lines at the end of a large file", () =>
    withLog(line(30, "old").repeat(40_000), async (log, file) => {
      await appendFile(file, line(30, "newest"));
      const { lines, truncated } = await log.read({ ...all, limit: 1_000_000 });
      expect(truncated).toBe(true);
      expect(lines.at(-1)?.text).toBe("newest");
      expect(lines.every(({ text }) => text === "old" || text === "newest")).toBe(true);
    }));

  test("returns nothing for a removed file", () =>
    withLog(line(30, "one"), async (log, file) => {
      await rm(file);
      expect(await log.read(all)).toEqual({ lines: [], truncated: false });
      for await (const unexpected of log.lines()) throw new Error(unexpected);
    }));

  test("follows new lines until released", () =>
    withLog("", async (log, _, say) => {
      const followed: string[] = [];
      const release = log.follow(({ level, text }) => void followed.push(`${level} ${text}`));
      say(line(40, "one"));
      release();
      say(line(40, "two"));
      expect(followed).toEqual(["warn one"]);
    }));
});

test.runIf(process.platform === "linux")("closes the file when the reader stops early", () =>
  withLog(line(30, "x").repeat(20_000), async (log, file) => {
    const open = (): number =>
      readdirSync("/proc/self/fd").filter((fd) => {
        try {
          return readlinkSync(`/proc/self/fd/${fd}`) === file;
        } catch {
          return false; // closed in the meantime
        }
      }).length;
    for await (const first of log.lines()) {
      expect([first.includes('"msg":"x"'), open()]).toEqual([true, 1]);
      break;
    }
    await expect.poll(open).toBe(0);
  }),
);
