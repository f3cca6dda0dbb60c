import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { compiledModule, runWithSmallDisk } from "../../lib/files/support.ts";
import { openLog, temporaryFolder } from "./support.ts";

const mode = (path: string) => statSync(path).mode & 0o777;
const lines = (path: string) => readFileSync(path, "utf8").split("\n").slice(0, -1);

test("makes the file and its folder private, even existing ones", async () => {
  const file = join(temporaryFolder(), "logs/launcher.log");
  (await openLog({ file })).log.info({ a: 1 }, "one");
  expect([mode(dirname(file)), mode(file)]).toEqual([0o700, 0o600]);
  chmodSync(file, 0o644);
  (await openLog({ file })).log.info({}, "two");
  expect(mode(file)).toBe(0o600);
  expect(lines(file).map((line) => JSON.parse(line))).toMatchObject([
    { level: 30, a: 1, msg: "one" },
    { msg: "two" },
  ]);
});

test("writes times as ISO 8601 in UTC", async () => {
  const { log, stdout } = await openLog({});
  log.info({}, "now");
  const { time } = JSON.parse(stdout()) as { time: string };
  expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
});

test("writes only lines of the level and above", async () => {
  const { log, stdout } = await openLog({ level: "warn" });
  log.info({}, "quiet");
  log.warn({}, "loud");
  expect(stdout()).toMatch(/^[^\n]*loud[^\n]*\n$/);
});

const hostile = "\u001b]0;x\u0007\r\b\u009b1m\u202eeman\u2028\u{e0041}\\u202e";

test("escapes control and direction characters in pretty lines", async () => {
  const { log, stdout } = await openLog({ pretty: true });
  log.info({ plugin: "shop", from: "\u001b[2J\u0007\u009b1m\u202e" }, `hello ${hostile} there`);
  expect(stdout()).toMatch(/^\[[\d:]{8}\] INFO: shop: hello .* there \{"from":.*\}\n$/);
  expect(stdout()).toContain("\\u001b]0;x\\u0007");
  expect(stdout()).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}\u2028]/u);
});

test("escapes control characters in JSON lines without changing their value", async () => {
  const file = join(temporaryFolder(), "launcher.log");
  const { log, stdout } = await openLog({ file });
  log.info({ from: hostile }, "hello");
  const text = readFileSync(file, "utf8");
  expect(JSON.parse(text)).toMatchObject({ from: hostile });
  expect(text.trimEnd()).toMatch(/^\P{C}+$/u);
  expect(stdout()).toBe(text);
});

test("writes the first-run line unredacted, to the file only", async () => {
  const file = join(temporaryFolder(), "launcher.log");
  const { redactor, firstRun, stdout, stderr } = await openLog({ file });
  redactor.add("generated-token");
  expect(firstRun("launcher token (first run): generated-token")).toBe(true);
  expect(lines(file)).toEqual(["launcher token (first run): generated-token"]);
  expect(stdout() + stderr()).toBe("");
  expect((await openLog({})).firstRun("x")).toBe(false);
});

test("loses and splits no lines when the file is rotated", async () => {
  const file = join(temporaryFolder(), "launcher.log");
  const { log, close } = await openLog({ file, maxBytes: 20_000, keep: 200 });
  for (let number = 0; number < 5_000; number++)
    log.info({ number, filler: "é".repeat(number % 50) }, "line");
  close();
  const names = readdirSync(dirname(file)).sort((left, right) => order(right) - order(left));
  const numbers = names.flatMap((name) =>
    lines(join(dirname(file), name)).map((line) => JSON.parse(line).number),
  );
  expect(numbers).toEqual(Array.from({ length: 5_000 }, (_, number) => number));
  expect(names.length).toBeGreaterThan(20);
  for (const name of names)
    expect(statSync(join(dirname(file), name)).size).toBeLessThanOrEqual(20_000);
  for (const name of names) expect(mode(join(dirname(file), name))).toBe(0o600);
});

const order = (name: string) => Number(/\d+$/.exec(name)?.[0] ?? 0);

test("counts existing bytes after a restart and removes the oldest file", async () => {
  const file = join(temporaryFolder(), "launcher.log");
  for (let start = 0; start < 6; start++) {
    const { log, close } = await openLog({ file, maxBytes: 1_000, keep: 2 });
    log.info({ start, filler: "x".repeat(700) }, "line");
    close();
  }
  expect(readdirSync(dirname(file)).sort()).toEqual([
    "launcher.log",
    "launcher.log.1",
    "launcher.log.2",
  ]);
  expect(JSON.parse(lines(`${file}.2`)[0]!).start).toBe(3);
});

test("drops lines written after the log was closed", async () => {
  const file = join(temporaryFolder(), "launcher.log");
  const { log, close } = await openLog({ file });
  log.info({}, "before");
  close();
  close();
  log.info({}, "after");
  expect(lines(file)).toHaveLength(1);
});

test.each(["file/logs/launcher.log", "folder", "dangling"])(
  "warns once and writes to stderr if %s cannot be opened",
  async (name) => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "file"), "");
    mkdirSync(join(folder, "folder"));
    symlinkSync("nowhere", join(folder, "dangling"));
    const { log, file, stdout, stderr, firstRun } = await openLog({ file: join(folder, name) });
    log.info({}, "still here");
    expect(file).toBeUndefined();
    expect(firstRun("secret")).toBe(false);
    expect(stdout()).toBe("");
    const [warning, line, ...rest] = stderr().split("\n");
    expect(JSON.parse(warning!)).toMatchObject({ level: 40, msg: "the log file cannot be opened" });
    expect(JSON.parse(warning!).reason).not.toMatch(/^E[A-Z]+:/);
    expect([JSON.parse(line!).msg, rest]).toEqual(["still here", [""]]);
  },
);

test("warns about a path below /proc and does not loop", async () => {
  const { stderr } = await openLog({ file: "/proc/none/logs/launcher.log" });
  expect(stderr()).toContain("cannot be opened");
});

test("warns once about a full disk and splits no line", () => {
  const file = join(temporaryFolder(), "launcher.log");
  const printed = runWithSmallDisk(
    8,
    `
    const { createLog } = await import(${JSON.stringify(compiledModule("bin/log/index.js"))});
    const { log, close } = await createLog({ file: ${JSON.stringify(file)}, maxBytes: 32_000, stderr: process.stdout });
    for (let number = 0; number < 200; number++) log.info({ number }, "x".repeat(number));
    close();
    console.log("alive");`,
  );
  expect(printed).toMatch(/^[^\n]*launcher.log loses lines: EFBIG[^\n]*\nalive\n$/);
  expect(statSync(file).size).toBe(8_192);
  expect(
    lines(file)
      .map((line) => JSON.parse(line).number)
      .slice(0, 3),
  ).toEqual([0, 1, 2]);
});
