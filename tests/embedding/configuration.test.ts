import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, get } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Configuration, Plugin } from "../../kernel/index.ts";
import { withKernel } from "../../kernel/testing.ts";
import { channels } from "../../plugins/channels/index.ts";
import { dashboard } from "../../plugins/dashboard/index.ts";
import { gateway, http } from "../../plugins/http/index.ts";
import { picoServer } from "../../plugins/pico-server/index.ts";
import { connectTestClient, memoryTokens, testTokens } from "../../testkit/index.ts";
import { selfSigned } from "../plugins/http/certificate.ts";
import { rejection } from "../support/sample-plugins.ts";

/* Tests which settings apply immediately, which after a restart, and that rejected changes have no
 * effect. */

const editor: Plugin<{ configures: true; offers: { editor: Configuration } }> = {
  name: "editor",
  api: 1,
  configures: true,
  start: ({ configuration }) => ({ editor: configuration }),
};
const list = () =>
  [
    memoryTokens(),
    channels(),
    http({ host: "127.0.0.1" }),
    gateway(),
    picoServer(),
    dashboard(),
    editor,
  ] as const;
const config = { launcher: { port: 0 }, "channels.pico": { enabled: true, max_connections: 1 } };

interface Given {
  readonly at: URL;
  /** Observes the service from outside: the status of a request with a host name and of a handshake. */
  status(host: string): Promise<number>;
  handshake(options?: object): Promise<number>;
  apply(section: string, changes: object): ReturnType<Configuration["apply"]>;
  value(section: string): Record<string, unknown>;
}

async function running(visit: (given: Given) => Promise<void>): Promise<void> {
  await withKernel(
    list(),
    async ({
      kernel: {
        services: {
          editor: own,
          http: { addresses },
        },
      },
    }) => {
      const [at] = addresses() as [URL];
      const value = (section: string): Record<string, unknown> =>
        own.describe().find((each) => each.section === section)!.value as Record<string, unknown>;
      await visit({
        at,
        value,
        apply: (section, changes) =>
          own.apply(section, { ...(config as Record<string, object>)[section], ...changes }),
        status: (host) =>
          new Promise((resolve, reject) => {
            get({ port: at.port, path: "/login", headers: { host }, agent: false }, (answer) => {
              resolve(answer.resume().statusCode!);
            }).on("error", reject);
          }),
        handshake: (options) =>
          connectTestClient(new URL("pico", at), { token: testTokens.pico, ...options }).then(
            async (client) => (await client.settled(), 101),
            ({ details }: { details: { status: number } }) => details.status,
          ),
      });
    },
    { config },
  );
}

describe("setting that applies immediately", () => {
  test("updates the allowed hosts of the dashboard", () =>
    running(async ({ status, apply }) => {
      expect(await status("door.example.org")).toBe(403);
      expect(await apply("launcher", { allowed_hosts: ["door.example.org"] })).toEqual({
        now: ["allowed_hosts"],
        afterRestart: [],
      });
      expect(await status("door.example.org")).toBe(200);
    }));

  test("updates the trusted proxies", () =>
    running(async ({ at, apply }) => {
      const secure = async (): Promise<boolean> => {
        const answer = await fetch(new URL("login", at), {
          method: "POST",
          body: JSON.stringify({ token: testTokens.launcher }),
          headers: {
            "content-type": "application/json",
            "x-forwarded-proto": "https",
            connection: "close",
          },
        });
        return /; Secure/i.test(answer.headers.get("set-cookie") ?? "");
      };
      expect(await secure()).toBe(false);
      expect(await apply("launcher", { trusted_proxies: ["127.0.0.1"] })).toEqual({
        now: ["trusted_proxies"],
        afterRestart: [],
      });
      expect(await secure()).toBe(true);
    }));

  test("updates the connection limit and the origins of the channel", () =>
    running(async ({ handshake, apply }) => {
      expect([await handshake(), await handshake()]).toEqual([101, 503]);
      const changes = { max_connections: 3, allow_origins: ["https://app.example.org"] };
      const { now, afterRestart } = await apply("channels.pico", changes);
      expect([new Set(now), afterRestart]).toEqual([new Set(Object.keys(changes)), []]);
      expect(await handshake()).toBe(101);
      expect(await handshake({ headers: { origin: "https://evil.example" } })).toBe(403);
    }));
});

describe("setting that needs a restart", () => {
  test("stays without effect until then and is reported", () =>
    running(async ({ at, apply, status }) => {
      const changes = { port: 1, public: true, base_path: "/door", session_days: 1 };
      // The host option `host` overrides the setting.
      expect(await apply("launcher", changes)).toEqual({
        now: ["session_days"],
        afterRestart: ["port", "base_path"],
      });
      expect(await apply("gateway", { port: 1 })).toEqual({ now: [], afterRestart: ["port"] });
      expect(await status(at.host)).toBe(200);
    }));

  test("checks certificates before accepting them", async () => {
    const folder = await mkdtemp(join(tmpdir(), "doorward-tls-"));
    try {
      const { cert, key } = selfSigned();
      const [certFile, keyFile] = [join(folder, "cert.pem"), join(folder, "key.pem")];
      await writeFile(certFile, cert);
      await running(async ({ apply, value }) => {
        const tls = { cert: certFile, key: keyFile };
        const { code, message } = await rejection(apply("launcher", { tls }));
        expect([code, message]).toEqual(["HTTP_TLS_UNREADABLE", expect.stringContaining(keyFile)]);
        await writeFile(keyFile, "no key");
        expect((await rejection(apply("launcher", { tls }))).code).toBe("HTTP_TLS_UNREADABLE");
        expect(value("launcher")["tls"]).toBeUndefined();
        await writeFile(keyFile, key);
        expect((await apply("launcher", { tls })).afterRestart).toEqual(["tls"]);
      });
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});

describe("rejected change", () => {
  test.each([
    ["launcher", { session_days: 0, trusted_proxies: ["127.0.0.1"] }, "launcher.session_days"],
    ["launcher", { session_days: 1, base_path: "door/../" }, "launcher.base_path"],
    ["launcher", { sesion_days: 1 }, 'Did you mean "session_days"'],
    ["channels.pico", { max_connections: 0, enabled: false }, "channels.pico.max_connections"],
    ["gateway", { port: 70_000 }, "gateway.port"],
  ])("keeps all old values and reports the problem: %s %j", (section, changes, words) =>
    running(async ({ apply, value }) => {
      const before = structuredClone(value(section));
      expect((await rejection(apply(section, changes))).message).toContain(words);
      expect(value(section)).toEqual(before);
    }),
  );
});

test("keeps the port of a server of the host", async () => {
  const server = createServer();
  await withKernel([memoryTokens(), http({ server }), editor], async ({ kernel: { services } }) => {
    expect(
      await services.editor.apply("launcher", { port: 1, public: true, base_path: "/door" }),
    ).toEqual({ now: [], afterRestart: ["base_path"] });
    expect(server.listening).toBe(false);
  });
});
