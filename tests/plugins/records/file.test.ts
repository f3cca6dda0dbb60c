import { chmod, mkdir, readdir, readFile, rename, rmdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createKernel } from "../../../kernel/index.ts";
import { records } from "../../../plugins/records/index.ts";
import { newHome, startRecords } from "../../support/records.ts";

const folderOf = (home: string): string => join(home, "state", "records");
const fileOf = (home: string): string => join(folderOf(home), "owner.keys.jsonl");

describe("a file of records", () => {
  test("survives a restart, for its owner only", async () => {
    const home = await newHome();
    const first = await startRecords({ home });
    const session = { channel: "pico", session: "s" };
    const version = await first.open("keys").put("a", { hash: "h" }, { session });
    await first.stop();
    const second = await startRecords({ home });
    expect(await second.open("keys").list()).toEqual([
      { key: "a", value: { hash: "h" }, version, session },
    ]);
    expect(await second.open("keys").put("a", 1)).toBeGreaterThan(version);
    await second.stop();
    const other = await startRecords({ home }, "somebody");
    expect(await other.open("keys").list()).toEqual([]);
  });

  test("has the mode 0600, and reaches no log line", async () => {
    const home = await newHome();
    const { open, lines, stop } = await startRecords({ home });
    await open("keys").put("a", "s3cret");
    expect((await stat(fileOf(home))).mode & 0o777).toBe(0o600);
    expect((await stat(folderOf(home))).mode & 0o777).toBe(0o700);
    await stop();
    expect(JSON.stringify(lines)).not.toContain("s3cret");
    await chmod(fileOf(home), 0o644);
    const next = await startRecords({ home });
    await next.open("keys").get("a");
    expect((await stat(fileOf(home))).mode & 0o777).toBe(0o600);
    expect(next.lines.map(({ text }) => text).join()).toContain("Other users");
  });

  test("belongs to one process at a time", async () => {
    const home = await newHome();
    const first = await startRecords({ home });
    await first.open("keys").put("a", 1);
    const second = await startRecords({ home });
    await expect(second.open("keys").put("a", 2)).rejects.toMatchObject({ code: "RECORDS_IN_USE" });
    await first.stop();
    expect((await second.open("keys").get("a"))!.value).toBe(1);
  });

  test.each([
    ["half a line", '{"records":1,"last":1}\n{"key":"a","version":1,"va'],
    ["another format", '{"records":2,"last":1}\n'],
    ["no last line break", '{"records":1,"last":1}\n{"key":"a","version":1,"value":"s3cret"}'],
    ["a record without a key", '{"records":1,"last":1}\n{"version":1,"value":1}\n'],
    ["nothing", ""],
  ])("rejects calls if it is damaged with %s, and stays", async (_, text) => {
    const home = await newHome();
    const before = await startRecords({ home });
    await before.open("keys").put("a", 1);
    await before.stop();
    await writeFile(fileOf(home), text);
    const { open } = await startRecords({ home });
    const refused = open("keys").put("a", 2);
    await expect(refused).rejects.toMatchObject({ code: "RECORDS_BROKEN" });
    await expect(refused).rejects.not.toThrow(/s3cret/);
    expect(await readFile(fileOf(home), "utf8")).toBe(text);
  });

  test("keeps the former state if it cannot be written", async () => {
    const home = await newHome();
    const { open } = await startRecords({ home });
    await open("keys").put("a", 1);
    const heard: string[] = [];
    const isTold = new Promise<void>((resolve) => {
      open("keys").watch(({ key }) => {
        heard.push(key);
        resolve();
      });
    });
    // A folder with the name of the file cannot be replaced, also by root.
    await rename(fileOf(home), `${fileOf(home)}.old`);
    await mkdir(fileOf(home));
    await expect(open("keys").put("a", 2)).rejects.toMatchObject({ code: "store_unavailable" });
    expect((await open("keys").get("a"))!.value).toBe(1);
    await rmdir(fileOf(home));
    await open("keys").put("b", 3);
    expect(await readFile(fileOf(home), "utf8")).toContain('"key":"a"');
    await isTold;
    expect(heard).toEqual(["b"]);
  });

  test("appears with the first record only", async () => {
    const home = await newHome();
    const kernel = createKernel([records({ home })]);
    await kernel.start();
    await kernel.services.records("keys").get("a");
    await kernel.stop();
    expect(await readdir(folderOf(home))).toEqual([]);
  });

  test("reports a call that no code awaits, and goes on", async () => {
    const { open, lines } = await startRecords();
    void open("keys").put("", "s3cret");
    while (!lines.some(({ level }) => level === "error"))
      await new Promise((resolve) => setImmediate(resolve));
    expect(lines.find(({ level }) => level === "error")).toMatchObject({ call: "put" });
    expect(JSON.stringify(lines)).not.toContain("s3cret");
  });
});
