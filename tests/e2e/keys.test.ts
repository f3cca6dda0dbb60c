// Tests keys at the command line of an owner.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { enablePico, finishSetup, startLauncher } from "./launcher.ts";

const program = fileURLToPath(new URL("../../dist/bin/doorward.js", import.meta.url));

function doorward(home: string, ...words: readonly string[]) {
  return new Promise<{ code: number | null; out: string; err: string }>((done) => {
    const child = spawn(process.execPath, [program, ...words], {
      env: { PATH: process.env["PATH"] ?? "", HOME: home, SERVICE_HOME: home },
    });
    let [out, err] = ["", ""];
    child.stdout.setEncoding("utf8").on("data", (text: string) => void (out += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => void (err += text));
    child.on("close", (code) => done({ code, out, err }));
    child.stdin.end();
  });
}

const historyStatus = async (base: URL, key: string): Promise<number> => {
  const headers = { authorization: `Bearer ${key.trim()}` };
  return (await fetch(new URL("/keys/history?session_id=home", base), { headers })).status;
};

describe("doorward key", () => {
  test("gives a device a key, and takes it away", async () => {
    await using running = await startLauncher();
    const { base, home } = running;
    await enablePico(running, await finishSetup(running));
    const created = await doorward(home, "key", "create", "phone", "-expires", "90d");
    expect(created).toMatchObject({ code: 0, out: expect.stringMatching(/^dwk_\S{52}\n$/) });
    expect(created.err).toMatch(/may read, write in own sessions, until \d{4}-.*not shown again/);
    const key = created.out.trim();
    expect(await historyStatus(base, key)).toBe(200);
    const url = `${base.href.replace("http", "ws")}keys?session_id=home`;
    const socket = new WebSocket(url, { headers: { authorization: `Bearer ${key}` } });
    await once(socket, "open");
    const closed = once(socket, "close");
    const list = await doorward(home, "key", "list");
    expect(list.out).toMatch(/phone: read, write in own sessions.*used .* from 127\.0\.0\.0\/24/);
    expect(list.out).not.toContain(key.slice(13));
    expect(await doorward(home, "key", "revoke", "phone")).toMatchObject({ code: 0, out: "" });
    expect((await closed)[0]).toBe(1008);
    expect(await doorward(home, "key", "list")).toMatchObject({
      out: "",
      err: expect.stringContaining("there is no key"),
    });
    expect((await doorward(home, "key", "list", "-all")).out).toContain("revoked");
    expect(await readFile(join(home, "logs", "launcher.log"), "utf8")).not.toContain(key.slice(13));
  });

  test("writes secrets to new files, and keeps old ones for a while", async () => {
    await using running = await startLauncher();
    const { base, home } = running;
    await enablePico(running, await finishSetup(running));
    const file = join(home, "mail.key");
    const options = ["-can", "read,write,answer", "-sessions", "lobby,home", "-out", file];
    const created = await doorward(home, "key", "create", "mail", ...options);
    expect(created).toMatchObject({ code: 0, out: "" });
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const before = await readFile(file, "utf8");
    expect(await historyStatus(base, before)).toBe(200);
    const again = await doorward(home, "key", "rotate", "mail", "-out", file);
    expect(again).toMatchObject({ code: 2, err: expect.stringContaining("already") });
    const rotated = await doorward(home, "key", "rotate", "mail", "-grace", "1h", "-json");
    const { secret } = JSON.parse(rotated.out) as { secret: string };
    expect(await historyStatus(base, secret)).toBe(200);
    expect(await historyStatus(base, before)).toBe(200);
    await doorward(home, "key", "rotate", "mail");
    expect(await historyStatus(base, secret)).toBe(401);
    const taken = join(home, "taken.key");
    const twice = await doorward(home, "key", "create", "mail", "-out", taken);
    expect(twice).toMatchObject({ code: 1, err: expect.stringContaining("with the name") });
    await expect(stat(taken)).rejects.toMatchObject({ code: "ENOENT" });
  });

  test("says how to open the channel while it is off", async () => {
    await using running = await startLauncher();
    const { base, home } = running;
    const auth = await finishSetup(running);
    const closed = expect.stringMatching(/channel pico is off, so \/keys answers 404\. Turn the/);
    const created = await doorward(home, "key", "create", "phone");
    expect(created).toMatchObject({ code: 0, err: closed });
    expect(await historyStatus(base, created.out)).toBe(404);
    expect(await doorward(home, "key", "list")).toMatchObject({ code: 0, err: closed });
    expect((await doorward(home, "doctor")).out).toContain("so /keys answers 404, and 1 key is");
    await enablePico(running, auth);
    expect((await doorward(home, "key", "list")).err).toBe("");
    expect(await historyStatus(base, created.out)).toBe(200);
  });

  test("survives a restart of the launcher", async () => {
    const first = await startLauncher();
    const { home } = first;
    await enablePico(first, await finishSetup(first));
    const { out } = await doorward(home, "key", "create", "phone");
    first.child.kill("SIGTERM");
    await first.ended;
    await using second = await startLauncher({ env: { SERVICE_HOME: home } });
    expect(await historyStatus(second.base, out)).toBe(200);
  });

  test.each([
    [["key"], "takes create NAME"],
    [["key", "create"], "takes create NAME"],
    [["key", "list", "phone"], "takes create NAME"],
    [["key", "create", "phone", "-grace", "1h"], 'requires "key rotate"'],
    [["key", "create", "phone", "-expires", "soon"], "takes a time"],
  ])("explains %j", async (words, problem) => {
    const { code, err } = await doorward(tmpdir(), ...words);
    expect([code, err]).toEqual([2, expect.stringContaining(problem)]);
  });

  test("says that no launcher runs", async () => {
    const home = await mkdtemp(join(tmpdir(), "doorward-no-launcher-"));
    expect(await doorward(home, "key", "list")).toMatchObject({
      code: 4,
      err: expect.stringContaining("start it with"),
    });
    await rm(home, { recursive: true });
  });
});
