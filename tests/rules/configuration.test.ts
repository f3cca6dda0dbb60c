// Checks the sample configuration and docs/configuration.md against the settings of the plugins.
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { load } from "../../config/load/index.ts";
import { variablesOf } from "../../config/load/environment.ts";
import { sectionsOf } from "../../config/load/sections.ts";
import type { AnyPlugin, Section } from "../../kernel/index.ts";
import { withKernel } from "../../kernel/testing.ts";
import { backup } from "../../plugins/backup/index.ts";
import { channels } from "../../plugins/channels/index.ts";
import { conversations } from "../../plugins/conversations/index.ts";
import { dashboard } from "../../plugins/dashboard/index.ts";
import { gateway, http } from "../../plugins/http/index.ts";
import { agUi } from "../../plugins/protocols/ag-ui/index.ts";
import { aiSdk } from "../../plugins/protocols/ai-sdk/index.ts";
import { decisions } from "../../plugins/decisions/index.ts";
import { media } from "../../plugins/media/index.ts";
import { openai } from "../../plugins/protocols/openai/index.ts";
import { push } from "../../plugins/push/index.ts";
import { picoServer } from "../../plugins/pico-server/index.ts";
import { files, tokenStore } from "../../plugins/token-store/index.ts";
import { read, root, tableRows, unquoted } from "./source.ts";

/** The launcher's plugins that have settings. */
const plugins: readonly AnyPlugin[] = [
  http(),
  gateway(),
  picoServer({ enabled: false }),
  openai({ enabled: false }),
  aiSdk({ enabled: false }),
  agUi({ enabled: false }),
  dashboard(),
  conversations({ home: "" }),
  media({ home: "" }),
  decisions(),
  push(),
  backup({ home: "", places: {}, make: () => Promise.reject(new Error("not made")) }),
];
const samples = join(root, "config", "samples");
let home: string;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "doorward-samples-"));
});
afterAll(() => rm(home, { recursive: true, force: true }));

/** Section -> setting -> value, as plugins receive them. */
async function valuesIn(folder: string): Promise<Record<string, Record<string, unknown>>> {
  const { config } = await load(plugins, { home: folder, env: {} });
  const values: Record<string, Record<string, unknown>> = {};
  for (const plugin of plugins) {
    const { section, schema } = plugin.config as Section<object>;
    const known = Object.keys(sectionsOf([plugin])[0]!.properties);
    const own = Object.entries(config[section] ?? {}).filter(([key]) => known.includes(key));
    const result = schema["~standard"].validate(Object.fromEntries(own)) as {
      value?: object;
      issues?: unknown;
    };
    expect(result.issues, section).toBeUndefined();
    values[section] = { ...values[section], ...result.value };
  }
  return values;
}

describe("sample configuration", () => {
  test("contains the defaults", async () => {
    expect(await valuesIn(samples)).toEqual(await valuesIn(home));
  });

  test("contains every setting that has a default", async () => {
    const { config } = await load(plugins, { home: samples, env: {} });
    const names = (sections: Readonly<Record<string, object>>): string[] =>
      Object.entries(sections)
        .flatMap(([section, values]) => Object.keys(values).map((key) => `${section}.${key}`))
        .sort();
    expect(names(config)).toEqual(names(await valuesIn(home)));
  });

  test("contains no token, so a copy generates its own", async () => {
    const copy = join(home, "copy");
    await cp(samples, copy, { recursive: true });
    const form = files({ home: copy, env: {} });
    expect([await form.resolve("launcher"), await form.resolve("pico")]).toEqual([
      undefined,
      undefined,
    ]);
    await withKernel(
      [
        tokenStore(form),
        channels(),
        http({ port: 0 }),
        picoServer({ enabled: false }),
        dashboard(),
      ],
      ({ kernel }) => {
        expect(kernel.services.tokens.info("launcher").source).toBe("random");
      },
    );
  });
});

describe("docs/configuration.md", () => {
  const rows = tableRows(read("docs/configuration.md"), "setting");
  const cells = rows.map(
    ([setting, standard, variable]) => [unquoted(setting!), [standard, variable]] as const,
  );

  test("names every setting with its default and its variable, and no other", async () => {
    const standards = await valuesIn(home);
    const inside = (node: unknown, key: string): unknown =>
      (node as Record<string, unknown> | undefined)?.[key];
    const expected = [...variablesOf(sectionsOf(plugins), "service")].map(
      ([variable, { section, path }]) => {
        const value = path.reduce(inside, standards[section]);
        const standard = value === undefined ? "none" : `\`${JSON.stringify(value)}\``;
        return [`${section}.${path.join(".")}`, [standard, `\`${variable}\``]];
      },
    );
    expect(Object.fromEntries(cells)).toEqual(Object.fromEntries(expected));
  });
});
