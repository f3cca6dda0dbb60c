import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { openAnswerFolder } from "../../../plugins/program/answer-folder.ts";

const built = new URL("../../../dist/plugins/program/answer-folder.js", import.meta.url).href;
const script = `
  const { openAnswerFolder } = await import(${JSON.stringify(built)});
  console.log((await openAnswerFolder()).path);
  setInterval(() => {}, 1000);
`;

let parent = "";
beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), "doorward-test-"));
  vi.stubEnv("TMPDIR", parent);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(parent, { recursive: true, force: true });
});

/** Starts a process with a folder. */
async function startOther() {
  const child = spawn(process.execPath, ["--input-type=module", "-e", script]);
  const [line] = (await once(createInterface(child.stdout), "line")) as [string];
  return {
    name: basename(line),
    async kill() {
      child.kill("SIGKILL");
      await once(child, "exit");
    },
  };
}

describe("folder of a run", () => {
  test("disappears at the next start after a kill", async () => {
    const other = await startOther();
    await writeFile(join(parent, other.name, "table.csv"), "a,b");
    const first = await openAnswerFolder(undefined);
    expect(await readdir(parent)).toContain(other.name);
    await other.kill();
    const second = await openAnswerFolder(undefined);
    const names = [first, second].map(({ path }) => basename(path));
    expect((await readdir(parent)).toSorted()).toEqual(names.toSorted());
    await Promise.all([first.remove(), second.remove()]);
    expect(await readdir(parent)).toEqual([]);
  });

  test("keeps links, files, and folders with other names", async () => {
    const other = await startOther();
    await other.kill();
    await rm(join(parent, other.name), { recursive: true });
    const stem = other.name.slice(0, -6);
    await mkdir(join(parent, "target"));
    await writeFile(join(parent, "target", "a"), "");
    await symlink(join(parent, "target"), join(parent, `${stem}aaaaaa`));
    await writeFile(join(parent, `${stem}bbbbbb`), "");
    await mkdir(join(parent, `${stem}c`));
    await mkdir(join(parent, `${stem.replace(/-\d+-/, "-7-")}dddddd`));
    const before = await readdir(parent);
    const own = await openAnswerFolder(undefined);
    await own.remove();
    expect(await readdir(parent)).toEqual(before);
    expect(await readdir(join(parent, "target"))).toEqual(["a"]);
  });
});
