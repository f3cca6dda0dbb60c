// Tests that file, applied value and etag agree after conflicts and failures.
import { writeFileSync } from "node:fs";
import { mkdir, readFile, rm } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { load } from "../../../config/load/index.ts";
import { settings } from "../../../plugins/settings/index.ts";
import { codeFrom, gate } from "../../support/sample-plugins.ts";
import { withHome } from "../../support/token-store-harness.ts";
import { withSettings, type Pico } from "./settings-fixture.ts";

describe("etag", () => {
  test("rejects an update with an outdated etag", () =>
    withHome((home) =>
      withSettings(home, async ({ settings: service, running, etag }) => {
        const seen = await etag("channels.pico");
        await service.update("channels.pico", { limit: 6 }, seen);
        expect(await codeFrom(service.update("channels.pico", { limit: 7 }, seen))).toBe(
          "etag_mismatch",
        );
        expect(running().limit).toBe(6);
      }),
    ));

  test("changes with a manual edit of the file", () =>
    withHome((home) =>
      withSettings(home, async ({ settings: service, running, etag }) => {
        const seen = await etag("channels.pico");
        await home.write("config.json", { channels: { pico: { limit: 50 } } });
        expect(await codeFrom(service.update("channels.pico", { enabled: true }, seen))).toBe(
          "etag_mismatch",
        );
        expect(running().enabled).toBe(false);
        await service.update("channels.pico", { enabled: true }, await etag("channels.pico"));
        expect(running()).toMatchObject({ enabled: true, limit: 50 });
      }),
    ));

  test("covers one section without its tokens", () =>
    withHome((home) =>
      withSettings(home, async ({ settings: service, etag }) => {
        const [pico, launcher] = [await etag("channels.pico"), await etag("launcher")];
        await service.update("channels.pico", { limit: 6 }, pico);
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

  test("accepts one of several parallel updates of a section", () =>
    withHome((home) =>
      withSettings(home, async ({ settings: service, events, running, etag }) => {
        const seen = await etag("channels.pico");
        const results = await Promise.allSettled(
          [6, 7, 8].map((limit) => service.update("channels.pico", { limit }, seen)),
        );
        expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected"]);
        expect(running().limit).toBe(6);
        expect(JSON.parse(await readFile(home.at("config.json"), "utf8"))).toEqual({
          channels: { pico: { limit: 6 } },
        });
        expect(events).toHaveLength(1);
      }),
    ));

  test("accepts parallel updates of two sections", () =>
    withHome((home) =>
      withSettings(home, async ({ settings: service, etag }) => {
        const [pico, launcher] = [await etag("channels.pico"), await etag("launcher")];
        await Promise.all([
          service.update("channels.pico", { limit: 6 }, pico),
          service.update("launcher", { title: "New" }, launcher),
        ]);
        expect((await service.describe()).map(({ value }) => value)).toEqual([
          { enabled: false, limit: 6, secret_path: "" },
          { title: "New", host: "127.0.0.1" },
        ]);
      }),
    ));
});

describe("Settings.describe during a change", () => {
  test("never combines a new etag with older values", () =>
    withHome(async (home) => {
      const { sources } = await load([], { home: home.path, env: {} });
      let running = 6;
      const configuration = {
        apply: async () => ({ now: [], afterRestart: [] }),
        describe() {
          const value = { limit: running };
          running = 9; // another process changes the file at this moment
          writeFileSync(
            home.at("config.json"),
            JSON.stringify({ channels: { pico: { limit: running } } }),
          );
          return [{ section: "channels.pico", schema: {}, value }];
        },
      };
      const ends: (() => void)[] = [];
      const scope = {
        configuration,
        emit: () => undefined,
        on: () => undefined,
        onStop: (end: () => void) => void ends.push(end),
        random: (bytes: number) => new Uint8Array(bytes),
      };
      const { settings: service } = await settings(sources).start(scope as never);
      running = 6;
      try {
        expect(await service.describe()).toEqual(await service.describe());
      } finally {
        for (const end of ends) end();
      }
    }));
});

describe("Settings.update with a failing write", () => {
  test("undoes the applied change", () =>
    withHome(async (home) => {
      const applied: boolean[] = [];
      const beforeChange = async ({ enabled }: Pico): Promise<void> => {
        applied.push(enabled);
        // The file becomes a directory between change and write, so the write fails.
        if (enabled) await mkdir(home.at("config.json"));
      };
      await withSettings(
        home,
        async ({ settings: service, events, running, etag }) => {
          expect(
            await codeFrom(
              service.update("channels.pico", { enabled: true }, await etag("channels.pico")),
            ),
          ).toBe("store_unavailable");
          expect(applied).toEqual([true, false]);
          expect(running().enabled).toBe(false);
          expect(events).toEqual([]);
        },
        { beforeChange },
      );
    }));

  test("undoes the change before the next update begins", () =>
    withHome(async (home) => {
      const order: string[] = [];
      const back = gate();
      let failed = false;
      const beforeChange = async ({ enabled, limit }: Pico): Promise<void> => {
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
        async ({ settings: service, running, etag }) => {
          const seen = await etag("channels.pico");
          const first = codeFrom(service.update("channels.pico", { enabled: true }, seen));
          const second = service.update("channels.pico", { limit: 6 }, seen);
          setImmediate(back.open);
          expect(await first).toBe("store_unavailable");
          await second;
          expect(order).toEqual(["true 5", "false 5", "false 6"]);
          expect(running()).toMatchObject({ enabled: false, limit: 6 });
          expect(JSON.parse(await readFile(home.at("config.json"), "utf8"))).toEqual({
            channels: { pico: { limit: 6 } },
          });
        },
        { beforeChange },
      );
    }));

  test("leaves a corrupt file unchanged", () =>
    withHome((home) =>
      withSettings(home, async ({ settings: service, running, etag }) => {
        const seen = await etag("channels.pico");
        await home.write("config.json", "{ broken");
        expect(await codeFrom(service.update("channels.pico", { enabled: true }, seen))).toBe(
          "FILE_CORRUPT",
        );
        expect(await readFile(home.at("config.json"), "utf8")).toBe("{ broken");
        expect(running().enabled).toBe(false);
      }),
    ));
});
