import { rename, unlink } from "node:fs/promises";
import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { load, type Environment } from "../../../config/load/index.ts";
import type { Plugin } from "../../../kernel/index.ts";
import { withKernel, type LogEntry, type StoppedClock } from "../../../kernel/testing.ts";
import { settings, type Settings } from "../../../plugins/settings/index.ts";
import { withHome, type Home } from "../../support/token-store-harness.ts";

const schema = z.strictObject({
  enabled: z.boolean().default(false).meta({ editable: true }),
  limit: z.int().min(1).max(100).default(5).meta({ editable: true }),
});
type Config = z.output<typeof schema>;

interface Stand {
  readonly settings: Settings;
  readonly clock: StoppedClock;
  readonly facts: readonly object[];
  readonly lines: readonly LogEntry[];
  running(): Config;
}
interface Options {
  readonly env?: Environment;
  /** A throw refuses the change. */
  readonly take?: (next: Config) => void;
  /** Its clock is moved by the test alone. */
  readonly stopped?: true;
  /** After the settings were read and before the kernel starts. */
  readonly between?: () => Promise<unknown>;
  /** In place of what was read. */
  readonly config?: Readonly<Record<string, unknown>>;
}
async function withFollowing(
  home: Home,
  visit: (stand: Stand) => Promise<void>,
  options: Options = {},
): Promise<void> {
  let current: Config | undefined;
  const pico: Plugin<{ config: Config }> = {
    name: "pico",
    api: 1,
    config: { section: "channels.pico", schema },
    start({ config, onConfig }) {
      current = config();
      onConfig((next, before) => {
        options.take?.(next);
        current = next;
        return next.limit === before.limit ? undefined : { afterRestart: ["limit"] };
      });
    },
  };
  const { config, sources } = await load([pico], { home: home.path, env: options.env ?? {} });
  await options.between?.();
  const facts: object[] = [];
  await withKernel(
    [settings(sources), pico],
    async ({ kernel, lines, clock }) => {
      for (const type of ["settings:changed", "settings:rejected"] as const) {
        kernel.on(type, (fact) => void facts.push({ type, ...fact }));
      }
      const ticking = setInterval(() => options.stopped ?? clock.increment(1_000), 50);
      try {
        await visit({
          clock,
          settings: kernel.services.settings,
          facts,
          lines,
          running: () => current!,
        });
      } finally {
        clearInterval(ticking);
      }
    },
    { config: options.config ?? config },
  );
}

const pico = (settingsOfIt: object, more: object = {}): object => ({
  ...more,
  channels: { pico: settingsOfIt },
});
/** In one go: a file that is read while it is written in place is one more refusal. */
async function replace(home: Home, content: string | object): Promise<void> {
  await home.write("config.json.new", content);
  await rename(home.at("config.json.new"), home.at("config.json"));
}
const eventually = (check: () => unknown): Promise<unknown> =>
  vi.waitFor(check, { timeout: 20_000, interval: 20 });

