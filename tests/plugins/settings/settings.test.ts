import { writeFileSync } from "node:fs";
import { mkdir, readFile, readdir, rm, stat } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { load, type Environment } from "../../../config/load/index.ts";
import type { Plugin } from "../../../kernel/index.ts";
import { withKernel, type LogEntry } from "../../../kernel/testing.ts";
import { createSettings } from "../../../plugins/settings/editor.ts";
import { settings, type Settings, type SettingsEvents } from "../../../plugins/settings/index.ts";
import { codeFrom, gate, refusal } from "../../support/sample-plugins.ts";
import { withHome, type Home } from "../../support/token-store-harness.ts";

const editable = { editable: true };
const picoSchema = z.strictObject({
  enabled: z.boolean().default(false).meta(editable),
  limit: z.int().min(1).max(100).default(5).meta(editable),
  secret_path: z.string().default(""),
});
const pageSchema = z.strictObject({
  title: z.string().default("Door").meta(editable),
  host: z.string().default("127.0.0.1"),
});
type Pico = z.output<typeof picoSchema>;

interface Stand {
  readonly settings: Settings;
  readonly facts: readonly object[];
  readonly lines: readonly LogEntry[];
  /** What the pico plugin runs with at present. */
  running(): Pico;
  etag(section: string): Promise<string>;
}
interface Options {
  readonly env?: Environment;
  /** Called before the pico plugin takes a change; a throw refuses it. */
  readonly take?: (next: Pico) => void | Promise<void>;
}

async function withSettings(
  home: Home,
  visit: (stand: Stand) => Promise<void>,
  { env = {}, take }: Options = {},
): Promise<void> {
  let current: Pico | undefined;
  const pico: Plugin<{ config: Pico }> = {
    name: "pico",
    api: 1,
    config: { section: "channels.pico", schema: picoSchema },
    start({ config, onConfig }) {
      current = config();
      onConfig(async (next, before) => {
        await take?.(next);
        current = next;
        return next.limit === before.limit ? undefined : { afterRestart: ["limit"] };
      });
    },
  };
  const page: Plugin<{ config: z.output<typeof pageSchema> }> = {
    name: "page",
    api: 1,
    config: { section: "launcher", schema: pageSchema },
    start: () => undefined,
  };
  const { config, sources } = await load([pico, page], { home: home.path, env });
  const facts: object[] = [];
  await withKernel(
    [settings(sources), pico, page],
    async ({ kernel, lines }) => {
      const own = kernel.services.settings;
      for (const type of [
        "settings:changed",
        "settings:rejected",
      ] as const satisfies (keyof SettingsEvents)[]) {
        kernel.on(type, (fact) => void facts.push({ type, ...fact }));
      }
      const etag = async (section: string): Promise<string> =>
        (await own.describe()).find((each) => each.section === section)?.etag ?? "";
      await visit({ settings: own, facts, lines, running: () => current!, etag });
    },
    { config },
  );
}

const handMade = `{ "mine":   [1,2],
\t"channels": { "pico": {"enabled":false, "token": "correct-horse-battery"} },
  "handler":"echo" }
`;

