// Tests manual edits of config.json while the kernel runs.
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

interface WatchFixture {
  readonly settings: Settings;
  readonly clock: StoppedClock;
  readonly events: readonly object[];
  readonly lines: readonly LogEntry[];
  running(): Config;
}
interface FixtureOptions {
  readonly env?: Environment;
  /** Runs before the change; an error rejects it. */
  readonly beforeChange?: (next: Config) => void;
  /** Only the test advances the clock. */
  readonly isClockStopped?: true;
  /** Runs after the settings were loaded and before the kernel starts. */
  readonly beforeStart?: () => Promise<unknown>;
  /** Replaces the loaded configuration. */
  readonly config?: Readonly<Record<string, unknown>>;
}
async function withWatcher(
  home: Home,
  visit: (fixture: WatchFixture) => Promise<void>,
  options: FixtureOptions = {},
): Promise<void> {
  let current: Config | undefined;
  const pico: Plugin<{ config: Config }> = {
    name: "pico",
    api: 1,
    config: { section: "channels.pico", schema },
    start({ config, onConfig }) {
      current = config();
      onConfig((next, before) => {
        options.beforeChange?.(next);
        current = next;
        return next.limit === before.limit ? undefined : { afterRestart: ["limit"] };
      });
    },
  };
  const { config, sources } = await load([pico], { home: home.path, env: options.env ?? {} });
  await options.beforeStart?.();
  const events: object[] = [];
  await withKernel(
    [settings(sources), pico],
    async ({ kernel, lines, clock }) => {
      for (const type of ["settings:changed", "settings:rejected"] as const) {
        kernel.on(type, (event) => void events.push({ type, ...event }));
      }
      const ticking = setInterval(() => options.isClockStopped ?? clock.increment(1_000), 50);
      try {
        await visit({
          clock,
          settings: kernel.services.settings,
          events,
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

const pico = (section: object, more: object = {}): object => ({
  ...more,
  channels: { pico: section },
});
/** Replaces the file atomically: reading a half-written file would add a rejection. */
async function replace(home: Home, content: string | object): Promise<void> {
  await home.write("config.json.new", content);
  await rename(home.at("config.json.new"), home.at("config.json"));
}
const eventually = (check: () => unknown): Promise<unknown> =>
  vi.waitFor(check, { timeout: 20_000, interval: 20 });

describe("watchSettingsFiles", () => {
  test("applies an edit and logs fields that need a restart", () =>
    withHome(async (home) => {
      await withWatcher(home, async ({ events, running, lines }) => {
        await replace(home, pico({ enabled: true, limit: 7, token: "correct-horse-battery" }));
        await eventually(() => expect(running()).toEqual({ enabled: true, limit: 7 }));
        await eventually(() =>
          expect(events).toEqual([
            { type: "settings:changed", section: "channels.pico", keys: "enabled,limit" },
          ]),
        );
        expect(lines.find(({ text }) => /took effect/.test(text))).toMatchObject({
          now: ["enabled"],
          afterRestart: ["limit"],
        });
      });
    }));

  test("applies edits that rename a new file into place", () =>
    withHome(async (home) => {
      await home.write("config.json", pico({ limit: 6 }));
      await withWatcher(home, async ({ running }) => {
        for (const limit of [7, 8]) {
          await replace(home, pico({ limit }));
          await eventually(() => expect(running().limit).toBe(limit));
        }
      });
    }));

  test.each([
    ["a syntax error", "{", /line 1, column 2/],
    [
      "an invalid value",
      JSON.stringify(pico({ enabled: true, limit: 1_000 })),
      /channels\.pico\.limit/,
    ],
    ["an unknown setting", JSON.stringify(pico({ enabeld: true })), /did you mean/i],
    [
      "a section that is not an object",
      JSON.stringify({ channels: { pico: true } }),
      /must be an object/,
    ],
  ])("rejects %s once and applies the fixed file", (_, text, reason) =>
    withHome(async (home) => {
      await home.write("config.json", pico({ limit: 6 }));
      await withWatcher(home, async ({ events, running, lines }) => {
        await replace(home, text);
        await eventually(() =>
          expect(events).toEqual([
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
        expect(lines.filter(({ text: line }) => /rejected an edit/.test(line))).toHaveLength(1);
      });
    }),
  );

  test("keeps the last valid settings if the file is removed", () =>
    withHome(async (home) => {
      await home.write("config.json", pico({ limit: 6 }));
      await withWatcher(home, async ({ events, running }) => {
        await unlink(home.at("config.json"));
        await eventually(() =>
          expect(events).toContainEqual({
            type: "settings:rejected",
            section: "channels.pico",
            message: expect.stringMatching(/missing/),
          }),
        );
        expect(running().limit).toBe(6);
      });
    }));

  test("retries an edit until the plugin accepts it", () =>
    withHome(async (home) => {
      let ready = false;
      const beforeChange = (): void => {
        if (!ready) throw new Error("not now");
      };
      await withWatcher(
        home,
        async ({ events, running }) => {
          await replace(home, pico({ enabled: true }));
          await eventually(() => expect(events).toHaveLength(1));
          ready = true;
          await eventually(() => expect(running().enabled).toBe(true));
        },
        { beforeChange },
      );
    }));

  test("retries rejected edits with one timer per section", () =>
    withHome(async (home) => {
      let attempts = 0;
      const beforeChange = (): void => {
        attempts += 1;
        throw new Error("not now");
      };
      await withWatcher(
        home,
        async ({ settings: service, clock }) => {
          for (const limit of [11, 12, 13, 14]) {
            const before = attempts;
            await replace(home, pico({ limit }));
            await eventually(() => expect(attempts).toBeGreaterThan(before));
          }
          const before = attempts;
          clock.increment(2_000);
          const [section] = await service.describe();
          await service
            .update("channels.pico", { limit: 20 }, section!.etag)
            .catch(() => undefined);
          expect(attempts - before).toBe(2);
        },
        { beforeChange, isClockStopped: true },
      );
    }));

  test("emits settings:changed without keys if a rejected edit is undone", () =>
    withHome(async (home) => {
      await home.write("config.json", pico({ limit: 6 }));
      await withWatcher(home, async ({ settings: service, events }) => {
        await replace(home, pico({ limit: 1_000 }));
        await eventually(() => expect(events).toHaveLength(1));
        await replace(home, pico({ limit: 6 }));
        await eventually(() =>
          expect(events.slice(1)).toEqual([
            { type: "settings:changed", section: "channels.pico", keys: "" },
          ]),
        );
        expect((await service.describe())[0]!.problem).toBeUndefined();
      });
    }));

  test("never overrides a value from the environment", () =>
    withHome(async (home) => {
      await withWatcher(
        home,
        async ({ running }) => {
          await home.write("config.json", pico({ enabled: true, limit: 9 }));
          await eventually(() => expect(running()).toEqual({ enabled: true, limit: 33 }));
        },
        { env: { SERVICE_CHANNELS_PICO_LIMIT: "33" } },
      );
    }));

  test("emits one event for an update and one for an edit", () =>
    withHome(async (home) => {
      await withWatcher(home, async ({ settings: service, events, running }) => {
        const [section] = await service.describe();
        await service.update("channels.pico", { limit: 8 }, section!.etag);
        await replace(home, pico({ limit: 9 }));
        await eventually(() => expect(running().limit).toBe(9));
        await eventually(() => expect(events).toHaveLength(2));
      });
    }));

  test("applies an edit made between load and start", () =>
    withHome(async (home) => {
      await home.write("config.json", pico({ limit: 6 }));
      const beforeStart = (): Promise<void> => replace(home, pico({ limit: 7, enabled: true }));
      await withWatcher(
        home,
        async ({ events, running }) => {
          await eventually(() => expect(running()).toEqual({ enabled: true, limit: 7 }));
          await eventually(() =>
            expect(events).toEqual([
              { type: "settings:changed", section: "channels.pico", keys: "enabled,limit" },
            ]),
          );
        },
        { beforeStart },
      );
    }));

  test.each([
    [
      "an invalid new file",
      undefined,
      (home: Home) => replace(home, pico({ limit: 1_000 })),
      /channels\.pico\.limit/,
    ],
    ["a syntax error", pico({ limit: 6 }), (home: Home) => replace(home, "{"), /line 1, column 2/],
    [
      "a missing file",
      pico({ limit: 6 }),
      (home: Home) => unlink(home.at("config.json")),
      /missing/,
    ],
  ])("reports %s from an edit before the start", (_, first, edit, reason) =>
    withHome(async (home) => {
      if (first) await home.write("config.json", first);
      await withWatcher(
        home,
        async ({ events, running }) => {
          await eventually(() =>
            expect(events).toEqual([
              {
                type: "settings:rejected",
                section: "channels.pico",
                message: expect.stringMatching(reason),
              },
            ]),
          );
          expect(running().limit).toBe(first ? 6 : 5);
        },
        { beforeStart: () => edit(home) },
      );
    }),
  );

  test("keeps values from the host until the file is edited", () =>
    withHome(async (home) => {
      await home.write("config.json", pico({ limit: 6 }));
      await withWatcher(
        home,
        async ({ events, running }) => {
          expect(running().limit).toBe(50);
          await replace(home, pico({ limit: 7 }));
          await eventually(() => expect(running().limit).toBe(7));
          await eventually(() => expect(events).toHaveLength(1));
        },
        { config: { "channels.pico": { limit: 50 } } },
      );
    }));
});
