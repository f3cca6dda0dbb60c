// Tests `doorward doctor -public` behind nginx, Caddy and HAProxy: as documented, and with faults.
import { randomUUID } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { caddy, startCaddy } from "../../e2e/caddy.ts";
import { haproxy, startHaproxy } from "../../e2e/haproxy.ts";
import { startLauncher, type RunningLauncher } from "../../e2e/launcher.ts";
import { nginx, startNginx } from "../../e2e/nginx.ts";
import type { Proxy } from "../../e2e/proxies.ts";
import { runCommand } from "../../e2e/run-command.ts";
import { isBrief, rounds } from "../../support/runs.ts";
import { certificateChain, type Chain } from "../../plugins/http/certificate.ts";
import { brokenProxies, type BrokenProxy, type ProxyName } from "./broken-proxies.ts";

interface Check {
  readonly id: string;
  readonly result: string;
  readonly reason: string;
  readonly fix?: string;
}

const proxies = {
  nginx: { program: nginx, start: startNginx },
  Caddy: { program: caddy, start: startCaddy },
  HAProxy: { program: haproxy, start: startHaproxy },
} as const;

/** Longer than the two seconds of the faults, much shorter than the minutes of the recipes. */
const silenceS = "4";

describe("doorward doctor -public", () => {
  let folder: string;
  const launchers = new Map<string, RunningLauncher>();

  async function launcherAt(path: string): Promise<RunningLauncher> {
    const found = launchers.get(path);
    if (found) return found;
    const env = {
      SERVICE_LAUNCHER_TRUSTED_PROXIES: "127.0.0.1",
      SERVICE_LAUNCHER_BASE_PATH: path,
      SERVICE_CHANNELS_PICO_ENABLED: "true",
      SERVICE_CHANNELS_PICO_TOKEN: "token-of-the-channel-1",
    };
    const started = await startLauncher({ env });
    launchers.set(path, started);
    return started;
  }

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "doorward-ca-"));
  });
  afterAll(async () => {
    for (const launcher of launchers.values()) await launcher[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  async function check({ home }: RunningLauncher, words: readonly string[]): Promise<Check[]> {
    const { stdout, stderr } = await runCommand(home, ["doctor", "-public", ...words, "-json"]);
    if (stdout === "") throw new Error(stderr);
    return (JSON.parse(stdout) as { checks: Check[] }).checks;
  }

  async function behind(
    name: ProxyName,
    { change, certificate = (chain) => chain(), path = "", ...fault }: Partial<BrokenProxy>,
    words: readonly string[] = ["-silence", silenceS],
  ): Promise<Check[]> {
    const launcher = await launcherAt(path);
    const chain: Chain = certificate(certificateChain);
    const ca = join(folder, `${randomUUID()}.pem`);
    await writeFile(ca, chain.root);
    const proxy: Proxy = await proxies[name].start(launcher.base.port, path, change, {
      cert: chain.leaf + chain.intermediate,
      key: chain.key,
    });
    try {
      const http = fault.withoutRedirect ? proxy.plain.port : String(proxy.redirectPort);
      return await check(launcher, [proxy.encrypted.href, "-ca", ca, "-http-port", http, ...words]);
    } finally {
      await proxy[Symbol.asyncDispose]();
    }
  }

  const found = (checks: readonly Check[]): Check[] =>
    checks.filter(({ result }) => result !== "ok");

  test("waits for two real minutes of silence", { timeout: 400_000 }, async ({ skip }) => {
    skip(nginx === undefined, "needs nginx");
    skip(isBrief, "takes two minutes");
    await launcherAt(""); // once for both
    const minute = (text: string): string =>
      text.replaceAll("proxy_read_timeout 300s;", "proxy_read_timeout 60s;");
    const [documented, broken] = await Promise.all([
      behind("nginx", {}, []),
      // The grant of one launcher is for one check.
      behind("nginx", { path: "/doorward", change: minute }, []),
    ]);
    expect(found(documented)).toEqual([]);
    expect(found(broken).map(({ id }) => id)).toEqual([
      "public-websocket-silence",
      "public-stream-silence",
    ]);
    expect(found(broken)[0]?.reason).toMatch(/closed it after (59|6\d) s/);
  });

  describe.each(["nginx", "Caddy", "HAProxy"] as const)("behind %s", (name) => {
    beforeEach(({ skip }) => skip(proxies[name].program === undefined, `needs ${name}`));

    const brief = name === "nginx" ? ["/doorward"] : [];
    const paths = isBrief ? brief : ["", "/doorward"];
    test.each(paths)("finds nothing in the documented file, below %j", async (path) => {
      const checks = await behind(name, { path });
      expect(found(checks)).toEqual([]);
      expect(checks.map(({ id }) => id)).toEqual(
        expect.arrayContaining([
          ...["public-certificate", "public-redirect", "public-launcher", "public-scheme"],
          ...["public-host", "public-client-address", "public-headers", "public-identity"],
          ...["public-cookies", "public-range", "public-compression", "public-http2"],
          ...["public-channel", "public-websocket", "public-stream", "public-body"],
          ...["public-websocket-silence", "public-stream-silence"],
        ]),
      );
    });

    test("finds nothing with a token, which needs a valid certificate", async () => {
      const token = join(folder, "token");
      await writeFile(token, "token-of-the-proxy");
      expect(found(await behind(name, {}, ["-quick", "-token-file", token]))).toEqual([]);
    });

    const broken = brokenProxies.filter(({ proxy }) => proxy === name);
    const step = Math.ceil(broken.length / rounds(broken.length));
    test.each(broken.filter((_, at) => at % step === 0))("finds one that $fault", async (fault) => {
      const isSilence = fault.check.endsWith("-silence");
      const words = isSilence ? ["-silence", silenceS] : ["-quick"];
      const checks = await behind(name, fault, words);
      const [one] = checks.filter(({ id }) => id === fault.check);
      expect(one).toMatchObject({ fix: expect.stringMatching(fault.line) });
      expect(one?.result).not.toBe("ok");
      expect(one?.fix).toContain(name);
    });
  });
});