describe("an update", () => {
  test("writes and applies the changed fields, and says which wait for a restart", () =>
    withHome(async (home) => {
      await withSettings(home, async ({ settings: own, facts, running, etag }) => {
        const answer = await own.update(
          "channels.pico",
          { enabled: true, limit: 6 },
          await etag("channels.pico"),
        );
        expect(answer).toMatchObject({ now: ["enabled"], afterRestart: ["limit"] });
        expect(answer.etag).toBe(await etag("channels.pico"));
        expect(running()).toEqual({ enabled: true, limit: 6, secret_path: "" });
        expect(facts).toEqual([
          { type: "settings:changed", section: "channels.pico", keys: "enabled,limit" },
        ]);
        expect(JSON.parse(await readFile(home.at("config.json"), "utf8"))).toEqual({
          channels: { pico: { enabled: true, limit: 6 } },
        });
        expect((await stat(home.at("config.json"))).mode & 0o077).toBe(0);
      });
      await withSettings(home, async ({ running }) =>
        expect(running()).toMatchObject({ enabled: true, limit: 6 }),
      );
    }));

  test("of the launcher's section goes to launcher-config.json", () =>
    withHome(async (home) => {
      await withSettings(home, async ({ settings: own, etag }) => {
        expect(
          await own.update("launcher", { title: "Mine" }, await etag("launcher")),
        ).toMatchObject({ now: [], afterRestart: ["title"] });
        expect(JSON.parse(await readFile(home.at("launcher-config.json"), "utf8"))).toEqual({
          instance: own.instance(),
          title: "Mine",
        });
        expect(await readdir(home.path)).not.toContain("config.json");
      });
    }));

  test("keeps the formatting, the unknown keys and the token of a file edited by hand", () =>
    withHome(async (home) => {
      await home.write("config.json", handMade);
      await withSettings(home, async ({ settings: own, etag }) => {
        await own.update("channels.pico", { enabled: true }, await etag("channels.pico"));
        expect(await readFile(home.at("config.json"), "utf8")).toBe(
          handMade.replace('"enabled":false', '"enabled":true'),
        );
      });
    }));

  test("without changes answers, and leaves the file as it was", () =>
    withHome(async (home) => {
      await home.write("config.json", { channels: { pico: { enabled: true } } });
      const before = await readFile(home.at("config.json"), "utf8");
      await withSettings(home, async ({ settings: own, etag }) => {
        expect(
          await own.update("channels.pico", { enabled: true }, await etag("channels.pico")),
        ).toMatchObject({ now: [], afterRestart: [] });
        expect(await readFile(home.at("config.json"), "utf8")).toBe(before);
      });
    }));

  test.each([
    [
      "secret_path",
      { secret_path: "/etc" },
      "field_not_editable",
      '"channels.pico.secret_path" cannot be changed here',
    ],
    [
      "token",
      { token: "correct-horse-battery" },
      "field_not_editable",
      '"channels.pico.token" cannot be changed here',
    ],
    ["a slip", { enabeld: true }, "invalid_setting", 'Did you mean "enabled"?'],
    ["a wrong type", { enabled: "yes" }, "invalid_setting", '"channels.pico.enabled" is not valid'],
    ["out of bounds", { limit: 0 }, "invalid_setting", '"channels.pico.limit" is not valid'],
    [
      "one of two",
      { enabled: true, limit: 101 },
      "invalid_setting",
      '"channels.pico.limit" is not valid',
    ],
    [
      "a name of objects",
      JSON.parse('{"__proto__": {"enabled": true}, "constructor": 1}'),
      "field_not_editable",
      "cannot be changed here",
    ],
  ])(
    "that may not be is refused and leaves file and value as they were: %s",
    (_, patch, code, sentence) =>
      withHome(async (home) => {
        await home.write("config.json", handMade);
        await withSettings(home, async ({ settings: own, facts, running, etag }) => {
          const error = await refusal(
            own.update("channels.pico", patch as object, await etag("channels.pico")),
          );
          expect(error.code).toBe(code);
          expect(error.message).toContain(sentence);
          expect(error.message).not.toContain("correct-horse-battery");
          expect(await readFile(home.at("config.json"), "utf8")).toBe(handMade);
          expect(running()).toEqual({ enabled: false, limit: 5, secret_path: "" });
          expect(facts).toEqual([]);
        });
      }),
  );

  test("of a section nobody has is refused", () =>
    withHome((home) =>
      withSettings(home, async ({ settings: own }) => {
        expect(await codeFrom(own.update("channels.telegram", { enabled: true }, "x"))).toBe(
          "field_not_editable",
        );
      }),
    ));

  test("of a field that the environment holds is refused, naming the variable", () =>
    withHome((home) =>
      withSettings(
        home,
        async ({ settings: own, running, etag }) => {
          expect(
            (await own.describe()).find(({ section }) => section === "channels.pico"),
          ).toMatchObject({
            managedByEnv: ["limit"],
            value: { enabled: false, limit: 7 },
          });
          const error = await refusal(
            own.update("channels.pico", { limit: 8 }, await etag("channels.pico")),
          );
          expect(error.code).toBe("invalid_setting");
          expect(error.message).toContain("SERVICE_CHANNELS_PICO_LIMIT");
          await own.update("channels.pico", { enabled: true }, await etag("channels.pico"));
          expect(running()).toMatchObject({ enabled: true, limit: 7 });
          expect(JSON.parse(await readFile(home.at("config.json"), "utf8"))).toEqual({
            channels: { pico: { enabled: true } },
          });
        },
        { env: { SERVICE_CHANNELS_PICO_LIMIT: "7" } },
      ),
    ));

  test("that a plugin refuses keeps file and value", () =>
    withHome(async (home) => {
      await home.write("config.json", handMade);
      const take = ({ enabled }: Pico): void => {
        if (enabled) throw new Error("no token yet");
      };
      await withSettings(
        home,
        async ({ settings: own, facts, running, etag }) => {
          const before = await etag("channels.pico");
          expect(await codeFrom(own.update("channels.pico", { enabled: true }, before))).toBe(
            "invalid_setting",
          );
          expect(await readFile(home.at("config.json"), "utf8")).toBe(handMade);
          expect(running().enabled).toBe(false);
          expect(facts).toEqual([]);
          expect(await own.update("channels.pico", { limit: 6 }, before)).toMatchObject({
            afterRestart: ["limit"],
          });
        },
        { take },
      );
    }));

  const missing = Object.assign(new Error("no token"), {
    name: "DoorwardError",
    code: "pico_token_missing",
  });
  test("that a plugin refuses with its own code keeps that code", () =>
    withHome((home) =>
      withSettings(
        home,
        async ({ settings: own, etag }) => {
          expect(
            await codeFrom(
              own.update("channels.pico", { enabled: true }, await etag("channels.pico")),
            ),
          ).toBe("pico_token_missing");
        },
        {
          take: () => {
            throw missing;
          },
        },
      ),
    ));
});

