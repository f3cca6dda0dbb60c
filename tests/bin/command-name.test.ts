import { describe, expect, test } from "vitest";
import { commandName, withCommand } from "../../bin/command-name.ts";

const checkout = "/srv/ann/doorward/dist/bin/doorward.js";

describe("commandName", () => {
  test.each([
    ["doorward", "/usr/local/bin/doorward", "/", {}],
    ["doorward", "/opt/node_modules/doorward/dist/bin/doorward.js", "/", {}],
    ["npx doorward", "/cache/_npx/1/node_modules/.bin/doorward", "/", { npm_command: "exec" }],
    ["node dist/bin/doorward.js", checkout, "/srv/ann/doorward", {}],
    [`node ${checkout}`, checkout, "/opt", {}],
    [`node ${checkout}`, checkout, undefined, {}],
    ['node "/a b/doorward.js"', "/a b/doorward.js", "/opt", {}],
  ])("returns %s", (expected, script, cwd, env) => {
    expect(commandName({ script, env, ...(cwd && { cwd }) })).toBe(expected);
  });
});

describe("withCommand", () => {
  test("replaces the command in hints only", () => {
    const text = 'run: doorward open ("doorward help"), see npx doorward open and doorward.js run';
    expect(withCommand(text, "npx it")).toBe(
      'run: npx it open ("npx it help"), see npx doorward open and doorward.js run',
    );
    expect(withCommand("doorward: doorward is a program", "npx it")).toBe(
      "doorward: doorward is a program",
    );
    expect(withCommand("start it with: doorward\n", "npx it")).toBe("start it with: npx it\n");
    expect(withCommand("doorward", "npx it")).toBe("npx it");
  });
});
