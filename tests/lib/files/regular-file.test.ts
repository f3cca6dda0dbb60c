// Tests that files are opened only if they are regular files.
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openRegularFile, openRegularFileSync, readRegularFile } from "../../../lib/files/index.ts";
import { temporaryFolder } from "./support.ts";

const accesses = ["read", "append"] as const;

describe.each(accesses)("openRegularFile to %s", (access) => {
  const rejects = async (path: string, code: string, follow = true) => {
    await expect(openRegularFile(path, access, { follow })).rejects.toMatchObject({ code });
    if (follow)
      expect(() => openRegularFileSync(path, access)).toThrow(expect.objectContaining({ code }));
  };

  test("rejects a pipe without waiting", () => {
    const path = join(temporaryFolder(), "pipe");
    execFileSync("mkfifo", [path]);
    return rejects(path, "ENXIO");
  });

  test("rejects folders, devices, sockets and links to them", async () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, "folder"));
    await rejects(join(folder, "folder"), "EISDIR");
    symlinkSync("/dev/null", join(folder, "device"));
    await rejects(join(folder, "device"), "ENXIO");
    const server = createServer().listen(join(folder, "socket"));
    await once(server, "listening");
    await rejects(join(folder, "socket"), "ENXIO");
    server.close();
  });

  test("follows a link to a file unless told otherwise", async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "file"), "text");
    symlinkSync("file", join(folder, "link"));
    await (await openRegularFile(join(folder, "link"), access)).close();
    await rejects(join(folder, "link"), "ENXIO", false);
  });

  test("creates a private file to append only", async () => {
    const path = join(temporaryFolder(), "new");
    if (access === "read") return rejects(path, "ENOENT");
    await (await openRegularFile(path, access)).close();
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const other = join(temporaryFolder(), "other");
    closeSync(openRegularFileSync(other, access));
    expect(readFileSync(other, "utf8")).toBe("");
  });
});

describe("readRegularFile", () => {
  test("reads a file up to the limit and rejects a larger one", async () => {
    const path = join(temporaryFolder(), "file");
    writeFileSync(path, "12345");
    expect(String(await readRegularFile(path, 5))).toBe("12345");
    await expect(readRegularFile(path, 4)).rejects.toMatchObject({ code: "EFBIG" });
  });

  test("reads a file of unknown size", async () => {
    if (process.platform !== "linux") return;
    expect(String(await readRegularFile("/proc/self/status", 100_000))).toContain("Pid:");
  });
});