describe("the etag", () => {
  test("of an older look is refused, and nothing changes", () =>
    withHome((home) =>
      withSettings(home, async ({ settings: own, running, etag }) => {
        const seen = await etag("channels.pico");
        await own.update("channels.pico", { limit: 6 }, seen);
        expect(await codeFrom(own.update("channels.pico", { limit: 7 }, seen))).toBe(
          "etag_mismatch",
        );
        expect(running().limit).toBe(6);
      }),
    ));

  test("notices an edit by hand", () =>
    withHome((home) =>
      withSettings(home, async ({ settings: own, running, etag }) => {
        const seen = await etag("channels.pico");
        await home.write("config.json", { channels: { pico: { limit: 50 } } });
        expect(await codeFrom(own.update("channels.pico", { enabled: true }, seen))).toBe(
          "etag_mismatch",
        );
        expect(running().enabled).toBe(false);
        await own.update("channels.pico", { enabled: true }, await etag("channels.pico"));
        expect(running()).toMatchObject({ enabled: true, limit: 50 });
      }),
    ));

  test("belongs to one section, and says nothing about tokens", () =>
    withHome((home) =>
      withSettings(home, async ({ settings: own, etag }) => {
        const [pico, launcher] = [await etag("channels.pico"), await etag("launcher")];
        await own.update("channels.pico", { limit: 6 }, pico);
        expect(await etag("launcher")).toBe(launcher);
        const content = JSON.parse(
          await readFile(home.at("launcher-config.json"), "utf8"),
        ) as object;
        await home.write("launcher-config.json", {
          ...content,
          launcher_token: "correct-horse-battery",
          setup_pending: "0123456789abcdef",
        });
        expect(await etag("launcher")).toBe(launcher);
      }),
    ));

  test("lets one of two updates at once through, and file, value and etag are that one's", () =>
    withHome((home) =>
      withSettings(home, async ({ settings: own, facts, running, etag }) => {
        const seen = await etag("channels.pico");
        const outcomes = await Promise.allSettled(
          [6, 7, 8].map((limit) => own.update("channels.pico", { limit }, seen)),
        );
        expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected"]);
        expect(running().limit).toBe(6);
        expect(JSON.parse(await readFile(home.at("config.json"), "utf8"))).toEqual({
          channels: { pico: { limit: 6 } },
        });
        expect(facts).toHaveLength(1);
      }),
    ));

  test("lets updates of two sections at once through", () =>
    withHome((home) =>
      withSettings(home, async ({ settings: own, etag }) => {
        const [pico, launcher] = [await etag("channels.pico"), await etag("launcher")];
        await Promise.all([
          own.update("channels.pico", { limit: 6 }, pico),
          own.update("launcher", { title: "New" }, launcher),
        ]);
        expect((await own.describe()).map(({ value }) => value)).toEqual([
          { enabled: false, limit: 6, secret_path: "" },
          { title: "New", host: "127.0.0.1" },
        ]);
      }),
    ));
});

describe("a look", () => {
  test("joins no etag to values that are older: whoever saw them would overwrite a change unseen", () =>
    withHome(async (home) => {
      const { sources } = await load([], { home: home.path, env: {} });
      let running = 6;
      const own = createSettings(
        sources,
        {
          apply: async () => ({ now: [], afterRestart: [] }),
          describe() {
            const value = { limit: running };
            running = 9; // somebody else's change comes at this moment
            writeFileSync(
              home.at("config.json"),
              JSON.stringify({ channels: { pico: { limit: running } } }),
            );
            return [{ section: "channels.pico", schema: {}, value }];
          },
        },
        () => undefined,
        () => undefined,
      );
      expect(await own.describe()).toEqual(await own.describe());
    }));
});

