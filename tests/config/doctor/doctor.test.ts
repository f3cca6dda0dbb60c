import { execFileSync } from "node:child_process";
import { chmod, utimes } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import { runDoctor, type CheckView } from "../../../config/doctor/index.ts";
import type { DoctorFacts } from "../../../plugins/dashboard/index.ts";
import { NOW, checks, type Options } from "../../support/doctor-harness.ts";
import { withHome, type Home } from "../../support/token-store-harness.ts";
import { findTool } from "../../support/tools.ts";

const git = findTool("git");
const STRONG = "a-token-that-nobody-guesses-0123456789";

const security = (token: string): string => `channels:\n  pico:\n    token: "${token}"\n`;
const program: NonNullable<DoctorFacts["program"]> = {
  state: "running",
  command: "/usr/bin/python3 agent.py",
  pid: 7,
  since: NOW,
  restarts: 2,
  lastEnd: "exit code 1",
  inWork: 0,
  queued: 0,
  answered: 4,
  failed: 1,
  stopped: 0,
  dropped: 0,
  knowsStop: false,
  stopTimeouts: 0,
  restartsByOwner: 0,
  invalidLines: 0,
  stderr: [{ at: NOW, text: "Traceback." }],
};
const store: NonNullable<DoctorFacts["store"]> = {
  kind: "sqlite",
  state: "up",
  since: NOW,
  conversations: 1,
  waitingBytes: 0,
  searches: true,
};
const on = { channels: { pico: { enabled: true } } };

