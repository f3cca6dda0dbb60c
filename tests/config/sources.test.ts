import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { fromEnvironment, fromFiles } from "../../config/index.ts";
import { createKernel } from "../../kernel/index.ts";
import { createCapturedLog, withKernel } from "../../kernel/testing.ts";
import { channels } from "../../plugins/channels/index.ts";
import { http } from "../../plugins/http/index.ts";
import { picoServer } from "../../plugins/pico-server/index.ts";
import { tokenStore, type TokenBackend } from "../../plugins/token-store/index.ts";
import { codeFrom, rejection } from "../support/sample-plugins.ts";
import { storeFormConformance } from "../conformance/token-store.ts";

let home: string;
beforeEach(async () => void (home = await mkdtemp(join(tmpdir(), "doorward-sources-"))));
afterEach(() => rm(home, { recursive: true, force: true }));

const plugins = (tokens: TokenBackend) =>
  [tokenStore(tokens), channels(), http({ port: 0 }), picoServer({ enabled: false })] as const;
const token = "correct-horse-battery-staple";

describe("fromEnvironment", () => {
  test("reads tokens and settings from the variables of the brand", async () => {
    const given = fromEnvironment(
      {
        ACME_CHANNELS_PICO_TOKEN: ` ${token} `,
        ACME_CHANNELS_PICO_ENABLED: "true",
        SERVICE_CHANNELS_PICO_TOKEN: "another",
      },
      { brand: "acme" },
    );
    const list = plugins(given.tokens);
    const { config } = await given.load(list);
    await withKernel(
      list,
      async ({ kernel: { services } }) => {
        expect(services.picoServer.status().enabled).toBe(true);
        expect(services.tokens.info("pico")).toMatchObject({ source: "env", managedByEnv: true });
        expect(await services.tokens.verify("pico", token)).toBe(1);
        const { message } = await rejection(services.tokenSecrets.replace("pico", { expect: 1 }));
        expect(message).toContain("ACME_CHANNELS_PICO_TOKEN");
      },
      { config },
    );
  });

  test("rejects an invalid value and warns about a misspelt variable", async () => {
    const bad = fromEnvironment({ SERVICE_CHANNELS_PICO_ENABLED: "maybe" });
    expect(await codeFrom(bad.load(plugins(bad.tokens)))).toBe("ENV_BAD_VALUE");
    const odd = fromEnvironment({ SERVICE_CHANNELS_PICO_ENABLE: "true" });
    expect((await odd.load(plugins(odd.tokens))).warnings.join()).toContain(
      "SERVICE_CHANNELS_PICO_ENABLED",
    );
  });

  describe("tokens", () => {
    storeFormConformance((tokens) => {
      const variables = Object.entries(tokens).map(([name, value]) => {
        const middle = name === "launcher" || name === "metrics" ? "" : "CHANNELS_";
        return [`SERVICE_${middle}${name.toUpperCase()}_TOKEN`, value];
      });
      return fromEnvironment(Object.fromEntries(variables) as Record<string, string>).tokens;
    });
  });
});

describe("fromFiles", () => {
  test("reads the home and lets a passed environment override it", async () => {
    await writeFile(
      join(home, "config.json"),
      '{ "channels": { "pico": { "enabled": true, "max_connections": 7 } } }',
    );
    await writeFile(join(home, ".security.yml"), `channels:\n  pico:\n    token: ${token}\n`, {
      mode: 0o600,
    });
    for (const [env, expected] of [
      [{}, 7],
      [{ SERVICE_CHANNELS_PICO_MAX_CONNECTIONS: "8" }, 8],
    ] as const) {
      const given = fromFiles(home, { env });
      const list = plugins(given.tokens);
      const { config, warnings } = await given.load(list);
      expect(warnings).toEqual([]);
      await withKernel(
        list,
        async ({ kernel: { services } }) => {
          expect(services.picoServer.status().maxConnections).toBe(expected);
          expect(services.tokens.info("pico").source).toBe("security");
        },
        { config },
      );
    }
  });

  test("leaves an empty home empty until the first write", async () => {
    const given = fromFiles(home);
    const list = plugins(given.tokens);
    const kernel = createKernel(list, {
      ...(await given.load(list)),
      log: createCapturedLog().log,
    });
    await kernel.start();
    expect(await readdir(home)).toEqual([]);
    await kernel.services.tokenSecrets.replace("pico", { expect: 0 });
    expect(await readdir(home)).toContain(".security.yml");
    await kernel.stop();
  });
});