describe("a write that fails", () => {
  test("takes back what was applied", () =>
    withHome(async (home) => {
      const taken: boolean[] = [];
      const take = async ({ enabled }: Pico): Promise<void> => {
        taken.push(enabled);
        // Between the change and the write the file becomes a folder, which nobody can replace.
        if (enabled) await mkdir(home.at("config.json"));
      };
      await withSettings(
        home,
        async ({ settings: own, facts, running, etag }) => {
          expect(
            await codeFrom(
              own.update("channels.pico", { enabled: true }, await etag("channels.pico")),
            ),
          ).toBe("store_unavailable");
          expect(taken).toEqual([true, false]);
          expect(running().enabled).toBe(false);
          expect(facts).toEqual([]);
        },
        { take },
      );
    }));

  test("is taken back before the next update begins", () =>
    withHome(async (home) => {
      const order: string[] = [];
      const back = gate();
      let failed = false;
      const take = async ({ enabled, limit }: Pico): Promise<void> => {
        order.push(`${enabled} ${limit}`);
        if (enabled) await mkdir(home.at("config.json"));
        else if (!failed) {
          failed = true;
          await rm(home.at("config.json"), { recursive: true });
          await back.promise;
        }
      };
      await withSettings(
        home,
        async ({ settings: own, running, etag }) => {
          const seen = await etag("channels.pico");
          const first = codeFrom(own.update("channels.pico", { enabled: true }, seen));
          const second = own.update("channels.pico", { limit: 6 }, seen);
          setImmediate(back.open);
          expect(await first).toBe("store_unavailable");
          await second;
          expect(order).toEqual(["true 5", "false 5", "false 6"]);
          expect(running()).toMatchObject({ enabled: false, limit: 6 });
          expect(JSON.parse(await readFile(home.at("config.json"), "utf8"))).toEqual({
            channels: { pico: { limit: 6 } },
          });
        },
        { take },
      );
    }));

  test("of a file that became corrupt changes nothing", () =>
    withHome((home) =>
      withSettings(home, async ({ settings: own, running, etag }) => {
        const seen = await etag("channels.pico");
        await home.write("config.json", "{ broken");
        expect(await codeFrom(own.update("channels.pico", { enabled: true }, seen))).toBe(
          "FILE_CORRUPT",
        );
        expect(await readFile(home.at("config.json"), "utf8")).toBe("{ broken");
        expect(running().enabled).toBe(false);
      }),
    ));
});

describe("the description", () => {
  test("has schema, value, what the environment holds and the etag of each section, and no token", () =>
    withHome(async (home) => {
      await home.write("config.json", handMade);
      await withSettings(home, async ({ settings: own }) => {
        const sections = await own.describe();
        expect(sections.map(({ section }) => section)).toEqual(["channels.pico", "launcher"]);
        expect(sections[0]).toMatchObject({
          schema: {
            properties: {
              enabled: { type: "boolean", editable: true, default: false },
              secret_path: { type: "string" },
            },
          },
          value: { enabled: false, limit: 5, secret_path: "" },
          managedByEnv: [],
          etag: expect.stringMatching(/^[0-9a-f]{16}$/),
        });
        expect(JSON.stringify(sections)).not.toContain("correct-horse-battery");
      });
    }));
});

describe("the instance", () => {
  const instanceIn = async (home: Home): Promise<unknown> => {
    const content = JSON.parse(await readFile(home.at("launcher-config.json"), "utf8")) as {
      instance: unknown;
    };
    return content.instance;
  };

  test("is made once, six hex digits, and kept", () =>
    withHome(
      async (home) => {
        let first: string | undefined;
        await withSettings(home, async ({ settings: own }) => {
          first = own.instance();
          expect(first).toMatch(/^[0-9a-f]{6}$/);
          expect(await instanceIn(home)).toBe(first);
        });
        await withSettings(home, async ({ settings: own }) => expect(own.instance()).toBe(first));
        expect((await stat(home.at("launcher-config.json"))).mode & 0o777).toBe(0o600);
      },
      { fresh: true },
    ));

  test("that is none is replaced, the rest of the file stays", () =>
    withHome(async (home) => {
      await home.write("launcher-config.json", '{"title":"Mine","instance":"../../x"}');
      await withSettings(home, async ({ settings: own }) => {
        expect(own.instance()).toMatch(/^[0-9a-f]{6}$/);
        expect(await readFile(home.at("launcher-config.json"), "utf8")).toBe(
          `{"title":"Mine","instance":"${own.instance()}"}`,
        );
      });
    }));

  // Nobody, root included, can make a folder in /proc.
  const unwritable: Home = {
    path: "/proc/doorward",
    at: (name) => `/proc/doorward/${name}`,
    write: () => Promise.reject(new Error("read-only")),
  };
  const onLinux = { skip: process.platform !== "linux" };
  test(
    "is missing where the home cannot be written, with a warning, and all else works",
    onLinux,
    () =>
      withSettings(unwritable, async ({ settings: own, lines, running, etag }) => {
        expect(own.instance()).toBeUndefined();
        expect(lines.filter(({ level }) => level === "warn")).toHaveLength(1);
        expect(
          await codeFrom(
            own.update("channels.pico", { enabled: true }, await etag("channels.pico")),
          ),
        ).toBe("store_unavailable");
        expect(running().enabled).toBe(false);
      }),
  );
});
