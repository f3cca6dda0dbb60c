import { chmod, chown, mkdir, rename, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { withCommandLine, type CommandLine } from "../../support/command-context.ts";
import { rejection } from "../../support/sample-plugins.ts";

/* Tests third-party plugins in a launcher, with real files in a temporary home. */

const isRoot = process.getuid?.() === 0;
const schema = (properties: object) => `{ "~standard": {
  validate: (raw) => typeof raw.port === "number" || raw.port === undefined
    ? { value: { port: 1, ...raw } } : { issues: [{ message: "Expected a number", path: ["port"] }] },
  jsonSchema: { input: () => (${JSON.stringify({ type: "object", properties })}) },
} }`;
/** Source of a channel that logs its settings and token. */
const channel = (name: string, more = "") => `export default () => ({
  name: ${JSON.stringify(name)}, api: 1, needs: { channels: true, tokens: true, tokenSecrets: true },
  config: { section: "channels.${name}", schema: ${schema({ port: { type: "integer" } })} },
  async start({ needs, config, onStop, onReady, log }) {
    const { source } = await needs.tokens.claim("${name}");
    const inlet = needs.channels.attach({ name: "${name}", send: (session, id) => ({ id, status: "written" }) });
    onStop(() => { inlet.close(); log.info({}, "${name} has stopped"); });
    onReady(() => log.info({ ...config(), source, token: needs.tokenSecrets.reveal("${name}") }, "${name} is ready"));
    ${more}
  },
});`;

async function put(desk: CommandLine, path: string, text: string): Promise<void> {
  await mkdir(dirname(join(desk.home, path)), { recursive: true });
  await writeFile(join(desk.home, path), text, { mode: 0o600 });
}
const use = (desk: CommandLine, plugins: unknown, more: object = {}) =>
  desk.write("config.json", { plugins, ...more });
const views = async (desk: CommandLine) =>
  (await desk.run("status -json")).json().plugins as Record<string, unknown>[];

describe("loadWithPlugins", () => {
  test("loads a file of the home with its settings and token", () =>
    withCommandLine(async (desk) => {
      await put(desk, "letters.js", channel("letters"));
      await use(desk, ["./letters.js"], { channels: { letters: { port: 7 } } });
      await desk.write(
        ".security.yml",
        "channels:\n  letters:\n    token: from-the-security-file\n",
      );
      const { kernel, lines } = await desk.start();
      expect(lines).toContainEqual(
        expect.objectContaining({
          text: "letters is ready",
          port: 7,
          source: "security",
          token: "from-the-security-file",
        }),
      );
      expect(kernel.health().plugins.at(-1)).toEqual({ name: "letters", phase: "ready" });
      expect(await views(desk)).toEqual([
        { name: "letters", from: "./letters.js", required: false, state: "started" },
      ]);
      expect((await desk.run("status")).out).toMatch(/^Plugin +letters: started$/m);
      const sources = (await desk.run("token source -json")).json().tokens as {
        name: string;
        source: string;
      }[];
      expect(sources.map(({ name }) => name)).toEqual([
        "launcher",
        "pico",
        "pico_client",
        "openai",
        "ai_sdk",
        "ag_ui",
        "letters",
      ]);
      expect(sources.at(-1)).toMatchObject({
        source: "security",
        variable: "SERVICE_CHANNELS_LETTERS_TOKEN",
      });
      expect((await desk.run("doctor")).out).toMatch(/letters \(\.\/letters\.js\): started/);
      await kernel.stop();
      expect(lines).toContainEqual(expect.objectContaining({ text: "letters has stopped" }));
    }));

  test("lets variables named after the section override the file", () =>
    withCommandLine(
      async (desk) => {
        await put(desk, "letters.js", channel("letters"));
        await use(desk, ["./letters.js"], { channels: { letters: { port: 7 } } });
        const { lines } = await desk.start();
        expect(lines).toContainEqual(
          expect.objectContaining({
            text: "letters is ready",
            port: 8,
            source: "env",
            token: "from-the-environment",
          }),
        );
      },
      {
        SERVICE_CHANNELS_LETTERS_PORT: "8",
        SERVICE_CHANNELS_LETTERS_TOKEN: "from-the-environment",
      },
    ));

  test("loads a package of the home that only exports for import", () =>
    withCommandLine(async (desk) => {
      const manifest = {
        name: "@ann/letters",
        type: "module",
        exports: { import: "./made/index.js" },
      };
      await put(desk, "node_modules/@ann/letters/package.json", JSON.stringify(manifest));
      await put(desk, "node_modules/@ann/letters/made/index.js", channel("letters"));
      await use(desk, [{ name: "@ann/letters", required: true }]);
      await desk.start();
      expect(await views(desk)).toMatchObject([
        { name: "letters", from: "@ann/letters", state: "started" },
      ]);
    }));

  test.each<[string, string, RegExp]>([
    ["is missing", "", /"\.\/letters\.js" is not in/],
    ["does not parse", "export default (", /cannot be loaded/],
    [
      "throws when it is loaded",
      "throw new Error('no luck');",
      /cannot be loaded: no luck \(letters\.js:1:7\)/,
    ],
    [
      "imports a missing package",
      "import 'tea-not-there';",
      /npm install --prefix \S+ tea-not-there/,
    ],
    [
      "throws in its factory",
      "export default () => { throw new Error('no luck'); };",
      /cannot be loaded: no luck/,
    ],
    ["exports no plugin", "export const letters = 1;", /default export/],
    [
      "has another API version",
      "export default { name: 'letters', api: 2, start() {} };",
      /version 2 of the pl/,
    ],
    [
      "has an invalid name",
      "export default { name: 'Letters!', api: 1, start() {} };",
      /not a plugin name/,
    ],
    [
      "has the name of a built-in plugin",
      "export default { name: 'http', api: 1, start() {} };",
      /named "http"/,
    ],
    [
      "has no schema",
      "export default { name: 'letters', api: 1, config: { section: 'x' }, start() {} };",
      /Standard/,
    ],
    [
      "needs an unknown service",
      "export default { name: 'letters', api: 1, needs: { tea: true }, start() {} };",
      /needs the service "tea"/,
    ],
    [
      "fails in its start",
      channel("letters", "throw new Error('no broker');"),
      /"letters" cannot start: no broker/,
    ],
    [
      "fails when ready",
      channel("letters", "onReady(() => { throw new Error('no broker'); });"),
      /start: no broker/,
    ],
  ])("skips a plugin that %s, unless it is required", (_, text, reason) =>
    withCommandLine(async (desk) => {
      if (text) await put(desk, "letters.js", text);
      await use(desk, ["./letters.js"]);
      const { kernel, lines } = await desk.start();
      expect(await views(desk)).toMatchObject([
        { from: "./letters.js", state: "failed", reason: expect.stringMatching(reason) },
      ]);
      expect((await desk.run("status")).out).toMatch(/^Plugin +\S+: failed: /m);
      expect((await desk.run("doctor")).out).toMatch(reason);
      expect(lines.some(({ level }) => level === "error")).toBe(true);
      await kernel.stop();

      await use(desk, [{ name: "./letters.js", required: true }]);
      expect((await rejection(desk.start())).message).toMatch(reason);
    }),
  );

  test.each<[string, object, string]>([
    ["an invalid setting", { port: "seven" }, "channels.letters.port"],
    ["an unknown setting", { prt: 7 }, 'Did you mean "port"'],
  ])("fails only the plugin for %s and names the setting", (_, letters, reason) =>
    withCommandLine(async (desk) => {
      await put(desk, "letters.js", channel("letters"));
      await use(desk, ["./letters.js"], { channels: { letters } });
      await desk.start();
      expect(await views(desk)).toMatchObject([
        { state: "failed", reason: expect.stringContaining(reason) },
      ]);
    }),
  );

  test("rejects the names of all built-in plugins", () =>
    withCommandLine(async (desk) => {
      const { kernel } = await desk.start();
      const own = kernel.health().plugins.map(({ name }) => name);
      await kernel.stop();
      for (const name of own)
        await put(desk, `${name}.js`, `export default { name: "${name}", api: 1, start() {} };`);
      await use(
        desk,
        own.map((name) => `./${name}.js`),
      );
      await desk.start();
      expect((await views(desk)).map(({ from, state }) => [from, state])).toEqual(
        own.map((name) => [`./${name}.js`, "failed"]),
      );
    }));

  test("only warns about the section of a plugin that failed", () =>
    withCommandLine(async (desk) => {
      await use(desk, ["./pica.js"], { channels: { pica: {} } });
      const { lines } = await desk.start();
      expect(lines.map(({ text }) => text)).toContainEqual(
        expect.stringContaining(
          'no plugin reads "channels.pica"; it may belong to ./pica.js, which failed',
        ),
      );
    }));

  test("redacts tokens in errors of a plugin", () =>
    withCommandLine(async (desk) => {
      const { createLauncher } = await import("../../../config/presets/launcher.ts");
      const { createCapturedLog } = await import("../../../kernel/testing.ts");
      await put(
        desk,
        "letters.js",
        channel("letters", "throw new Error(needs.tokenSecrets.reveal('letters'));"),
      );
      await use(desk, ["./letters.js"]);
      const token = "correct-horse-battery-staple";
      const env = { SERVICE_CHANNELS_LETTERS_TOKEN: token };
      const redact = (text: string): string => text.replaceAll(token, "[redacted]");
      const kernel = await createLauncher({
        home: desk.home,
        env,
        version: "0",
        log: createCapturedLog().log,
        flags: { port: 0 },
        redact,
      });
      const facts: object[] = [];
      kernel.on("kernel:fault", (fact) => void facts.push(fact));
      await kernel.start();
      expect(JSON.stringify([facts, kernel.health()])).toContain("[redacted]");
      expect(JSON.stringify([facts, kernel.health()])).not.toContain(token);
      await kernel.stop();
    }));
});

describe("readEntries", () => {
  test.each<[unknown, string]>([
    ["./letters.js", "a list of at most 50"],
    [["../letters.js"], "a file below the home"],
    [["/etc/letters.js"], "a file below the home"],
    [["./a/../../letters.js"], "a file below the home"],
    [["data:text/javascript,1"], "a file below the home"],
    [["https://example.org/letters.js"], "a file below the home"],
    [["file:///tmp/letters.js"], "a file below the home"],
    [[7], "a file below the home"],
    [[{ name: "./letters.js", require: true }], 'Did you mean "required"'],
    [[{ name: "./letters.js", required: "yes" }], "true or false"],
    [["./letters.js", "./letters.js"], "twice"],
  ])("rejects %j", (plugins, expected) =>
    withCommandLine(async (desk) => {
      await use(desk, plugins);
      expect((await rejection(desk.start())).message).toContain(expected);
    }),
  );

  test("searches for packages in the home only", () =>
    withCommandLine(async (desk) => {
      await use(desk, ["zod"]);
      await desk.start();
      expect(await views(desk)).toMatchObject([
        { reason: expect.stringContaining("npm install --prefix") },
      ]);
    }));
});

describe.skipIf(process.platform === "win32")("loadWithPlugins with files of other users", () => {
  test.each(["letters.js", "deep/letters.js", "config.json", "deep", "."])(
    "rejects a writable %s with the fix",
    (path) =>
      withCommandLine(async (desk) => {
        await put(desk, "letters.js", channel("letters"));
        await put(desk, "deep/letters.js", channel("letters"));
        await use(desk, [path.startsWith("deep") ? "./deep/letters.js" : "./letters.js"]);
        await chmod(
          join(desk.home, path),
          path.endsWith("s") || path.endsWith("n") ? 0o622 : 0o720,
        );
        const { code, message } = await rejection(desk.start());
        expect([code, message]).toEqual([
          "FILE_WRITABLE_BY_OTHERS",
          expect.stringContaining("chmod go-w "),
        ]);
        await chmod(join(desk.home, path), 0o700);
      }),
  );

  test.runIf(isRoot)("rejects a file of another user", () =>
    withCommandLine(async (desk) => {
      await put(desk, "letters.js", channel("letters"));
      await use(desk, ["./letters.js"]);
      await chown(join(desk.home, "letters.js"), 12_345, 12_345);
      expect((await rejection(desk.start())).message).toContain("chown");
    }),
  );

  test("checks the target of a symbolic link", () =>
    withCommandLine(async (desk) => {
      await put(desk, "elsewhere/letters.js", channel("letters"));
      await rename(join(desk.home, "elsewhere"), `${desk.home}-elsewhere`);
      await symlink(`${desk.home}-elsewhere/letters.js`, join(desk.home, "letters.js"));
      await chmod(`${desk.home}-elsewhere`, 0o777);
      await use(desk, ["./letters.js"]);
      expect((await rejection(desk.start())).message).toContain(`${desk.home}-elsewhere`);
    }));

  test("reports the same in the doctor without a running launcher", () =>
    withCommandLine(async (desk) => {
      await put(desk, "letters.js", channel("letters"));
      await use(desk, ["./letters.js"]);
      expect((await desk.run("doctor")).out).toContain("only you can change them");
      await chmod(join(desk.home, "letters.js"), 0o666);
      expect((await desk.run("doctor")).out).toContain("chmod go-w");
    }));
});
