import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ensureHome, createPrivateFolder, restrictSecretFile } from "../../../lib/files/index.ts";
import { temporaryFolder } from "./support.ts";

const mode = (path: string) => statSync(path).mode & 0o777;

describe("ensureHome", () => {
  test("creates a private home that excludes secrets from version control", async () => {
    const home = join(temporaryFolder(), "deep/er/home");
    expect(await ensureHome(home)).toEqual({ fresh: true, writable: true, warnings: [] });
    expect(mode(home)).toBe(0o700);
    const ignored = readFileSync(join(home, ".gitignore"), "utf8").split("\n");
    expect(ignored).toEqual([
      ".security.yml",
      "cache/",
      "launcher-config.json",
      "logs/",
      "run/",
      "state/",
      "",
    ]);
  });

  test("leaves an existing home unchanged and reports wide permissions", async () => {
    const home = temporaryFolder();
    writeFileSync(join(home, "config.json"), "{}");
    chmodSync(home, 0o755);
    const { fresh, warnings } = await ensureHome(home);
    expect(fresh).toBe(false);
    const remedy = `close it with: chmod 700 ${home}`;
    expect(warnings).toEqual([
      `Other users of this machine may enter ${home} (mode 0755); ${remedy}`,
    ]);
    expect([mode(home), readdirSync(home)]).toEqual([0o755, ["config.json"]]);
  });

  test("succeeds for two processes in parallel", async () => {
    const home = join(temporaryFolder(), "home");
    const states = await Promise.all(Array.from({ length: 8 }, () => ensureHome(home)));
    expect(states.every(({ writable }) => writable)).toBe(true);
    expect(existsSync(join(home, ".gitignore"))).toBe(true);
  });

  test("creates a folder whose parent appears at the same moment", async () => {
    const parent = join(temporaryFolder(), "parent");
    const made = createPrivateFolder(join(parent, "home"));
    // The call has started but does not know yet that the parent is missing.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 30);
    mkdirSync(parent);
    await made;
    expect(existsSync(join(parent, "home"))).toBe(true);
  });

  test("names a home that cannot be created, with the reason", async () => {
    const file = join(temporaryFolder(), "file");
    writeFileSync(file, "");
    await expect(ensureHome(join(file, "home"))).rejects.toMatchObject({
      code: "store_unavailable",
    });
    await expect(ensureHome(file)).rejects.toThrow(
      `${file} cannot be written: a part of its path is not a folder.`,
    );
  });

  test("rejects a folder below /proc without endless retries", async () => {
    await expect(createPrivateFolder("/proc/none/deep/er")).rejects.toThrow();
  });

  test("restricts a readable secret file and reports it", async () => {
    const path = join(temporaryFolder(), ".security.yml");
    expect(await restrictSecretFile(path)).toBeUndefined();
    writeFileSync(path, "");
    chmodSync(path, 0o644);
    expect(await restrictSecretFile(path)).toBe(
      `Other users of this machine could read ${path} (mode 0644); it is now 0600.`,
    );
    expect(mode(path)).toBe(0o600);
    chmodSync(path, 0o400);
    expect(await restrictSecretFile(path)).toBeUndefined();
    expect(mode(path)).toBe(0o400);
  });

  test("accepts an existing folder", async () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, "logs"));
    await createPrivateFolder(join(folder, "logs"));
    await createPrivateFolder("/");
  });
});
