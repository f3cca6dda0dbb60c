// Tests the files of the home: permissions, corrupt files and preserved content.
import { chmod, readFile, readdir, stat } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { files } from "../../../plugins/token-store/index.ts";
import { codeFrom } from "../../support/sample-plugins.ts";
import { withFiles, withHome, withTokens } from "../../support/token-store-harness.ts";

const token = "correct-horse-battery-staple";

describe("files", () => {
  test("creates home and secret files for the owner only", () =>
    withHome(
      async (home) => {
        await withFiles(
          home,
          {},
          { launcher: { generate: true }, pico: { generate: true } },
          () => undefined,
        );
        const mode = async (path: string): Promise<string> =>
          ((await stat(path)).mode & 0o777).toString(8);
        expect(await mode(home.path)).toBe("700");
        expect(await mode(home.at("launcher-config.json"))).toBe("600");
        expect(await mode(home.at(".security.yml"))).toBe("600");
        const ignored = (await readFile(home.at(".gitignore"), "utf8")).trim().split("\n");
        expect(ignored).toEqual([
          ".security.yml",
          "cache/",
          "launcher-config.json",
          "logs/",
          "run/",
          "state/",
        ]);
        expect((await readdir(home.path)).toSorted()).toEqual([
          ".gitignore",
          ".security.yml",
          "launcher-config.json",
        ]);
      },
      { fresh: true },
    ));

  test.each([
    ["launcher-config.json", "launcher", JSON.stringify({ launcher_token: token })],
    [".security.yml", "pico", `channels:\n  pico:\n    token: ${token}\n`],
  ])("restricts %s with a warning if other users can read it", (name, claim, content) =>
    withHome(async (home) => {
      await home.write(name, content);
      await chmod(home.at(name), 0o644);
      await withFiles(home, {}, { [claim]: {} }, async ({ lines }) => {
        expect((await stat(home.at(name))).mode & 0o777).toBe(0o600);
        const [warning] = lines.filter(({ level }) => level === "warn");
        expect(warning?.text).toContain("0644");
        expect(JSON.stringify(lines)).not.toContain(token);
      });
    }),
  );

  test.each([
    [
      "launcher-config.json",
      "launcher",
      '{\n  "port": 18800,\n  "launcher_token": \n}\n',
      /launcher-config\.json, line 4, column 1: expected a value/,
    ],
    [
      "launcher-config.json",
      "launcher",
      "",
      /launcher-config\.json, line 1, column 1: expected a JSON object/,
    ],
    [
      ".security.yml",
      "pico",
      "channels:\n  pico:\n    token: 'open\n",
      /\.security\.yml, line 4, column 1: expected/,
    ],
    [
      ".security.yml",
      "pico",
      "channels:\n  pico:\n\t token: x\n",
      /\.security\.yml, line 3, column 1: expected/,
    ],
    [
      "config.json",
      "pico",
      '{"channels": {"pico": {"token": "abc"}}',
      /config\.json, line 1, column 40: expected/,
    ],
  ])("stops the start on a corrupt %s and keeps it (%#)", (name, claim, content, message) =>
    withHome(async (home) => {
      await home.write(name, content);
      await expect(
        withFiles(home, {}, { [claim]: { generate: true } }, () => undefined),
      ).rejects.toThrow(message);
      expect(await readFile(home.at(name), "utf8")).toBe(content);
      expect(await readdir(home.path)).toEqual([name]);
    }),
  );

  test("warns about a home that other users can enter", () =>
    withHome(async (home) => {
      await chmod(home.path, 0o755);
      await withFiles(
        home,
        {},
        { launcher: { generate: true }, pico: { generate: true } },
        ({ lines }) => {
          const warnings = lines.filter(({ level }) => level === "warn").map(({ text }) => text);
          expect(warnings).toEqual([expect.stringContaining(`chmod 700 ${home.path}`)]);
        },
      );
      expect((await stat(home.path)).mode & 0o777).toBe(0o755);
    }));

  test("keeps unknown keys, comments and layout of the files", () =>
    withHome(async (home) => {
      await home.write("launcher-config.json", '{ "port": 18800,\n\t"mine": {"a": [1, 2]} }\n');
      await home.write(
        ".security.yml",
        "# mine\nchannels:\n  telegram:   # another one\n    token: 'abc' # here\n",
      );
      await withFiles(
        home,
        {},
        { launcher: { generate: true }, pico: { generate: true } },
        async ({ secrets }) => {
          const json = await readFile(home.at("launcher-config.json"), "utf8");
          expect(json).toContain('{ "port": 18800,\n\t"mine": {"a": [1, 2]}');
          expect(JSON.parse(json)).toMatchObject({
            port: 18800,
            mine: { a: [1, 2] },
            launcher_token: secrets.reveal("launcher"),
          });
          expect(await readFile(home.at(".security.yml"), "utf8")).toContain(
            "# mine\nchannels:\n  telegram:   # another one\n    token: 'abc' # here\n",
          );
        },
      );
    }));

  // No user, including root, can create a directory in /proc.
  const onLinux = { skip: process.platform !== "linux" };
  test("needs a writable home only to store a token", onLinux, async () => {
    const start = (env: Record<string, string>) =>
      withTokens(
        files({ home: "/proc/doorward", env }),
        { launcher: { generate: true } },
        ({ kernel }) => expect(kernel.state()).toBe("running"),
      );
    expect(await codeFrom(start({}))).toBe("store_unavailable");
    await start({ SERVICE_LAUNCHER_TOKEN: token });
  });

  test("stops the start if the home is a file", () =>
    withHome(async (home) => {
      await home.write("file", "not a folder");
      await expect(
        withTokens(
          files({ home: home.at("file"), env: {} }),
          { launcher: { generate: true } },
          () => undefined,
        ),
      ).rejects.toThrow("not a folder");
    }));

  test("passes every value to the secret callback", () =>
    withHome(async (home) => {
      const secretValues = new Set<string>();
      await home.write(".security.yml", `channels: {pico: {token: ${token}}}\n`);
      const backend = files({
        home: home.path,
        env: { SERVICE_CHANNELS_TELEGRAM_TOKEN: "telegram-token-here" },
        secret: (value) => void secretValues.add(value),
      });
      await withTokens(
        backend,
        { launcher: { generate: true }, pico: {}, telegram: {} },
        async ({ secrets }) => {
          await secrets.replace("pico", { value: `${token}-2`, expect: 1 });
          expect(secretValues).toEqual(
            new Set([secrets.reveal("launcher"), token, "telegram-token-here", `${token}-2`]),
          );
        },
      );
    }));
});
