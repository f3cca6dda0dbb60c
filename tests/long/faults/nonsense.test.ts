import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sessionCookie, startLauncher, type RunningLauncher } from "../../e2e/launcher.ts";
import { eventually, token } from "./server.ts";

let folder: string;
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), "doorward-nonsense-"))));
afterAll(() => rm(folder, { recursive: true, force: true }));

const owner = "the-launcher-token-of-the-owner-of-this-house";
const good = { channels: { pico: { enabled: true, max_connections: 7, read_timeout: 50 } } };
const goodTokens = `channels:\n  pico:\n    token: ${token}\n`;

/** Invalid file contents, and a pattern of the log line that reports them. */
const nonsense: readonly { file: string; text: string | Buffer; log: RegExp }[] = [
  {
    file: "config.json",
    text: '{ "channels": { "pico": { "max_conn',
    log: /config\.json, line 1, column \d+: expected/,
  },
  {
    file: "config.json",
    text: '{"channels":{"pico":{"enabled":true,"max_connections":"many"}}}',
    log: /channels\.pico\.max_connections/,
  },
  {
    file: "config.json",
    text: '{"channels":{"pico":{"enabled":true,"max_conections":9}}}',
    log: /Did you mean "max_connections"/,
  },
  {
    file: "config.json",
    text: '{"channels":{"pico":[1,2,3]}}',
    log: /"channels\.pico" must be an object/,
  },
  { file: "config.json", text: '"a string"', log: /config\.json/ },
  { file: "config.json", text: "", log: /config\.json/ },
  {
    file: "config.json",
    text: Buffer.from(Array.from({ length: 4_096 }, (_, n) => (n * 31 + 128) % 256)),
    log: /config\.json/,
  },
  {
    file: "config.json",
    text: '{"channels":{"pico":{"enabled":true,"max_connections":1000000}}}',
    log: /max_connections|open files/,
  },
  { file: "launcher-config.json", text: '{ "session_days": -1 }', log: /session_days/ },
  { file: "launcher-config.json", text: "[]", log: /launcher-config\.json/ },
  {
    file: ".security.yml",
    text: "channels:\n  pico:\n   - token: [\n",
    log: /pico token stays as it was.*\.security\.yml/,
  },
  { file: ".security.yml", text: "channels: { pico: { token: &a } }\n", log: /pico token/ },
];

type Ask = (path: string, init?: RequestInit) => Promise<Response>;
async function signIn({ base }: RunningLauncher): Promise<Ask> {
  const body = new URLSearchParams({ token: owner });
  const cookie = sessionCookie(
    await fetch(new URL("/login", base), { method: "POST", body, redirect: "manual" }),
  );
  return (path, init) =>
    fetch(new URL(path, base), { ...init, headers: { cookie, ...init?.headers } });
}

async function runningSettings(ask: Ask): Promise<unknown> {
  const { limits, connections } = (await (
    await ask("/pico", { headers: { authorization: `Bearer ${token}` } })
  ).json()) as {
    limits: Record<string, unknown>;
    connections: number;
  };
  const status = (await (await ask("/api/status")).json()) as { channel: Record<string, unknown> };
  return {
    read_timeout: limits["read_timeout"],
    connections,
    most: status.channel["maxConnections"],
    enabled: status.channel["enabled"],
  };
}

async function warnings(ask: Ask): Promise<string> {
  const status = (await (await ask("/api/status")).json()) as {
    warnings: { id: string; text: string }[];
  };
  return status.warnings
    .flatMap(({ id, text }) => (id === "settings-not-taken" ? text : []))
    .join();
}
/** Returns the problems with the files that the dashboard reports. */
async function problems(ask: Ask): Promise<string> {
  const { sections } = (await (await ask("/api/settings")).json()) as {
    sections: { problem?: string }[];
  };
  return sections.flatMap(({ problem }) => problem ?? []).join();
}

test("rejects and reports invalid configurations, then accepts a valid one", async () => {
  const write = async (file: string, text: string | Buffer): Promise<void> => {
    await writeFile(join(folder, `${file}.new`), text, { mode: 0o600 });
    await rename(join(folder, `${file}.new`), join(folder, file));
  };
  await write("config.json", JSON.stringify(good));
  await write(".security.yml", goodTokens);
  await using launcher = await startLauncher({
    args: ["-console", "-no-browser", "-port", "0"],
    env: { SERVICE_HOME: folder, SERVICE_LAUNCHER_TOKEN: owner },
  });
  const ask = await signIn(launcher);
  const before = await runningSettings(ask);
  expect(before).toEqual({ read_timeout: 50, connections: 0, most: 7, enabled: true });

  const events = await ask("/api/events");
  let feed = "";
  void (async () => {
    const decoder = new TextDecoder();
    for await (const part of events.body!) feed += decoder.decode(part, { stream: true });
  })().catch(() => undefined);

  for (const [at, { file, text, log }] of nonsense.entries()) {
    const loggedBefore = launcher.stderr().length;
    const fedBefore = feed.length;
    await write(file, text);
    await eventually(() => log.test(launcher.stderr().slice(loggedBefore).replaceAll('\\"', '"')));
    if (file !== ".security.yml")
      await eventually(() => feed.slice(fedBefore).includes('"rejected"'));
    expect(await runningSettings(ask), `after content ${at}`).toEqual(before);
    const page = await ask(`/api/log?text=${encodeURIComponent(file)}&level=warn`);
    expect(JSON.stringify(await page.json()), `after content ${at}`).toContain("stay");
    // A page that needs the file reports why it cannot read it.
    if (file === ".security.yml")
      expect([200, 503], `after content ${at}`).toContain((await ask("/api/tokens")).status);
    else
      for (const report of [problems, warnings])
        expect(await report(ask), `after content ${at}`).toMatch(log);
    await write("config.json", JSON.stringify(good));
    await write(".security.yml", goodTokens);
    await write("launcher-config.json", "{}");
    await eventually(async () => (await problems(ask)) === "");
  }
  await write(
    "config.json",
    JSON.stringify({
      channels: { pico: { ...good.channels.pico, read_timeout: 51, max_connections: 8 } },
    }),
  );
  await eventually(async () => ((await runningSettings(ask)) as { most: number }).most === 8);
  expect(await runningSettings(ask)).toMatchObject({ read_timeout: 51 });
  expect(await problems(ask)).toBe("");
  await events.body?.cancel().catch(() => undefined);
});
