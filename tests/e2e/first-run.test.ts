// Tests the first start and the first message.
import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { enablePico, finishSetup, startLauncher } from "./launcher.ts";

const mode = async (path: string): Promise<string> => ((await stat(path)).mode & 0o777).toString(8);
const read = (path: string): Promise<string> => readFile(path, "utf8");

describe("First start", () => {
  it("prints URL, token source, generated token and sign-in link", async () => {
    await using launcher = await startLauncher();
    expect(launcher.stdout()).toMatch(/Dashboard +http:\/\/(localhost|127\.0\.0\.1):\d+\//);
    expect(launcher.stdout()).toContain("source: random");
    expect(launcher.token).toMatch(/^[\w-]{43}$/);
    const stored = JSON.parse(await read(join(launcher.home, "launcher-config.json")));
    expect(stored.launcher_token).toBe(launcher.token);
    expect(stored.setup_pending).toMatch(/^[0-9a-f]{16}$/);
    expect(stored.instance).toMatch(/^[0-9a-f]{6}$/);
  });

  it("restricts the home and excludes its secrets from version control", async () => {
    await using launcher = await startLauncher();
    const cookie = await finishSetup(launcher);
    await enablePico(launcher, cookie);
    expect(await mode(launcher.home)).toBe("700");
    for (const file of ["launcher-config.json", ".security.yml", "logs/launcher.log"]) {
      expect([file, await mode(join(launcher.home, file))]).toEqual([file, "600"]);
    }
    const ignored = (await read(join(launcher.home, ".gitignore"))).split("\n");
    expect(ignored).toEqual(
      expect.arrayContaining([
        ".security.yml",
        "cache/",
        "launcher-config.json",
        "logs/",
        "run/",
        "state/",
      ]),
    );
  });

  it("logs the token once if the terminal does not show it", async () => {
    await using quiet = await startLauncher({ args: ["-port", "0", "-no-browser"] });
    const { launcher_token: token } = JSON.parse(
      await read(join(quiet.home, "launcher-config.json")),
    );
    expect(quiet.stdout()).not.toContain(token);
    const log = await read(join(quiet.home, "logs", "launcher.log"));
    expect(log.split(token)).toHaveLength(2);
    expect(log).toContain(`launcher token (first run): ${token}`);
    expect(log).toContain("launcher token source: random");
    const ways = async () =>
      (await (await fetch(new URL("/api/auth/status", quiet.base))).json()) as { ways: string[] };
    expect((await ways()).ways).toEqual(["log", "command", "file"]);
    await finishSetup({ ...quiet, token });
    expect((await ways()).ways).toEqual(["command", "file"]);

    await using shown = await startLauncher();
    expect(await read(join(shown.home, "logs", "launcher.log"))).not.toContain(shown.token);
  });

  it("accepts the printed link once and starts setup", async () => {
    await using launcher = await startLauncher();
    const visit = (): Promise<Response> =>
      fetch(launcher.link, {
        redirect: "manual",
        headers: { accept: "text/html", "sec-fetch-mode": "navigate" },
      });
    const first = await visit();
    expect([first.status, first.headers.get("location")]).toEqual([303, "/setup"]);
    expect(first.headers.getSetCookie().join()).toContain("_setup_");
    const again = await visit();
    expect([again.status, again.headers.get("location")]).toEqual([
      302,
      "/setup?error=invalid_code",
    ]);
  });

  it("keeps the token at the next start with source config", async () => {
    await using first = await startLauncher();
    await finishSetup(first);
    first.child.kill("SIGTERM");
    await first.ended;
    await using second = await startLauncher({ env: { SERVICE_HOME: first.home } });
    expect(second.stdout()).toContain("source: config");
    expect(second.stdout()).not.toContain(first.token);
    expect(second.stdout()).toContain("doorward.js token show");
    const answer = await fetch(new URL("/api/status", second.base), {
      headers: { authorization: `Bearer ${first.token}` },
    });
    expect(answer.status).toBe(200);
    second.child.kill("SIGTERM");
    await second.ended;
    const terminal = ["--import", "data:text/javascript,process.stdout.isTTY = true;"];
    await using third = await startLauncher({
      env: { SERVICE_HOME: first.home },
      nodeArgs: terminal,
    });
    expect([third.token, third.stdout()]).toEqual([
      first.token,
      expect.stringContaining("source: config"),
    ]);
  });
});

describe("First message", () => {
  it("returns an echo after the channel is turned on without restart", async () => {
    await using launcher = await startLauncher();
    const cookie = await finishSetup(launcher);
    const url = new URL("/pico?session_id=walk", launcher.base);
    expect((await fetch(url)).status).toBe(404);
    const token = await enablePico(launcher, cookie);
    expect(JSON.parse(await read(join(launcher.home, "config.json"))).channels.pico.enabled).toBe(
      true,
    );

    const socket = new WebSocket(url, [`token.${token}`]);
    const answer = new Promise<{ type: string; payload: { content: string } }>(
      (resolve, reject) => {
        socket.on("error", reject);
        socket.on("open", () =>
          socket.send(JSON.stringify({ type: "message.send", payload: { content: "hello" } })),
        );
        socket.on("message", (data) => {
          const frame = JSON.parse(String(data));
          if (frame.type === "message.create") resolve(frame);
        });
      },
    );
    expect((await answer).payload.content).toBe("hello");
    socket.close();
  });

  it("changes only the switch in a hand-written config.json", async () => {
    await using first = await startLauncher();
    const cookie = await finishSetup(first);
    const before =
      '{\n    "channels" : { "pico": {"max_connections":7, "enabled": false} },\n  "handler": "echo" }\n';
    first.child.kill("SIGTERM");
    await first.ended;
    await writeFile(join(first.home, "config.json"), before);
    await using second = await startLauncher({ env: { SERVICE_HOME: first.home } });
    const signIn = await fetch(new URL("/login", second.base), {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ token: first.token }),
    });
    const own = signIn.headers
      .getSetCookie()
      .find((line) => line.includes("_session_"))!
      .split(";", 1)[0]!;
    expect(own).not.toBe(cookie);
    await enablePico(second, own);
    expect(await read(join(first.home, "config.json"))).toBe(before.replace("false", "true"));
  });
});
