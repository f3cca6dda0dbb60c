// Runs the completion scripts in their shells, and renders the man page.
import { execFile, spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { commands } from "../../../bin/commands/index.ts";
import { root } from "../../rules/source.ts";
import { withCommandLine } from "../../support/command-context.ts";
import { findTool } from "../../support/tools.ts";

const run = promisify(execFile);
const zsh = findTool("zsh");
const fish = findTool("fish");
const groff = findTool("groff");
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "doorward-completion-"));
  await withCommandLine(async ({ run: command }) => {
    for (const shell of ["bash", "zsh", "fish"]) {
      await writeFile(join(folder, shell), (await command(`completion ${shell}`)).out);
    }
  });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const lines = (text: string): string[] => text.split("\n").filter(Boolean);

async function completeInBash(...words: string[]): Promise<string[]> {
  const script = `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _doorward
    printf '%s\\n' "\${COMPREPLY[@]}"`;
  const args = ["--norc", "-c", script, "bash", join(folder, "bash"), "doorward", ...words];
  return lines((await run("bash", args)).stdout);
}

describe("doorward completion", () => {
  test("rejects an unknown shell", () =>
    withCommandLine(async ({ run: command }) => {
      await expect(command("completion csh")).rejects.toThrow(/Name a shell/);
    }));

  test.each([
    [["tok"], ["token"]],
    [["st"], ["stop", "status"]],
    [["--no"], ["--no-tray", "--no-browser"]],
    [["token", "r"], ["rotate"]],
    [["token", "rotate", "-g"], ["-grace"]],
    [["send", "-to"], ["-token-file"]],
    [["send", "-token-file", ""], []],
    [["client", "-url", ""], []],
    [["run", "-pu"], ["-public"]],
    [["run", "--", "-"], []],
    [
      ["completion", ""],
      ["bash", "zsh", "fish", "-json", "-debug", "-help"],
    ],
  ])("completes %j in bash", async (words, expected) => {
    expect(await completeInBash(...words)).toEqual(expected);
  });

  test("offers every command in bash", async () => {
    expect(await completeInBash("")).toEqual(expect.arrayContaining(Object.keys(commands)));
  });

  test("registers a function in an interactive bash", () => {
    const input = `source ${join(folder, "bash")}\ncomplete -p doorward\n`;
    const { stdout } = spawnSync("bash", ["--norc", "-i"], { input, encoding: "utf8" });
    expect(stdout).toContain("complete -o default -F _doorward doorward");
  });

  test.skipIf(!zsh)("describes commands and second words in zsh", async () => {
    const script = `compdef() { :; }; _files() { :; }; _describe() { print -l -- $found; }
      source "$1"; shift; words=("$@"); CURRENT=$#; _doorward`;
    const complete = async (...words: string[]) =>
      lines((await run(zsh!, ["-f", "-c", script, "zsh", join(folder, "zsh"), ...words])).stdout);
    expect(await complete("doorward", "")).toContain(
      "doctor:Check the configuration and suggest fixes",
    );
    expect(await complete("doorward", "token", "")).toContain(
      "rotate:Generate, store and print a new token",
    );
  });

  test.skipIf(!fish)("completes commands, second words and options in fish", async () => {
    const complete = async (line: string) =>
      lines(
        (
          await run(fish!, ["-c", `source ${join(folder, "fish")}; complete -C '${line}'`], {
            env: { PATH: process.env["PATH"], HOME: folder },
          })
        ).stdout,
      ).map((row) => row.split("\t")[0]);
    expect(await complete("doorward tok")).toContain("token");
    expect(await complete("doorward token ro")).toEqual(["rotate"]);
    expect(await complete("doorward send -tok")).toContain("-token-file");
  });
});

describe("man page", () => {
  test("names every command and the exit codes", async () => {
    const page = await readFile(join(root, "man", "doorward.1"), "utf8");
    for (const name of Object.keys(commands)) expect(page).toMatch(new RegExp(`\\\\fB${name}\\b`));
    expect(page).toMatch(/\.SH EXIT STATUS\n\.TP\n0\ndone\./);
  });

  test.skipIf(!groff)("renders without warnings", async () => {
    const args = ["-man", "-Tutf8", "-ww", "-P-cbou", join(root, "man", "doorward.1")];
    const { stdout, stderr } = await run(groff!, args);
    expect(stderr).toBe("");
    expect(stdout).toContain("token rotate [NAME]");
  });
});
