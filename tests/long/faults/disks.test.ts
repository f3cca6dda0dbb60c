import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sessionCookie, startLauncher, type RunningLauncher } from "../../e2e/launcher.ts";
import { eventually, token } from "./server.ts";

const owner = "the-launcher-token-of-the-owner-of-this-house";
let folder: string;
beforeAll(() => void (folder = mkdtempSync(join(tmpdir(), "doorward-disk-"))));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const mount = (...args: string[]): void => void execFileSync("mount", args, { stdio: "pipe" });
const logs = (): string => join(folder, "logs");
/** Without compiled code, which Node 22 and newer write at exit. */
const entries = (): string[] =>
  readdirSync(folder)
    .filter((name) => name !== "cache")
    .sort();
const unmount = (): void => {
  for (const path of [logs(), folder]) spawnSync("umount", ["--lazy", path]);
};

/** @returns Why this process cannot mount a file system, or undefined if it can. */
function refusal(): string | undefined {
  const probe = mkdtempSync(join(tmpdir(), "doorward-mount-"));
  try {
    mount("-t", "tmpfs", "-o", "size=64k", "tmpfs", probe);
    execFileSync("umount", [probe]);
    return undefined;
  } catch (error) {
    return (error as { stderr?: Buffer }).stderr?.toString().trim() || (error as Error).message;
  } finally {
    rmSync(probe, { recursive: true, force: true });
  }
}
const why = refusal();
if (why !== undefined) console.log(`skipped, no file system can be mounted: ${why}`);

interface Answer {
  readonly status: number;
  readonly body: { error?: string; message?: string; etag?: string };
}

async function signIn({ base }: RunningLauncher): Promise<string> {
  const body = new URLSearchParams({ token: owner });
  return sessionCookie(
    await fetch(new URL("/login", base), { method: "POST", body, redirect: "manual" }),
  );
}

async function owned(launcher: RunningLauncher) {
  const { base } = launcher;
  const cookie = await signIn(launcher);
  const ask = async (
    method: string,
    path: string,
    fields?: object,
    etag?: string,
  ): Promise<Answer> => {
    const answer = await fetch(new URL(path, base), {
      method,
      headers: { cookie, "content-type": "application/json", ...(etag && { "if-match": etag }) },
      ...(fields && { body: JSON.stringify(fields) }),
    });
    return { status: answer.status, body: (await answer.json()) as Answer["body"] };
  };
  const etag = async (): Promise<string> =>
    ((await ask("GET", "/api/status")).body as { channel: { etag: string } }).channel.etag;
  return {
    save: async (most: number) =>
      ask("PUT", "/api/channels/pico", { max_connections: most }, await etag()),
    rotate: async () => ask("POST", "/api/token/rotate", { which: "pico", current: owner }),
    channel: async (value: string) =>
      (await fetch(new URL("/pico", base), { headers: { authorization: `Bearer ${value}` } }))
        .status,
    most: async () =>
      ((await ask("GET", "/api/status")).body as { channel: { maxConnections: number } }).channel
        .maxConnections,
    state: async () => ((await ask("GET", "/api/status")).body as { state: string }).state,
  };
}

const files = (): Record<string, string> =>
  Object.fromEntries(
    ["config.json", ".security.yml", "launcher-config.json"].map((name) => [
      name,
      readFileSync(join(folder, name), "utf8"),
    ]),
  );

/** Fills the file system to the last byte. */
function fill(): void {
  for (let bytes = 65_536, n = 0; bytes >= 1; n++) {
    try {
      writeFileSync(join(folder, `filler-${n}`), Buffer.alloc(bytes, 1), { flag: "wx" });
    } catch {
      rmSync(join(folder, `filler-${n}`), { force: true });
      bytes = Math.floor(bytes / 2);
    }
  }
}
const empty = (): void => {
  for (const name of readdirSync(folder))
    if (name.startsWith("filler-")) rmSync(join(folder, name));
};

