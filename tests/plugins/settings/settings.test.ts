// Tests Settings: updates, description and instance.
import { readFile, readdir, stat } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { codeFrom, rejection } from "../../support/sample-plugins.ts";
import { withHome, type Home } from "../../support/token-store-harness.ts";
import { formattedByHand, withSettings, type Pico } from "./settings-fixture.ts";

describe("Settings.update", () => {
  test("applies changed fields and names those that need a restart", () =>
    withHome(async (home) => {
      await withSettings(home, async ({ settings: service, events, running, etag }) => {
        const result = await service.update(
          "channels.pico",
          { enabled: true, limit: 6 },
          await etag("channels.pico"),
        );
        expect(result).toMatchObject({ now: ["enabled"], afterRestart: ["limit"] });
        expect(result.etag).toBe(await etag("channels.pico"));
        expect(running()).toEqual({ enabled: true, limit: 6, secret_path: "" });
        expect(events).toEqual([
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

  test("writes the launcher section to launcher-config.json", () =>
    withHome(async (home) => {
      await withSettings(home, async ({ settings: service, etag }) => {
        expect(
          await service.update("launcher", { title: "Mine" }, await etag("launcher")),
        ).toMatchObject({ now: [], afterRestart: ["title"] });
        expect(JSON.parse(await readFile(home.at("launcher-config.json"), "utf8"))).toEqual({
          instance: service.instance(),
          title: "Mine",
        });
        expect(await readdir(home.path)).not.toContain("config.json");
      });
    }));

  test("keeps formatting, unknown keys and the token of the file", () =>
    withHome(async (home) => {
      await home.write("config.json", formattedByHand);
      await withSettings(home, async ({ settings: service, etag }) => {
        await service.update("channels.pico", { enabled: true }, await etag("channels.pico"));
        expect(await readFile(home.at("config.json"), "utf8")).toBe(
          formattedByHand.replace('"enabled":false', '"enabled":true'),
        );
      });
    }));

  test("leaves the file unchanged if no value changes", () =>
    withHome(async (home) => {
      await home.write("config.json", { channels: { pico: { enabled: true } } });
      const before = await readFile(home.at("config.json"), "utf8");
      await withSettings(home, async ({ settings: service, etag }) => {
        expect(
          await service.update("channels.pico", { enabled: true }, await etag("channels.pico")),
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
    ["a typing mistake", { enabeld: true }, "invalid_setting", 'Did you mean "enabled"?'],
    ["a wrong type", { enabled: "yes" }, "invalid_setting", '"channels.pico.enabled" is not valid'],
    [
      "a value out of bounds",
      { limit: 0 },
      "invalid_setting",
      '"channels.pico.limit" is not valid',
    ],
    [
      "one invalid field of two",
      { enabled: true, limit: 101 },
      "invalid_setting",
      '"channels.pico.limit" is not valid',
    ],
    [
      "names from Object.prototype",
      JSON.parse('{"__proto__": {"enabled": true}, "constructor": 1}'),
      "field_not_editable",
      "cannot be changed here",
    ],
  ])("rejects %s and changes nothing", (_, patch, code, text) =>
    withHome(async (home) => {
      await home.write("config.json", formattedByHand);
      await withSettings(home, async ({ settings: service, events, running, etag }) => {
        const error = await rejection(
          service.update("channels.pico", patch as object, await etag("channels.pico")),
        );
        expect(error.code).toBe(code);
        expect(error.message).toContain(text);
        expect(error.message).not.toContain("correct-horse-battery");
        expect(await readFile(home.at("config.json"), "utf8")).toBe(formattedByHand);
        expect(running()).toEqual({ enabled: false, limit: 5, secret_path: "" });
        expect(events).toEqual([]);
      });
    }),
  );

  test("rejects an unknown section", () =>
    withHome((home) =>
      withSettings(home, async ({ settings: service }) => {
        expect(await codeFrom(service.update("channels.telegram", { enabled: true }, "x"))).toBe(
          "field_not_editable",
        );
      }),
    ));

  test("rejects a field set by the environment and names the variable", () =>
    withHome((home) =>
      withSettings(
        home,
        async ({ settings: service, running, etag }) => {
          expect(
            (await service.describe()).find(({ section }) => section === "channels.pico"),
          ).toMatchObject({
            managedByEnv: ["limit"],
            value: { enabled: false, limit: 7 },
          });
          const error = await rejection(
            service.update("channels.pico", { limit: 8 }, await etag("channels.pico")),
          );
          expect(error.code).toBe("invalid_setting");
          expect(error.message).toContain("SERVICE_CHANNELS_PICO_LIMIT");
          await service.update("channels.pico", { enabled: true }, await etag("channels.pico"));
          expect(running()).toMatchObject({ enabled: true, limit: 7 });
          expect(JSON.parse(await readFile(home.at("config.json"), "utf8"))).toEqual({
            channels: { pico: { enabled: true } },
          });
        },
        { env: { SERVICE_CHANNELS_PICO_LIMIT: "7" } },
      ),
    ));

  test("keeps file and value if a plugin rejects the change", () =>
    withHome(async (home) => {
      await home.write("config.json", formattedByHand);
      const beforeChange = ({ enabled }: Pico): void => {
        if (enabled) throw new Error("no token yet");
      };
      await withSettings(
        home,
        async ({ settings: service, events, running, etag }) => {
          const before = await etag("channels.pico");
          expect(await codeFrom(service.update("channels.pico", { enabled: true }, before))).toBe(
            "invalid_setting",
          );
          expect(await readFile(home.at("config.json"), "utf8")).toBe(formattedByHand);
          expect(running().enabled).toBe(false);
          expect(events).toEqual([]);
          expect(await service.update("channels.pico", { limit: 6 }, before)).toMatchObject({
            afterRestart: ["limit"],
          });
        },
        { beforeChange },
      );
    }));

  const missing = Object.assign(new Error("no token"), {
    name: "DoorwardError",
    code: "pico_token_missing",
  });
  test("keeps the error code of a plugin", () =>
    withHome((home) =>
      withSettings(
        home,
        async ({ settings: service, etag }) => {
          expect(
            await codeFrom(
              service.update("channels.pico", { enabled: true }, await etag("channels.pico")),
            ),
          ).toBe("pico_token_missing");
        },
        {
          beforeChange: () => {
            throw missing;
          },
        },
      ),
    ));
});

describe("Settings.describe", () => {
  test("returns schema, value and etag of each section without tokens", () =>
    withHome(async (home) => {
      await home.write("config.json", formattedByHand);
      await withSettings(home, async ({ settings: service }) => {
        const sections = await service.describe();
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

describe("Settings.instance", () => {
  const instanceIn = async (home: Home): Promise<unknown> => {
    const content = JSON.parse(await readFile(home.at("launcher-config.json"), "utf8")) as {
      instance: unknown;
    };
    return content.instance;
  };

  test("returns six hex digits, created once", () =>
    withHome(
      async (home) => {
        let first: string | undefined;
        await withSettings(home, async ({ settings: service }) => {
          first = service.instance();
          expect(first).toMatch(/^[0-9a-f]{6}$/);
          expect(await instanceIn(home)).toBe(first);
        });
        await withSettings(home, async ({ settings: service }) =>
          expect(service.instance()).toBe(first),
        );
        expect((await stat(home.at("launcher-config.json"))).mode & 0o777).toBe(0o600);
      },
      { fresh: true },
    ));

  test("replaces an invalid instance and keeps the rest of the file", () =>
    withHome(async (home) => {
      await home.write("launcher-config.json", '{"title":"Mine","instance":"../../x"}');
      await withSettings(home, async ({ settings: service }) => {
        expect(service.instance()).toMatch(/^[0-9a-f]{6}$/);
        expect(await readFile(home.at("launcher-config.json"), "utf8")).toBe(
          `{"title":"Mine","instance":"${service.instance()}"}`,
        );
      });
    }));

  // No user, including root, can create a directory in /proc.
  const unwritable: Home = {
    path: "/proc/doorward",
    at: (name) => `/proc/doorward/${name}`,
    write: () => Promise.reject(new Error("read-only")),
  };
  const onLinux = { skip: process.platform !== "linux" };
  test("returns undefined with a warning if the home is not writable", onLinux, () =>
    withSettings(unwritable, async ({ settings: service, lines, running, etag }) => {
      expect(service.instance()).toBeUndefined();
      expect(lines.filter(({ level }) => level === "warn")).toHaveLength(1);
      expect(
        await codeFrom(
          service.update("channels.pico", { enabled: true }, await etag("channels.pico")),
        ),
      ).toBe("store_unavailable");
      expect(running().enabled).toBe(false);
    }),
  );
});
