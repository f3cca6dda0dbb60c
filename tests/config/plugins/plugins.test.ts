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

async function put(ownership: CommandLine, path: string, text: string): Promise<void> {
  await mkdir(dirname(join(ownership.home, path)), { recursive: true });
  await writeFile(join(ownership.home, path), text, { mode: 0o600 });
}
const use = (ownership: CommandLine, plugins: unknown, more: object = {}) =>
  ownership.write("config.json", { plugins, ...more });
const views = async (ownership: CommandLine) =>
  (await ownership.run("status -json")).json().plugins as Record<string, unknown>[];

describe("loadWithPlugins", () => {
  test("loads a file of the home with its settings and token", () =>
    withCommandLine(async (ownership) => {
      await put(ownership, "letters.js", channel("letters"));
      await use(ownership, ["./letters.js"], { channels: { letters: { port: 7 } } });
      await ownership.write(
        ".security.yml",
        "channels:\n  letters:\n    token: from-the-security-file\n",
      );
      const { kernel, lines } = await ownership.start();
      expect(lines).toContainEqual(
        expect.objectContaining({
          text: "letters is ready",
          port: 7,
          source: "security",
          token: "from-the-security-file",
        }),
      );
      expect(kernel.health().plugins.at(-1)).toEqual({ name: "letters", phase: "ready" });
      expect(await views(ownership)).toEqual([
        { name: "letters", from: "./letters.js", required: false, state: "started" },
      ]);
      expect((await ownership.run("status")).out).toMatch(/^Plugin +letters: started$/m);
      const sources = (await ownership.run("token source -json")).json().tokens as {
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
      expect((await ownership.run("doctor")).out).toMatch(/letters \(\.\/letters\.js\): started/);
      await kernel.stop();
      expect(lines).toContainEqual(expect.objectContaining({ text: "letters has stopped" }));
    }));

  test("lets variables named after the section override the file", () =>
    withCommandLine(
      async (ownership) => {
        await put(ownership, "letters.js", channel("letters"));
        await use(ownership, ["./letters.js"], { channels: { letters: { port: 7 } } });
        const { lines } = await ownership.start();
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
    withCommandLine(async (ownership) => {
      const manifest = {
        name: "@ann/letters",
        type: "module",
        exports: { import: "./made/index.js" },
      };
      await put(ownership, "node_modules/@ann/letters/package.json", JSON.stringify(manifest));
      await put(ownership, "node_modules/@ann/letters/made/index.js", channel("letters"));
      await use(ownership, [{ name: "@ann/letters", required: true }]);
      await ownership.start();
      expect(await views(ownership)).toMatchObject([
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
      "has an asynchronous schema",
      channel("letters").replace("validate: (raw)", "validate: async (raw)"),
      /its schema is asynchronous/,
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
    withCommandLine(async (ownership) => {
      if (text) await put(ownership, "letters.js", text);
      await use(ownership, ["./letters.js"]);
      const { kernel, lines } = await ownership.start();
      expect(await views(ownership)).toMatchObject([
        { from: "./letters.js", state: "failed", reason: expect.stringMatching(reason) },
      ]);
      expect((await ownership.run("status")).out).toMatch(/^Plugin +\S+: failed: /m);
      expect((await ownership.run("doctor")).out).toMatch(reason);
      expect(lines.some(({ level }) => level === "error")).toBe(true);
      await kernel.stop();

      await use(ownership, [{ name: "./letters.js", required: true }]);
      expect((await rejection(ownership.start())).message).toMatch(reason);
    }),
  );

  test.each<[string, object, string]>([
    ["an invalid setting", { port: "seven" }, "channels.letters.port"],
    ["an unknown setting", { prt: 7 }, 'Did you mean "port"'],
  ])("fails only the plugin for %s and names the setting", (_, letters, reason) =>
    withCommandLine(async (ownership) => {
      await put(ownership, "letters.js", channel("letters"));
      await use(ownership, ["./letters.js"], { channels: { letters } });
      await ownership.start();
      expect(await views(ownership)).toMatchObject([
        { state: "failed", reason: expect.stringContaining(reason) },
      ]);
    }),
  );

  test("fails only the plugin whose settings have a token", () =>
    withCommandLine(
      async (ownership) => {
        const text = channel("letters").replace('"port":', '"token":{"type":"string"},"port":');
        await put(ownership, "letters.js", text);
        await use(ownership, ["./letters.js"]);
        await ownership.start();
        expect(await views(ownership)).toMatchObject([
          { state: "failed", reason: expect.stringContaining("channels.letters.token") },
        ]);
      },
      { SERVICE_CHANNELS_LETTERS_TOKEN: "from-the-environment" },
    ));

  test("rejects the names of all built-in plugins", () =>
    withCommandLine(async (ownership) => {
      const { kernel } = await ownership.start();
      const own = kernel.health().plugins.map(({ name }) => name);
      await kernel.stop();
      for (const name of own)
        await put(
          ownership,
          `${name}.js`,
          `export default { name: "${name}", api: 1, start() {} };`,
        );
      await use(
        ownership,
        own.map((name) => `./${name}.js`),
      );
      await ownership.start();
      expect((await views(ownership)).map(({ from, state }) => [from, state])).toEqual(
        own.map((name) => [`./${name}.js`, "failed"]),
      );
    }));

  test("only warns about the section of a plugin that failed", () =>
    withCommandLine(async (ownership) => {
      await use(ownership, ["./pica.js"], { channels: { pica: {} } });
      const { lines } = await ownership.start();
      expect(lines.map(({ text }) => text)).toContainEqual(
        expect.stringContaining(
          'no plugin reads "channels.pica"; it may belong to ./pica.js, which failed',
        ),
      );
    }));

  test("redacts tokens in errors of a plugin", () =>
    withCommandLine(async (ownership) => {
      const { createLauncher } = await import("../../../config/presets/launcher.ts");
      const { createCapturedLog } = await import("../../../kernel/testing.ts");
      await put(
        ownership,
        "letters.js",
        channel("letters", "throw new Error(needs.tokenSecrets.reveal('letters'));"),
      );
      await use(ownership, ["./letters.js"]);
      const token = "correct-horse-battery-staple";
      const env = { SERVICE_CHANNELS_LETTERS_TOKEN: token };
      const redact = (text: string): string => text.replaceAll(token, "[redacted]");
      const kernel = await createLauncher({
        home: ownership.home,
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
    withCommandLine(async (ownership) => {
      await use(ownership, plugins);
      expect((await rejection(ownership.start())).message).toContain(expected);
    }),
  );

  test("searches for packages in the home only", () =>
    withCommandLine(async (ownership) => {
      await use(ownership, ["zod"]);
      await ownership.start();
      expect(await views(ownership)).toMatchObject([
        { reason: expect.stringContaining("npm install --prefix") },
      ]);
    }));
});

describe.skipIf(process.platform === "win32")("loadWithPlugins with files of other users", () => {
  test.each(["letters.js", "deep/letters.js", "config.json", "deep", "."])(
    "rejects a writable %s with the fix",
    (path) =>
      withCommandLine(async (ownership) => {
        await put(ownership, "letters.js", channel("letters"));
        await put(ownership, "deep/letters.js", channel("letters"));
        await use(ownership, [path.startsWith("deep") ? "./deep/letters.js" : "./letters.js"]);
        await chmod(
          join(ownership.home, path),
          path.endsWith("s") || path.endsWith("n") ? 0o622 : 0o720,
        );
        const { code, message } = await rejection(ownership.start());
        expect([code, message]).toEqual([
          "FILE_WRITABLE_BY_OTHERS",
          expect.stringContaining("chmod go-w "),
        ]);
        await chmod(join(ownership.home, path), 0o700);
      }),
  );

  test.runIf(isRoot)("rejects a file of another user", () =>
    withCommandLine(async (ownership) => {
      await put(ownership, "letters.js", channel("letters"));
      await use(ownership, ["./letters.js"]);
      await chown(join(ownership.home, "letters.js"), 12_345, 12_345);
      expect((await rejection(ownership.start())).message).toContain("chown");
    }),
  );

  test("checks the target of a symbolic link", () =>
    withCommandLine(async (ownership) => {
      await put(ownership, "elsewhere/letters.js", channel("letters"));
      await rename(join(ownership.home, "elsewhere"), `${ownership.home}-elsewhere`);
      await symlink(`${ownership.home}-elsewhere/letters.js`, join(ownership.home, "letters.js"));
      await chmod(`${ownership.home}-elsewhere`, 0o777);
      await use(ownership, ["./letters.js"]);
      expect((await rejection(ownership.start())).message).toContain(`${ownership.home}-elsewhere`);
    }));

  test("reports the same in the doctor without a running launcher", () =>
    withCommandLine(async (ownership) => {
      await put(ownership, "letters.js", channel("letters"));
      await use(ownership, ["./letters.js"]);
      expect((await ownership.run("doctor")).out).toContain("only you can change them");
      await chmod(join(ownership.home, "letters.js"), 0o666);
      expect((await ownership.run("doctor")).out).toContain("chmod go-w");
    }));
});
