import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm, symlink, unlink, writeFile, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { watchFiles, writeFileAtomic } from "../../../lib/files/index.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "doorward-watch-"));
  cleanups.push(() => rm(path, { recursive: true, force: true }));
  return path;
}

/** Watches a file and collects its content at each call. */
function follow(path: string) {
  const seen: (string | undefined)[] = [];
  const watch = watchFiles([path], async (changed) => {
    seen.push(await readFile(changed, "utf8").catch(() => undefined));
  });
  cleanups.push(() => watch.stop());
  const sees = (content: string | undefined) =>
    vi.waitFor(() => expect(seen.at(-1) === content && seen.length > 0).toBe(true), {
      timeout: 20_000,
      interval: 20,
    });
  return { seen, sees, stop: () => watch.stop() };
}

describe("watchFiles", () => {
  test("notices edits in place, by renaming and by writeFileAtomic", async () => {
    const path = join(await folder(), "config.json");
    await writeFile(path, "v0");
    const { sees } = follow(path);
    await sees("v0");
    await writeFile(path, "v1");
    await sees("v1");
    await writeFile(`${path}.new`, "v2");
    await rename(`${path}.new`, path);
    await sees("v2");
    await writeFileAtomic(path, "v3");
    await sees("v3");
  });

  test("follows editors that replace the file", async () => {
    const path = join(await folder(), "config.json");
    await writeFile(path, "v0");
    const { sees } = follow(path);
    await sees("v0");
    for (const content of ["v1", "v2"]) {
      await rename(path, `${path}~`);
      await writeFile(path, content);
      await sees(content);
    }
  });

  test("follows a mounted folder whose `..data` link is replaced", async () => {
    const root = await folder();
    const put = async (content: string): Promise<void> => {
      const real = `..2026_${content}`;
      await mkdir(join(root, real));
      await writeFile(join(root, real, "s.yml"), content);
      await symlink(real, join(root, "..data_tmp"));
      await rename(join(root, "..data_tmp"), join(root, "..data"));
    };
    await put("v0");
    await symlink("..data/s.yml", join(root, "s.yml"));
    const { sees } = follow(join(root, "s.yml"));
    await sees("v0");
    await put("v1");
    await sees("v1");
    await put("v2");
    await sees("v2");
  });

  test("follows a file behind a link in another folder", async () => {
    const [here, there] = [await folder(), await folder()];
    await writeFile(join(there, "real.yml"), "v0");
    await symlink(join(there, "real.yml"), join(here, "s.yml"));
    const { sees } = follow(join(here, "s.yml"));
    await sees("v0");
    await writeFileAtomic(join(there, "real.yml"), "v1");
    await sees("v1");
  });

  test("notices removed, restored and new files", async () => {
    const path = join(await folder(), "config.json");
    const { sees } = follow(path);
    await sees(undefined);
    await writeFile(path, "v1");
    await sees("v1");
    await unlink(path);
    await sees(undefined);
    await writeFile(path, "v2");
    await sees("v2");
  });

  test("finds a folder that is created later", async () => {
    const home = join(await folder(), "home");
    const { sees } = follow(join(home, "config.json"));
    await sees(undefined);
    await mkdir(home);
    await writeFile(join(home, "config.json"), "v1");
    await sees("v1");
  });

  test("ignores equal content and other files of the folder", async () => {
    const root = await folder();
    const path = join(root, "config.json");
    await writeFile(path, "v0");
    const { seen, sees } = follow(path);
    await sees("v0");
    await writeFile(path, "v0");
    await writeFileAtomic(path, "v0");
    await writeFile(join(root, "other.json"), "x");
    await writeFile(path, "v1");
    await sees("v1");
    expect(seen).toEqual(["v0", "v1"]);
  });

  test("reports nothing after it was stopped", async () => {
    const path = join(await folder(), "config.json");
    await writeFile(path, "v0");
    const { seen, sees, stop } = follow(path);
    await sees("v0");
    stop();
    await writeFile(path, "v1");
    const other = follow(path);
    await other.sees("v1");
    expect(seen).toEqual(["v0"]);
  });
});

describe("FileWatch.expect", () => {
  /** Watches two files. Checks go in this order, so a report of the second ends one of the first. */
  async function followTwo() {
    const root = await folder();
    const [first, second] = [join(root, "a.yml"), join(root, "b.json")];
    for (const path of [first, second]) await writeFile(path, "v0");
    const reported: string[] = [];
    const watch = watchFiles([first, second], (path) => void reported.push(path));
    cleanups.push(() => watch.stop());
    const reports = (...paths: string[]) =>
      vi.waitFor(() => expect(reported).toEqual(paths), { timeout: 20_000, interval: 20 });
    await reports(first, second);
    return { first, second, watch, reports };
  }

  test("reports no content that its caller has written", async () => {
    const { first, second, watch, reports } = await followTwo();
    writeFileSync(first, "v1");
    watch.expect(first, "v0", "v1");
    writeFileSync(second, "v1");
    await reports(first, second, second);
    writeFileSync(first, "v2");
    await reports(first, second, second, first);
  });

  test("reports a write that follows an unreported edit", async () => {
    const { first, second, watch, reports } = await followTwo();
    writeFileSync(first, "edited and written");
    watch.expect(first, "edited", "edited and written");
    await reports(first, second, first);
  });
});

describe.skipIf(process.platform === "win32")("watchFiles for special files", () => {
  test("continues despite a pipe or a device", async () => {
    const root = await folder();
    const [pipe, device, path] = [join(root, "a.yml"), join(root, "b.json"), join(root, "c.json")];
    execFileSync("mkfifo", [pipe]);
    await symlink("/dev/zero", device);
    await writeFile(path, "v0");
    const told: string[] = [];
    const watch = watchFiles([pipe, device, path], (changed) => void told.push(changed));
    cleanups.push(() => watch.stop());
    await vi.waitFor(() => expect(told).toEqual([pipe, device, path]), { timeout: 20_000 });
    await unlink(pipe);
    await writeFile(pipe, "a file again");
    await vi.waitFor(() => expect(told.at(-1)).toBe(pipe), { timeout: 20_000 });
  });
});
