import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { updateFile, writeFileAtomic } from "../../../lib/files/index.ts";
import { compiledModule, runWithSmallDisk, startChild, temporaryFolder } from "./support.ts";

const mode = (path: string) => statSync(path).mode & 0o777;

describe("writeFileAtomic", () => {
  test("creates a file with mode 0600 and leaves no other file", async () => {
    const folder = temporaryFolder();
    await writeFileAtomic(join(folder, "a.json"), "{}");
    expect(mode(join(folder, "a.json"))).toBe(0o600);
    expect(readdirSync(folder)).toEqual(["a.json"]);
  });

  test("keeps the mode of a file without the option mode", async () => {
    const path = join(temporaryFolder(), "a");
    writeFileSync(path, "old");
    chmodSync(path, 0o640);
    await writeFileAtomic(path, "new");
    expect(mode(path)).toBe(0o640);
    await writeFileAtomic(path, "newer", { mode: 0o600 });
    expect([mode(path), readFileSync(path, "utf8")]).toEqual([0o600, "newer"]);
  });

  test("writes the target of a symbolic link, even a missing one", async () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, "real"));
    symlinkSync("real/file", join(folder, "link"));
    for (const text of ["one", "two"]) {
      await updateFile(join(folder, "link"), () => text);
      expect(readFileSync(join(folder, "real/file"), "utf8")).toBe(text);
    }
    expect(lstatSync(join(folder, "link")).isSymbolicLink()).toBe(true);
  });

  test("reports a symbolic link to itself", async () => {
    const path = join(temporaryFolder(), "loop");
    symlinkSync("loop", path);
    await expect(writeFileAtomic(path, "x")).rejects.toMatchObject({ code: "store_unavailable" });
  });

  test("names a missing folder and a folder at the file path", async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "file"), "");
    const refused = async (path: string, reason: string) => {
      const sentence = `${join(folder, path)} cannot be written: ${reason}.`;
      const expected = { code: "store_unavailable", message: sentence };
      await expect(writeFileAtomic(join(folder, path), "x")).rejects.toMatchObject(expected);
      await expect(
        updateFile(join(folder, path), () => "x").catch((error) => error.code),
      ).resolves.toMatch(/store_unavailable|FILE_UNREADABLE/);
    };
    await refused("none/a", "its folder does not exist");
    await refused("file/a", "a part of its path is not a folder");
    await refused(".", "it is a folder");
  });

  test("leaves only the old file if the system rejects the write", () => {
    const folder = temporaryFolder();
    const path = join(folder, "a");
    writeFileSync(path, "old");
    const printed = runWithSmallDisk(
      64,
      `
    const { updateFile } = await import(${JSON.stringify(compiledModule("lib/files/index.js"))});
    const written = updateFile(${JSON.stringify(path)}, () => "x".repeat(1 << 20));
    await written.catch((error) => console.log(error.code, error.details.errno));`,
    );
    expect(printed).toBe("store_unavailable EFBIG\n");
    expect(readFileSync(path, "utf8")).toBe("old");
    expect(readdirSync(folder)).toEqual(["a"]);
  });

  test("removes temporary files of ended processes only", async () => {
    const folder = temporaryFolder();
    const path = join(folder, "a");
    const dead = spawnSync(process.execPath, ["-e", ""]).pid;
    const seen = await namesWhileWriting(join(folder, "probe"));
    const sample = seen.find((name) => name.includes("tmp-")) ?? "";
    expect(sample).toContain(`-${process.pid}-`);
    const named = (pid: number) =>
      sample.replace(".probe.", ".a.").replace(`-${process.pid}-`, `-${pid}-`);
    writeFileSync(join(folder, named(dead)), "secret");
    writeFileSync(join(folder, named(process.ppid)), "of a living process");
    await updateFile(path, () => "new");
    expect(existsSync(join(folder, named(dead)))).toBe(false);
    expect(existsSync(join(folder, named(process.ppid)))).toBe(true);
  });

  /** Lists the folder during a write. */
  async function namesWhileWriting(path: string): Promise<string[]> {
    const seen = new Set<string>();
    const state = { writing: true };
    const done = writeFileAtomic(path, "x".repeat(1 << 22)).finally(() => (state.writing = false));
    while (state.writing) {
      for (const name of readdirSync(dirname(path))) seen.add(name);
      await new Promise((next) => setImmediate(next));
    }
    await done;
    return [...seen];
  }

  test("leaves the old or the new file after kill -9", async () => {
    const folder = temporaryFolder();
    const complete = (n: number) => `# ${n}\n${`line of ${n}\n`.repeat(4_000)}# end of ${n}\n`;
    const isIntact = (path: string) => {
      const text = readFileSync(path, "utf8");
      const number = Number(/^# (\d+)/.exec(text)?.[1]);
      expect(text === complete(number)).toBe(true);
      return number;
    };
    /** Returns the number that the file has then. */
    const killOne = async (path: string, reached: number) => {
      const writer = startChild("counter", path);
      await writer.printed(1);
      await new Promise((done) => setTimeout(done, Math.random() * 25));
      writer.process.kill("SIGKILL");
      await writer.ended;
      const reported = Number(writer.lines().at(-1));
      const found = isIntact(path);
      expect(reported).toBeGreaterThan(reached);
      expect([reported, reported + 1]).toContain(found);
      return found;
    };
    /** Uses three files in parallel, because writers wait for the disk. */
    const names = ["a", "b", "c"];
    let kills = Number(process.env["KILLS"] ?? 6);
    await Promise.all(
      names.map(async (name) => {
        const path = join(folder, name);
        for (let reached = 0; kills-- > 0;) reached = await killOne(path, reached);
        await updateFile(path, () => complete(0));
      }),
    );
    expect(readdirSync(folder).sort()).toEqual(names);
  }, 360_000);
});
