import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse } from "yaml";
import { compiledModule } from "../../lib/files/support.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const writer = fileURLToPath(new URL("children/writer.mjs", import.meta.url));
let folder: string;
beforeAll(() => void (folder = mkdtempSync(join(tmpdir(), "doorward-kills-"))));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const kinds = ["settings", "pico", "launcher", "log", "conversation"] as const;
type Kind = (typeof kinds)[number];
/** The last finished write of each kind, and the writes that have begun since. */
type Said = Map<Kind, { done: number; begun: number[] }>;

/** Writes and kills the writer `afterMs` after the second write of this kind has begun. */
async function writeAndDie(
  home: string,
  logModule: string,
  said: Said,
  kind: Kind,
  afterMs: number,
): Promise<void> {
  const dist = pathToFileURL(join(root, "dist")).href;
  const child = spawn(process.execPath, [writer, JSON.stringify({ home, dist, logModule })], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "close");
  let rounds = 0;
  createInterface({ input: child.stdout }).on("line", (line) => {
    const [word, at, n] = line.split(" ") as ["begun" | "done", Kind, string];
    const known = said.get(at) ?? { done: 0, begun: [] };
    if (word === "begun") known.begun.push(Number(n));
    else Object.assign(known, { done: Number(n), begun: [] });
    said.set(at, known);
    if (word === "begun" && at === kind && (rounds += 1) === 2)
      setTimeout(() => child.kill("SIGKILL"), afterMs);
  });
  await ended;
}

const text = (home: string, ...path: string[]): string => readFileSync(join(home, ...path), "utf8");

/** Checks that each file is complete and contains the last finished write or a later one. */
function check(home: string, said: Said): void {
  const may = (kind: Kind): number[] => [said.get(kind)!.done, ...said.get(kind)!.begun];
  expect(may("settings")).toContain(
    JSON.parse(text(home, "config.json")).channels.pico.max_connections,
  );
  const number = (token: string): number => Number(/^\w+-(\d+)-x{24}$/.exec(token)![1]);
  expect(may("pico")).toContain(number(parse(text(home, ".security.yml")).channels.pico.token));
  expect(may("launcher")).toContain(
    number(JSON.parse(text(home, "launcher-config.json")).launcher_token),
  );
  const { sessions } = JSON.parse(text(home, "state", "pico-client.json")) as {
    sessions: Record<string, string>;
  };
  for (const id of Object.values(sessions)) expect(id).toMatch(/^[0-9a-f]{32}$/);

  const logs = ["launcher.log.3", "launcher.log.2", "launcher.log.1", "launcher.log"].filter(
    (name) => existsSync(join(home, "logs", name)),
  );
  const lines = logs.flatMap((name) =>
    text(home, "logs", name)
      .split("\n")
      .filter((line) => line !== ""),
  );
  const seen = lines
    .map((line) => JSON.parse(line) as { n: number; line: number })
    .map(({ n, line }) => n * 10 + line);
  expect(seen).toEqual([...seen].sort((a, b) => a - b));
  expect(seen.at(-1)).toBeGreaterThanOrEqual(said.get("log")!.done * 10 + 9);
}

test("leaves complete files after SIGKILL during any write", async () => {
  const logModule = compiledModule("bin/log/index.js");
  /** Per home; 60 in total. tests/lib/files/atomic-write.test.ts adds 200 for one file. */
  const kills = 15;
  const run = async (home: string): Promise<void> => {
    const said: Said = new Map();
    for (let kill = 0; kill < kills; kill++) {
      await writeAndDie(home, logModule, said, kinds[kill % kinds.length]!, Math.random() * 15);
      check(home, said);
    }
    const names = (readdirSync(home, { recursive: true }) as string[]).filter((name) =>
      name.includes(".tmp-"),
    );
    // The last kill leaves at most one per file. The next write removes them.
    expect(names.length).toBeLessThanOrEqual(4);
  };
  await Promise.all(["a", "b", "c", "d"].map((name) => run(join(folder, name))));
});