describe("an edit of config.json by hand", () => {
  test("takes effect, and says which fields wait for a restart", () =>
    withHome(async (home) => {
      await withFollowing(home, async ({ facts, running, lines }) => {
        await replace(home, pico({ enabled: true, limit: 7, token: "correct-horse-battery" }));
        await eventually(() => expect(running()).toEqual({ enabled: true, limit: 7 }));
        await eventually(() =>
          expect(facts).toEqual([
            { type: "settings:changed", section: "channels.pico", keys: "enabled,limit" },
          ]),
        );
        expect(lines.find(({ text }) => /took effect/.test(text))).toMatchObject({
          now: ["enabled"],
          afterRestart: ["limit"],
        });
      });
    }));

  test("by renaming takes effect, and a later one too", () =>
    withHome(async (home) => {
      await home.write("config.json", pico({ limit: 6 }));
      await withFollowing(home, async ({ running }) => {
        for (const limit of [7, 8]) {
          await replace(home, pico({ limit }));
          await eventually(() => expect(running().limit).toBe(limit));
        }
      });
    }));

  test.each([
    ["corrupt", "{", /line 1, column 2/],
    [
      "no valid setting",
      JSON.stringify(pico({ enabled: true, limit: 1_000 })),
      /channels\.pico\.limit/,
    ],
    ["an unknown setting", JSON.stringify(pico({ enabeld: true })), /did you mean/i],
    ["no object", JSON.stringify({ channels: { pico: true } }), /must be an object/],
  ])(
    "that is %s changes nothing and is reported once; mending it takes effect",
    (_, text, reason) =>
      withHome(async (home) => {
        await home.write("config.json", pico({ limit: 6 }));
        await withFollowing(home, async ({ facts, running, lines }) => {
          await replace(home, text);
          await eventually(() =>
            expect(facts).toEqual([
              {
                type: "settings:rejected",
                section: "channels.pico",
                message: expect.stringMatching(reason),
              },
            ]),
          );
          expect(running()).toEqual({ enabled: false, limit: 6 });
          await replace(home, pico({ limit: 9 }));
          await eventually(() => expect(running().limit).toBe(9));
          expect(lines.filter(({ text: line }) => /refused/.test(line))).toHaveLength(1);
        });
      }),
  );

  test("that removes the file keeps the last good settings", () =>
    withHome(async (home) => {
      await home.write("config.json", pico({ limit: 6 }));
      await withFollowing(home, async ({ facts, running }) => {
        await unlink(home.at("config.json"));
        await eventually(() =>
          expect(facts).toContainEqual({
            type: "settings:rejected",
            section: "channels.pico",
            message: expect.stringMatching(/missing/),
          }),
        );
        expect(running().limit).toBe(6);
      });
    }));

  test("that a plugin refuses at first takes effect when the plugin can take it", () =>
    withHome(async (home) => {
      let ready = false;
      const take = (): void => {
        if (!ready) throw new Error("not now");
      };
      await withFollowing(
        home,
        async ({ facts, running }) => {
          await replace(home, pico({ enabled: true }));
          await eventually(() => expect(facts).toHaveLength(1));
          ready = true;
          await eventually(() => expect(running().enabled).toBe(true));
        },
        { take },
      );
    }));

  test("that is refused again and again is tried again once in two seconds, not once for each edit", () =>
    withHome(async (home) => {
      let tries = 0;
      const take = (): void => {
        tries += 1;
        throw new Error("not now");
      };
      await withFollowing(
        home,
        async ({ settings: own, clock }) => {
          for (const limit of [11, 12, 13, 14]) {
            const before = tries;
            await replace(home, pico({ limit }));
            await eventually(() => expect(tries).toBeGreaterThan(before));
          }
          const before = tries;
          clock.increment(2_000);
          const [section] = await own.describe();
          await own.update("channels.pico", { limit: 20 }, section!.etag).catch(() => undefined); // waits for its turn
          expect(tries - before).toBe(2);
        },
        { take, stopped: true },
      );
    }));

  test("that is refused and taken back is told, though nothing changed by it", () =>
    withHome(async (home) => {
      await home.write("config.json", pico({ limit: 6 }));
      await withFollowing(home, async ({ settings: own, facts }) => {
        await replace(home, pico({ limit: 1_000 }));
        await eventually(() => expect(facts).toHaveLength(1));
        await replace(home, pico({ limit: 6 }));
        await eventually(() =>
          expect(facts.slice(1)).toEqual([
            { type: "settings:changed", section: "channels.pico", keys: "" },
          ]),
        );
        expect((await own.describe())[0]!.problem).toBeUndefined();
      });
    }));

  test("cannot change what the environment holds", () =>
    withHome(async (home) => {
      await withFollowing(
        home,
        async ({ running }) => {
          await home.write("config.json", pico({ enabled: true, limit: 9 }));
          await eventually(() => expect(running()).toEqual({ enabled: true, limit: 33 }));
        },
        { env: { SERVICE_CHANNELS_PICO_LIMIT: "33" } },
      );
    }));

  test("is told apart from a change of the dashboard, which is announced once", () =>
    withHome(async (home) => {
      await withFollowing(home, async ({ settings: own, facts, running }) => {
        const [section] = await own.describe();
        await own.update("channels.pico", { limit: 8 }, section!.etag);
        await replace(home, pico({ limit: 9 }));
        await eventually(() => expect(running().limit).toBe(9));
        await eventually(() => expect(facts).toHaveLength(2));
      });
    }));

  test("that comes after the settings were read and before the start takes effect", () =>
    withHome(async (home) => {
      await home.write("config.json", pico({ limit: 6 }));
      const between = (): Promise<void> => replace(home, pico({ limit: 7, enabled: true }));
      await withFollowing(
        home,
        async ({ facts, running }) => {
          await eventually(() => expect(running()).toEqual({ enabled: true, limit: 7 }));
          await eventually(() =>
            expect(facts).toEqual([
              { type: "settings:changed", section: "channels.pico", keys: "enabled,limit" },
            ]),
          );
        },
        { between },
      );
    }));

  test.each([
    [
      "makes the file",
      undefined,
      (home: Home) => replace(home, pico({ limit: 1_000 })),
      /channels\.pico\.limit/,
    ],
    ["breaks the file", pico({ limit: 6 }), (home: Home) => replace(home, "{"), /line 1, column 2/],
    [
      "removes the file",
      pico({ limit: 6 }),
      (home: Home) => unlink(home.at("config.json")),
      /missing/,
    ],
  ])("that %s before the start and cannot be taken is told", (_, first, edit, reason) =>
    withHome(async (home) => {
      if (first) await home.write("config.json", first);
      await withFollowing(
        home,
        async ({ facts, running }) => {
          await eventually(() =>
            expect(facts).toEqual([
              {
                type: "settings:rejected",
                section: "channels.pico",
                message: expect.stringMatching(reason),
              },
            ]),
          );
          expect(running().limit).toBe(first ? 6 : 5);
        },
        { between: () => edit(home) },
      );
    }),
  );

  test("is needed for the file to win over what a host started with instead", () =>
    withHome(async (home) => {
      await home.write("config.json", pico({ limit: 6 }));
      await withFollowing(
        home,
        async ({ facts, running }) => {
          expect(running().limit).toBe(50);
          await replace(home, pico({ limit: 7 }));
          await eventually(() => expect(running().limit).toBe(7));
          await eventually(() => expect(facts).toHaveLength(1));
        },
        { config: { "channels.pico": { limit: 50 } } },
      );
    }));
});
