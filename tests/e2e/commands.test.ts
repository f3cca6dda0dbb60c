// Tests tasks of an owner at the command line.
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test, vi } from "vitest";
import { enablePico, finishSetup, startLauncher } from "./launcher.ts";

const program = fileURLToPath(new URL("../../dist/bin/doorward.js", import.meta.url));

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}
/** Runs a command in its own process. */
function doorward(
  home: string,
  words: string,
  stdin = "",
  env: Record<string, string> = {},
): Promise<Ended> {
  return new Promise((done) => {
    const child = spawn(process.execPath, [program, ...words.split(" ")], {
      env: { PATH: process.env["PATH"] ?? "", HOME: home, SERVICE_HOME: home, ...env },
    });
    let out = "";
    let err = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => void (out += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => void (err += text));
    child.on("close", (code) => done({ code, out, err }));
    child.stdin.end(stdin);
  });
}
const authenticate = (base: URL, token: string): Promise<number> =>
  fetch(new URL("/pico", base), { headers: { authorization: `Bearer ${token}` } }).then(
    ({ status }) => status,
  );

describe("Command line of an owner", () => {
  test("names the path that keeps it from reaching the launcher", async () => {
    const home = await mkdtemp(join(tmpdir(), "doorward-blocked-"));
    try {
      await writeFile(join(home, "run"), "");
      const { code, err } = await doorward(home, "status");
      expect([code, err]).toEqual([
        1,
        `doorward: ${join(home, "run", "launcher.sock")}: a part of its path is not a folder.\n`,
      ]);
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  });

  test("sets a new token after the old one was lost", async () => {
    const home = await mkdtemp(join(tmpdir(), "doorward-forgot-"));
    try {
      const token = "remembered-this-time-0123456789";
      expect(await doorward(home, "token set", `${token}\n`)).toMatchObject({ code: 0, out: "" });
      expect((await stat(join(home, "launcher-config.json"))).mode & 0o777).toBe(0o600);
      await using running = await startLauncher({ env: { SERVICE_HOME: home } });
      const login = await fetch(new URL("/login", running.base), {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ token }),
      });
      expect(login.status).toBe(200);
      expect(await doorward(home, "token show")).toMatchObject({ code: 0, out: `${token}\n` });
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  });

  test("rotates a leaked channel token while the launcher runs", async () => {
    await using running = await startLauncher();
    const { base, home } = running;
    const leaked = await enablePico(running, await finishSetup(running));
    expect(await authenticate(base, leaked)).toBe(200);
    const { code, out } = await doorward(home, "token rotate pico");
    expect(code).toBe(0);
    expect([await authenticate(base, leaked), await authenticate(base, out.trim())]).toEqual([
      401, 200,
    ]);
    expect(await doorward(home, "send hello")).toEqual({ code: 0, out: "hello\n", err: "" });

    const file = join(home, ".security.yml");
    const edited = "edited-by-hand-0123456789-abcdefghijklmnop-x";
    await writeFile(file, (await readFile(file, "utf8")).replace(out.trim(), edited));
    await vi.waitFor(async () => expect(await authenticate(base, edited)).toBe(200), {
      timeout: 20_000,
      interval: 50,
    });
    expect(await authenticate(base, out.trim())).toBe(401);
    expect(await readFile(join(home, "logs", "launcher.log"), "utf8")).not.toMatch(
      new RegExp(`${edited}|${out.trim()}`),
    );
  });

  test("finds the cause of 401 responses with the doctor", async () => {
    await using running = await startLauncher();
    const cookie = await finishSetup(running);
    await enablePico(running, cookie);
    const { code, out } = await doorward(running.home, "doctor");
    expect(code, out).toBe(0);
    expect(out).toMatch(/^ok {6} Test handshake: header$/m);
    expect(out.indexOf("The pico token is configured")).toBeLessThan(out.indexOf("Test handshake"));
  });

  test("returns exit codes and JSON", async () => {
    const home = await mkdtemp(join(tmpdir(), "doorward-nobody-"));
    try {
      expect(await doorward(home, "status --json")).toMatchObject({
        code: 4,
        out: expect.stringContaining('"not_running"'),
      });
      expect(await doorward(home, "sessions delete")).toMatchObject({ code: 2, out: "" });
      expect(await doorward(home, "token show -loud")).toMatchObject({
        code: 2,
        err: expect.stringContaining("unknown option"),
      });
      const token = "held-by-the-environment-0123456789";
      const held = await doorward(home, "token rotate launcher", "", {
        SERVICE_LAUNCHER_TOKEN: token,
      });
      expect(held).toMatchObject({ code: 1, out: "" });
      expect(held.err).not.toContain(token);
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  });
});
