import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { root } from "../rules/source.ts";

/* Runs host processes with the built package. */

beforeAll(() => {
  if (!existsSync(join(root, "dist")))
    throw new Error("dist/ is not there: npm run build makes it");
});

const header = `
import { createKernel } from "doorward";
import { application, channels } from "doorward/plugins/channels";
import { dashboard } from "doorward/plugins/dashboard";
import { http } from "doorward/plugins/http";
import { picoServer } from "doorward/plugins/pico-server";
import { memory, tokenStore } from "doorward/plugins/token-store";
const config = { "channels.pico": { enabled: true } };
const log = { debug() {}, info() {}, warn() {}, error: console.error };
const make = (brand, options = {}) => createKernel([
  tokenStore(memory({ pico: brand + "-channel-token", launcher: brand + "-launcher-token" })), channels(),
  http({ port: 0 }), picoServer({ envPrefix: brand.toUpperCase() }), dashboard({ brand }), application(() => undefined),
], { config, log, ...options });
`;

async function host(script: string): Promise<{ code: number | null; out: unknown; err: string }> {
  const child = spawn(process.execPath, ["--input-type=module", "-e", header + script], {
    cwd: root,
    stdio: ["ignore", "pipe", "pipe"],
    timeout: 50_000,
  });
  let [out, err] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => void (out += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => void (err += text));
  const [code] = (await once(child, "close")) as [number | null];
  return { code, out: out === "" ? undefined : JSON.parse(out), err };
}

describe("host process", () => {
  test("exits after the stop; Doorward leaves its environment and signals alone", async () => {
    const { code, out, err } = await host(`
      const read = [];
      process.env = new Proxy(process.env, { get: (env, name) => (read.push(name), env[name]) });
      process.exit = () => { throw new Error("exit was called"); };
      const count = () => process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0);
      const before = count();
      const globals = Object.keys(globalThis).length;
      const kernel = make("acme");
      await kernel.start();
      const { live, ready } = kernel.health();
      const during = count();
      const at = new URL("healthz", kernel.services.http.addresses()[0]);
      const { status } = await fetch(at, { headers: { connection: "close" } });
      await kernel.stop({ timeoutMs: 5_000 });
      const readNames = read.filter((name) => /ACME|SERVICE|TOKEN|HOME/.test(String(name)));
      console.log(JSON.stringify({
        live, ready, status, after: kernel.health().ready, signals: [during - before, count() - before], readNames,
        globals: Object.keys(globalThis).length - globals,
      }));
    `);
    expect(err).toBe("");
    expect(out).toEqual({
      live: true,
      ready: true,
      status: 200,
      after: false,
      signals: [0, 0],
      readNames: [],
      globals: 0,
    });
    expect(code).toBe(0);
  });

  test("runs two independent kernels", async () => {
    const { code, out, err } = await host(`
      const [one, other] = [make("acme"), make("umbrella")];
      await Promise.all([one.start(), other.start()]);
      const at = (kernel, path) => new URL(path, kernel.services.http.addresses()[0]);
      const signIn = async (kernel, token) => {
        const answer = await fetch(at(kernel, "login"), {
          method: "POST", headers: { "content-type": "application/json", connection: "close" },
          body: JSON.stringify({ token }),
        });
        return [answer.status, (answer.headers.get("set-cookie") ?? "").split("_")[0].split("=")[0].split("-")[0]];
      };
      const seen = [
        await signIn(one, "acme-launcher-token"), await signIn(other, "acme-launcher-token"),
        await signIn(other, "umbrella-launcher-token"),
      ];
      await one.stop();
      const { status } = await fetch(at(other, "healthz"), { headers: { connection: "close" } });
      await other.stop();
      console.log(JSON.stringify({ seen, status, same: one.services === other.services }));
    `);
    expect(err).toBe("");
    expect(out).toEqual({
      seen: [
        [200, "acme"],
        [401, ""],
        [200, "umbrella"],
      ],
      status: 200,
      same: false,
    });
    expect(code).toBe(0);
  });

  test("stops with its AbortSignal and with an await-using block", async () => {
    const { code, out, err } = await host(`
      const stop = new AbortController();
      const kernel = make("acme", { signal: stop.signal });
      await kernel.start();
      stop.abort();
      const other = make("acme");
      await other.start();
      await other[Symbol.asyncDispose]();
      console.log(JSON.stringify([other.health().live]));
    `);
    expect([err, out, code]).toEqual(["", [false], 0]);
  });
});
