import { describe, expect, test } from "vitest";
import { parseArguments, usage, UsageError } from "../../bin/arguments.ts";
import { commands } from "../../bin/commands/index.ts";

const parse = (line: string) => parseArguments(line.split(" ").filter(Boolean), commands);
const plain = { command: "launch", console: false, browser: true, debug: false };

describe("parseArguments", () => {
  test.each([
    ["", plain],
    ["-console", { ...plain, console: true }],
    ["--console --debug", { ...plain, console: true, debug: true }],
    ["-port 8080 -host 10.0.0.1 -public", { ...plain, port: 8080, host: "10.0.0.1", public: true }],
    ["-port=0 --host=::1 -public=false", { ...plain, port: 0, host: "::1", public: false }],
    ["-no-browser -no-tray", { ...plain, browser: false, tray: false }],
    ["-workers 4", { ...plain, workers: "4" }],
    ["-tray my/config.json", { ...plain, tray: true, config: "my/config.json" }],
    ["./token", { ...plain, config: "./token" }],
    ["-version", { ...plain, command: "version" }],
    ["version", { ...plain, command: "version" }],
    ["help", { ...plain, browser: false, command: "help" }],
    ["help run", { ...plain, browser: false, command: "help", about: "run" }],
    ["run -help", { ...plain, browser: false, command: "help", about: "run" }],
    ["help token", { ...plain, browser: false, command: "help", about: "token" }],
    ["run -console -- sh -c -x", { ...plain, console: true, program: ["sh", "-c", "-x"] }],
  ])("parses %j", (line, expected) => expect(parse(line)).toEqual(expected));

  test.each([
    ["-port 65536", /"-port" takes a number/],
    ["-port", /^"-port" needs a value$/],
    ["-console=maybe", /true or false/],
    ["a.json b.json", /Name one configuration file/],
    ["-prot 1", /Did you mean "-port"/],
    ["stauts", /Did you mean "status"/],
    ["stauts -json", /Did you mean "status"/],
    ["help tokn", /"tokn" is not a command\. Did you mean "token"/],
    ["help nonsense", /^"nonsense" is not a command\.$/],
    ["-json status", /must come first: doorward status -json/],
    ["start", /To start the launcher, run: doorward/],
    ["constructor", /"constructor" is not a command\. To name/],
    ["-no-browser status", /must come first: doorward status -no-browser/],
    ["-port 1 run", /must come first: doorward run -port 1$/],
    ["run python3 agent.py", /doorward run -- python3 agent.py/],
    ["run -port 1 agent.py -x", /doorward run -port 1 -- agent.py -x/],
    ["run -console agent", /doorward run -console -- agent/],
  ])("rejects %s with a hint", (line, sentence) => {
    expect(() => parse(line)).toThrow(UsageError);
    expect(() => parse(line)).toThrow(sentence);
  });

  test.each([
    [[""], /file is empty/],
    [["run", "--", ""], /the program after two dashes/],
  ])("rejects empty words, as from unset variables: %j", (words, sentence) => {
    expect(() => parseArguments(words, commands)).toThrow(UsageError);
    expect(() => parseArguments(words, commands)).toThrow(sentence);
  });

  test("reads a command with its options and -json", () => {
    expect(parse("token rotate pico -grace 60 --json")).toMatchObject({
      command: "run",
      name: "token",
      words: ["rotate", "pico"],
      values: { grace: "60" },
      json: true,
    });
    expect(() => parse("status -console")).toThrow(/unknown option "-console"/);
  });
});

describe("usage", () => {
  test("explains run with the options of the launcher", () => {
    const text = usage(commands, "run");
    expect(text).toContain("Usage: doorward run [options] -- PROGRAM");
    expect(text).not.toContain("-workers");
    expect(text).not.toContain("token show");
  });

  test("lists each option of a command once", () => {
    for (const name of Object.keys(commands)) {
      const options = usage(commands, name).match(/^ +-[a-z-]+/gm) ?? [];
      expect(options.length, name).toBe(new Set(options).size);
    }
  });
});
