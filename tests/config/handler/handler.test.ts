import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { resolveHandler, parseHandler, handlerSecrets } from "../../../config/handler/index.ts";
import { temporaryFolder } from "../../lib/files/support.ts";

const file = "/home/you/.service/config.json";
const problem = (raw: unknown): string => {
  try {
    parseHandler(raw, file);
  } catch (error) {
    return (error as Error).message;
  }
  return "accepted";
};

describe("parseHandler", () => {
  test.each([[undefined], [null], ["echo"]])("returns the echo for %s", (raw) => {
    expect(parseHandler(raw, file)).toBeUndefined();
  });

  test("has defaults for everything but the command", () => {
    expect(parseHandler({ command: ["python3", "agent.py"] }, file)).toEqual({
      command: ["python3", "agent.py"],
      env: {},
      restart: "always",
      timeout_s: 120,
      stop_grace_s: 10,
      question_max_s: 0,
    });
  });

  test.each([
    [
      "ehco",
      '"handler" must be "echo", or a program and its arguments as a list: {"command": ["python3", "agent.py"]}.',
    ],
    [
      "node bot.js",
      '"handler" must be "echo", or a program and its arguments as a list: {"command":["node", "bot.js"]}.',
    ],
    [["a"], '"handler" must be "echo"'],
    [
      {},
      '"handler.command" must be a list of the program and its arguments, without shell syntax: {"command": ["python3", "agent.py"]}.',
    ],
    [{ command: "node bot.js -v" }, 'without shell syntax: {"command":["node", "bot.js", "-v"]}.'],
    [{ command: ["a", 1] }, '"handler.command.1" must be string'],
    [{ command: ["a\0"] }, '"handler.command.0" must be text without NUL'],
    [{ comand: ["a"] }, '"handler.comand" is not a setting. Did you mean "command"?'],
    [{ command: ["a"], restart: "sometimes" }, '"handler.restart" must be'],
    [{ command: ["a"], timeout_s: -1 }, '"handler.timeout_s" must be'],
    [{ command: ["a"], suggestions: [" "] }, '"handler.suggestions.0" must be one line'],
    [{ command: ["a"], suggestions: ["x".repeat(81)] }, '"handler.suggestions.0" must be'],
    [
      { command: ["a"], suggestions: ["1", "2", "3", "4", "5"] },
      '"handler.suggestions" must be a list of at most 4 texts',
    ],
    [{ command: ["a"], env: { "A B": "" } }, '"handler.env'],
  ])("rejects %j with an example", (raw, sentence) => {
    expect(problem(raw)).toContain(sentence);
  });
});

describe("handlerSecrets", () => {
  test("returns environment values that look like secrets", () => {
    expect(
      handlerSecrets({ env: { OPENAI_API_KEY: "k", MODE: "production", DB_PASSWORD: "p", N: 1 } }),
    ).toEqual(["k", "p"]);
    expect([handlerSecrets("echo"), handlerSecrets({ env: [] })]).toEqual([[], []]);
  });
});

describe.skipIf(process.platform === "win32")("resolveHandler", () => {
  function home() {
    const folder = temporaryFolder();
    const bin = join(folder, "bin");
    mkdirSync(bin, { mode: 0o755 });
    writeFileSync(join(bin, "agent"), "#!/bin/sh\n");
    chmodSync(join(bin, "agent"), 0o755);
    writeFileSync(join(folder, "config.json"), "{}");
    writeFileSync(join(folder, "agent.py"), "");
    const env = { PATH: `/nowhere:${bin}`, SERVICE_CHANNELS_PICO_TOKEN: "secret", LANG: "C" };
    const places = { home: folder, env, file: join(folder, "config.json") };
    return { folder, bin, places };
  }

  test("searches PATH and removes variables of Doorward", async () => {
    const { folder, bin, places } = home();
    expect(
      await resolveHandler({ command: ["agent", "agent.py"], env: { LANG: "de" } }, places),
    ).toMatchObject({
      kind: "program",
      options: {
        command: [join(bin, "agent"), "agent.py"],
        cwd: folder,
        env: { PATH: `/nowhere:${bin}`, LANG: "de" },
      },
    });
    expect(await resolveHandler({ command: ["./agent"], cwd: "bin" }, places)).toMatchObject({
      options: { cwd: bin },
    });
  });

  test("resolves an agent with its mode and limits", async () => {
    const { folder, bin, places } = home();
    const raw = { acp: ["agent", "acp"], mode: "plan", question_max_s: 60 };
    expect(await resolveHandler(raw, places)).toMatchObject({
      kind: "acp",
      options: {
        command: [join(bin, "agent"), "acp"],
        cwd: folder,
        mode: "plan",
        questionMaxS: 60,
      },
    });
    const given = { command: ["./agent", "acp"] as const, cwd: bin, isAcp: true };
    expect(await resolveHandler("nonsense", { ...places, given })).toMatchObject({
      kind: "acp",
      options: { command: [join(bin, "agent"), "acp"], cwd: bin },
    });
  });

  test("accepts a folder for files only outside of the home", async () => {
    const { folder, places } = home();
    const outside = temporaryFolder();
    symlinkSync(folder, join(outside, "link"));
    const mediaDir = (media_dir: string) =>
      resolveHandler({ command: ["agent"], media_dir }, places);
    expect(await mediaDir(outside)).toMatchObject({ options: { mediaDir: outside } });
    for (const wrong of [".", "bin", folder, join(outside, "link"), "/", "missing", "config.json"])
      await expect(mediaDir(wrong), wrong).rejects.toThrow(/"handler\.media_dir" must be/);
    chmodSync(outside, 0o777);
    await expect(mediaDir(outside)).rejects.toMatchObject({ code: "FILE_WRITABLE_BY_OTHERS" });
  });

  test("rejects missing and non-executable programs and missing folders", async () => {
    const { places } = home();
    await expect(resolveHandler({ command: ["agnet"] }, places)).rejects.toMatchObject({
      code: "PROGRAM_NOT_FOUND",
    });
    await expect(resolveHandler({ command: ["./agent.py"] }, places)).rejects.toThrow(/chmod \+x/);
    await expect(resolveHandler({ command: ["agent"], cwd: "away" }, places)).rejects.toThrow(
      /"handler\.cwd" must be an existing folder/,
    );
  });

  test.each([
    ["config.json", ""],
    ["its folder", "."],
    ["the program", "bin/agent"],
    ["the program's folder", "bin"],
    ["a file among its arguments", "agent.py"],
  ])("rejects a program if other users can write to %s", async (_, name) => {
    const { folder, places } = home();
    const path = name === "" ? places.file : join(folder, name);
    chmodSync(path, 0o777);
    const start = resolveHandler({ command: ["agent", "agent.py"] }, places);
    await expect(start).rejects.toMatchObject({ code: "FILE_WRITABLE_BY_OTHERS" });
    await expect(start).rejects.toThrow(`chmod go-w ${path}`);
  });

  test("prefers the command line and ignores the file", async () => {
    const { bin, places } = home();
    chmodSync(places.file, 0o666);
    const given = { command: ["./agent", "-x"] as const, cwd: bin };
    expect(
      await resolveHandler("nonsense", {
        ...places,
        given: { ...given, command: ["./agent", "-x"] },
      }),
    ).toMatchObject({
      kind: "program",
      options: {
        command: [join(bin, "agent"), "-x"],
        cwd: bin,
        timeoutS: 120,
        restart: "always",
      },
    });
  });
});
