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

  test("runs the five commands of the family in the documentation", async () => {
    await using running = await startLauncher();
    const { base, home } = running;
    await enablePico(running, await finishSetup(running));
    const page = await readFile(new URL("../../docs/security.md", import.meta.url), "utf8");
    const section = page.split("### A family of three with two scripts")[1]!.split("\n## ")[0]!;
    const blocks = [...section.matchAll(/```sh\n(.*?)```/gs)].map(([, text]) => text!);
    const commands = blocks[0]!.trim().split("\n");
    expect(commands).toHaveLength(5);
    const secrets: string[] = [];
    for (const command of commands) {
      const [, ...words] = command.split(" ");
      const out = words.indexOf("-out");
      if (out !== -1) words[out + 1] = join(home, words[out + 1]!);
      const made = await doorward(home, ...words);
      expect(made, command).toMatchObject({ code: 0 });
      secrets.push(out === -1 ? made.out.trim() : await readFile(words[out + 1]!, "utf8"));
    }
    const [ann, bob, , reports, nightly] = secrets.map((secret) => secret.trim());
    const post = async (key: string, session: string): Promise<number> => {
      const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
      const body = JSON.stringify({ session_id: session, content: "The boiler is at 48 °C." });
      return (await fetch(new URL("/keys/messages", base), { method: "POST", headers, body }))
        .status;
    };
    const read = async (key: string, session: string): Promise<string | number> => {
      const url = new URL(`/keys/history?session_id=${session}`, base);
      const response = await fetch(url, { headers: { authorization: `Bearer ${key}` } });
      return response.ok ? response.text() : response.status;
    };
    expect([await post(ann!, "home"), await post(reports!, "family")]).toEqual([202, 202]);
    expect(await post(nightly!, "family")).toBe(403);
    expect(await read(reports!, "family")).toBe(403);
    expect(await read(nightly!, "family")).toContain("48 °C");
    expect(await read(nightly!, "home")).toBe(403);
    expect(await read(ann!, "home")).toContain("48 °C");
    expect(await read(bob!, "home")).not.toContain("48 °C");
    const others = blocks[1]!.trim().split("\n");
    for (const command of others) {
      const [, ...words] = command.replace(/ +#.*$/, "").split(" ");
      expect(await doorward(home, ...words), command).toMatchObject({ code: 0 });
    }
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