describe("runDoctor", () => {
  test("begins with the three checks that explain a rejected token", () =>
    withHome(async (home) => {
      const found = await runDoctor({ home: home.path, env: {}, now: NOW });
      expect(found.slice(0, 3).map(({ id }) => id)).toEqual([
        "token-configured",
        "header-form",
        "token-query",
      ]);
    }));

  test("fails no check in a new home and suggests fixes", () =>
    withHome(async (home) => {
      await home.write("launcher-config.json", { port: 0 });
      const found = Object.values(await checks(home));
      expect(found.filter(({ result }) => result === "failed")).toEqual([]);
      for (const { result, reason, fix } of found) {
        expect(reason).toMatch(/\.$/);
        if (result !== "ok") expect(fix).toMatch(/\w/);
      }
    }));

  test.for<[string, string, CheckView["result"], (home: Home) => Promise<unknown>, Options?]>([
    [
      "a channel that is on without a token",
      "token-configured",
      "failed",
      (home) => home.write("config.json", on),
    ],
    [
      "a token in config.json",
      "token-in-config",
      "warning",
      (home) => home.write("config.json", { channels: { pico: { token: STRONG } } }),
    ],
    [
      "different tokens in environment and file",
      "token-places",
      "warning",
      (home) => home.write(".security.yml", security(STRONG)),
      { env: { SERVICE_CHANNELS_PICO_TOKEN: `${STRONG}-other` } },
    ],
    [
      "a weak token",
      "token-strength",
      "warning",
      (home) => home.write(".security.yml", security("short")),
    ],
    [
      "a token that browsers cannot send",
      "token-strength",
      "warning",
      (home) => home.write(".security.yml", security("spaces and ünïcödé in it")),
    ],
    [
      "a store that cannot be written",
      "conversation-store",
      "failed",
      async () => undefined,
      { running: { store: { ...store, state: "away", problem: "the disk is full" } } },
    ],
    [
      "a store whose clock is behind that of the system",
      "conversation-store",
      "warning",
      async () => undefined,
      { running: { store: { ...store, notice: "400 days ahead", fix: "set the clock" } } },
    ],
    [
      "keys without a channel",
      "keys",
      "warning",
      async () => undefined,
      { running: { keys: 1, channel: { enabled: false, path: "/pico" } } },
    ],
    [
      "a missing program",
      "program",
      "failed",
      (home) => home.write("config.json", { handler: { command: ["agnet"] } }),
    ],
    [
      "a crashed program",
      "program-running",
      "warning",
      async () => undefined,
      { running: { program } },
    ],
    [
      "a program that keeps exiting",
      "program-running",
      "failed",
      async () => undefined,
      { running: { program: { ...program, state: "waiting" } } },
    ],
    [
      "a program that ignores stops",
      "program-stop-timed-out",
      "warning",
      async () => undefined,
      { running: { program: { ...program, stopTimeouts: 2 } } },
    ],
    [
      "a program configured after the start",
      "program-running",
      "warning",
      (home) => home.write("config.json", { handler: { command: ["sh"] } }),
      { running: {} },
    ],
    [
      "a configured program that is not the running one",
      "program-edited",
      "warning",
      (home) => home.write("config.json", { handler: { command: ["sh"] } }),
      { running: { program } },
    ],
    ["an unreadable file", "files-readable", "failed", (home) => home.write("config.json", "{")],
    [
      "a token line without a text",
      "files-readable",
      "failed",
      (home) => home.write(".security.yml", "channels:\n  pico:\n    token: &abc\n"),
    ],
    [
      "a secret that other users can read",
      "file-modes",
      "warning",
      async (home) => {
        await home.write(".security.yml", security(STRONG));
        await chmod(home.at(".security.yml"), 0o644);
      },
    ],
    [
      "a secret in version control",
      "secrets-in-git",
      "failed",
      async (home) => {
        await home.write(".security.yml", security(STRONG));
        for (const args of [
          ["init", "-q"],
          ["add", "-f", ".security.yml"],
        ])
          execFileSync(git!, args, { cwd: home.path });
      },
    ],
    [
      "a file from the future",
      "clock",
      "warning",
      async (home) => {
        await home.write("config.json", {});
        await utimes(home.at("config.json"), NOW / 1_000 + 3_600, NOW / 1_000 + 3_600);
      },
    ],
    [
      "tokens in the URL",
      "token-query",
      "warning",
      (home) => home.write("config.json", { channels: { pico: { allow_token_query: true } } }),
    ],
    [
      "a public listener without encryption",
      "public-without-tls",
      "warning",
      (home) => home.write("launcher-config.json", { public: true, port: 0 }),
    ],
    [
      "a host name that begins with localhost",
      "public-without-tls",
      "warning",
      async () => undefined,
      { running: { addresses: [new URL("http://localhost.example:18800/")] } },
    ],
    [
      "an origin list that allows all pages",
      "origins",
      "warning",
      (home) => home.write("config.json", { channels: { pico: { allow_origins: ["*"] } } }),
    ],
    [
      "a rejected handshake",
      "handshake-subprotocol",
      "failed",
      (home) => home.write("config.json", on),
      { codes: { subprotocol: "token_mismatch" } },
    ],
    [
      "an untrusted proxy",
      "proxy",
      "warning",
      (home) => home.write("config.json", on),
      { running: { forwarded: { from: "10.0.0.9", ignored: true, host: true } } },
    ],
    [
      "a proxy that omits host and scheme",
      "proxy",
      "warning",
      (home) => home.write("config.json", on),
      { running: { forwarded: { from: "10.0.0.9", ignored: false, host: false } } },
    ],
    [
      "a trusted proxy on a loopback address",
      "proxy",
      "warning",
      (home) => home.write("launcher-config.json", { trusted_proxies: ["127.0.0.1"] }),
    ],
    [
      "a proxy that drops Upgrade",
      "proxy-upgrade",
      "failed",
      (home) => home.write("config.json", on),
      { running: { upgrade: false } },
    ],
    [
      "a proxy that changes the host",
      "proxy-upgrade",
      "failed",
      (home) => home.write("config.json", on),
      {
        running: {
          upgrade: false,
          rejection: {
            code: "sign_in_rejected",
            at: NOW,
            title: "Sign-in does not count",
            detail: "",
            fix: "use $http_host",
          },
        },
      },
    ],
    [
      "a rejected client",
      "refused-clients",
      "warning",
      (home) => home.write("config.json", on),
      {
        running: {
          refusals: [
            {
              at: NOW - 90_000,
              title: "Wrong token",
              detail: "header · 10.0.0.9",
              fix: "fix it",
            },
          ],
        },
      },
    ],
  ])("reports %s", ([, id, result, spoil, options], { skip }) => {
    skip(id === "secrets-in-git" && !git, "needs git");
    return withHome(async (home) => {
      await spoil(home);
      const found = await checks(home, options);
      expect(found[id]).toMatchObject({
        result,
        reason: expect.stringMatching(/\w/),
        fix: expect.stringMatching(/\w/),
      });
      expect(JSON.stringify(found)).not.toContain(STRONG);
    });
  });

  test.each([
    ["SERVICE_LAUNCHER_TOKEN", "change SERVICE_LAUNCHER_TOKEN and restart"],
    ["SERVICE_CHANNELS_PICO_TOKEN", "change SERVICE_CHANNELS_PICO_TOKEN and restart"],
  ])("names the variable as the fix for a weak token in %s", (variable, fix) =>
    withHome(async (home) => {
      expect(
        (await checks(home, { env: { [variable]: "short" } }))["token-strength"],
      ).toMatchObject({ fix });
    }),
  );

  test("names variables with quotation marks, and none without", () =>
    withHome(async (home) => {
      const env = { SERVICE_LAUNCHER_TOKEN: `"${STRONG}"`, SERVICE_LAUNCHER_HOST: "127.0.0.1" };
      const found = (await checks(home, { env }))["environment-values"];
      expect(found).toMatchObject({
        result: "warning",
        reason: expect.stringMatching(/^The quotation marks around .* SERVICE_LAUNCHER_TOKEN/),
      });
      expect(JSON.stringify(found)).not.toContain(STRONG);
      expect((await checks(home))["environment-values"]).toBeUndefined();
    }));

  test("checks the tokens of third-party channels", () =>
    withHome(async (home) => {
      await home.write(
        ".security.yml",
        "channels:\n  letters:\n    token: short\n  telegram:\n    token: '123456:ABC-DEF-long'\n",
      );
      const found = await checks(home);
      expect(found["token-strength"]).toMatchObject({
        reason: "letters: it has fewer than 16 characters.",
        fix: expect.stringContaining("doorward token set letters"),
      });
      await home.write("config.json", { channels: { letters: { token: STRONG } } });
      expect((await checks(home))["token-in-config"]?.reason).toContain("the token of: letters");
      expect((await checks(home))["token-places"]?.reason).toContain(
        "letters (.security.yml overrides config.json)",
      );
    }));

  test("reports a port in use", () =>
    withHome(async (home) => {
      const other = createServer();
      await new Promise<void>((done) => other.listen(0, "127.0.0.1", done));
      await home.write("launcher-config.json", { port: (other.address() as AddressInfo).port });
      expect((await checks(home))["port"]).toMatchObject({
        result: "failed",
        fix: expect.stringContaining("-port"),
      });
      other.close();
    }));

  test("passes all checks of a correctly configured running launcher", () =>
    withHome(async (home) => {
      await home.write("config.json", on);
      await home.write(".security.yml", security(STRONG));
      const found = Object.values(await checks(home, { running: {} }));
      expect(found.filter(({ result }) => result !== "ok")).toEqual([]);
    }));
});