test.skipIf(why !== undefined).each([
  ["a full disk", fill, empty, /the disk is full/, true],
  // A file system with a file open for writing cannot become read-only, so the log is on
  // another, and conversations are kept in memory.
  [
    "a home that became read-only",
    () => mount("-o", "remount,ro", folder),
    () => mount("-o", "remount,rw", folder),
    /the file system is read-only/,
    false,
  ],
] as const)(
  "rejects writes with the reason and recovers: %s",
  async (_, spoil, repair, reason, losesLines) => {
    mount("-t", "tmpfs", "-o", "size=768k,mode=700", "tmpfs", folder);
    try {
      mkdirSync(logs(), { mode: 0o700 });
      if (!losesLines) mount("-t", "tmpfs", "-o", "size=768k,mode=700", "tmpfs", logs());
      writeFileSync(
        join(folder, "config.json"),
        '{"channels":{"pico":{"enabled":true,"max_connections":7}}}',
        { mode: 0o600 },
      );
      writeFileSync(join(folder, ".security.yml"), `channels:\n  pico:\n    token: ${token}\n`, {
        mode: 0o600,
      });
      await using launcher = await startLauncher({
        args: ["-console", "-no-browser", "-port", "0"],
        env: {
          SERVICE_HOME: folder,
          SERVICE_LAUNCHER_TOKEN: owner,
          ...(!losesLines && { SERVICE_STORE_KIND: "memory" }),
        },
      });
      const house = await owned(launcher);
      expect((await house.save(8)).status).toBe(200);
      const before = files();
      const names = entries();

      spoil();
      const saved = await house.save(9);
      expect([saved.status, saved.body.error]).toEqual([503, "store_unavailable"]);
      expect(saved.body.message).toMatch(reason);
      const rotated = await house.rotate();
      expect([rotated.status, rotated.body.error]).toEqual([503, "store_unavailable"]);
      expect(files()).toEqual(before);
      expect([await house.most(), await house.channel(token), await house.state()]).toEqual([
        8,
        200,
        "running",
      ]);
      // More log lines than fit into a block: the rest is lost, with one warning.
      // Sign-ins always log a line. At most 20, because the 26th would end the first one.
      for (let n = 0; n < 20; n++) await signIn(launcher);
      if (losesLines) await eventually(() => launcher.stderr().includes("loses lines"));
      expect(launcher.stderr().match(/loses lines/g)?.length ?? 0).toBe(losesLines ? 1 : 0);

      repair();
      expect(entries()).toEqual(names);
      expect([(await house.save(10)).status, await house.most()]).toEqual([200, 10]);
      const fresh = await house.rotate();
      expect([fresh.status, await house.channel(token)]).toEqual([200, 401]);
      expect(files()[".security.yml"]).not.toContain(token);
      const log = readFileSync(join(folder, "logs", "launcher.log"), "utf8")
        .trim()
        .split("\n");
      const torn = log.filter((line) => !/^\{.*\}$/.test(line));
      expect(torn.length).toBeLessThanOrEqual(1);
      expect(log.at(-1)).not.toBe(torn[0]);
    } finally {
      unmount();
    }
  },
);

test.skipIf(why !== undefined)(
  "starts in a read-only home with tokens of the environment",
  async () => {
    mount("-t", "tmpfs", "-o", "size=64k,mode=700", "tmpfs", folder);
    try {
      writeFileSync(join(folder, "config.json"), '{"channels":{"pico":{"enabled":true}}}', {
        mode: 0o600,
      });
      mount("-o", "remount,ro", folder);
      await using launcher = await startLauncher({
        args: ["-console", "-no-browser", "-port", "0"],
        env: {
          SERVICE_HOME: folder,
          SERVICE_LAUNCHER_TOKEN: owner,
          SERVICE_CHANNELS_PICO_TOKEN: token,
        },
      });
      const house = await owned(launcher);
      expect([await house.channel(token), await house.state()]).toEqual([200, "running"]);
      const saved = await house.save(9);
      expect([saved.status, saved.body.error]).toEqual([503, "store_unavailable"]);
      expect(saved.body.message).toContain("read-only");
      expect(launcher.stderr().match(/the home cannot be written/g)).toHaveLength(1);
    } finally {
      unmount();
    }
  },
);
