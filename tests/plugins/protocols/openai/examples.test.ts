// Runs the examples of docs/doors.md and the snippets of the page Clients as they are.
import { execFile } from "node:child_process";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { protocolSnippets } from "../../../../plugins/dashboard/shared/protocol-snippets.ts";
import { placeholderOf } from "../../../../plugins/dashboard/shared/token-rules.ts";
import { read } from "../../../rules/source.ts";
import { findTool } from "../../../support/tools.ts";
import { drivers, startOpenai, tokens, type Service } from "./harness.ts";

const run = promisify(execFile);
const clients = fileURLToPath(new URL("../../../clients", import.meta.url));
const curl = findTool("curl");
const languages = { sh: curl, python: drivers.Python, js: drivers.npm };

let service: Service;
beforeAll(async () => {
  service = await startOpenai();
});
afterAll(() => service[Symbol.asyncDispose]());

/** The code blocks of the guide in a language, without their indentation. */
const blocks = (language: string): string[] =>
  [...read("docs/doors.md").matchAll(new RegExp(`\`\`\`${language}\n([^]*?)\`\`\``, "g"))].map(
    ([, code = ""]) => code.replace(/^ {3}/gm, ""),
  );

/** Runs a program from a shell in which the libraries are found. */
async function shell(script: string): Promise<string> {
  const python = drivers.Python?.[0];
  const folders = [...(python ? [dirname(python)] : []), dirname(process.execPath)];
  const path = [...folders, process.env["PATH"]].join(":");
  const env = { ...process.env, PATH: path, TOKEN: tokens.openai };
  const { stdout } = await run("/bin/sh", ["-c", script], { cwd: clients, env });
  return stdout;
}

const atService = (code: string): string =>
  code.replaceAll("http://127.0.0.1:18800/v1", service.base);

describe("docs/doors.md", () => {
  test.skipIf(!languages.sh)("has a curl command that works", async () => {
    const code = blocks("sh").find((block) => block.includes("curl"))!;
    expect(await shell(atService(code))).toContain('"content":"you said hello"');
  });

  test.skipIf(!languages.python)("has Python code that works", async () => {
    const [code = ""] = blocks("python");
    const program = `TOKEN = "${tokens.openai}"\n${atService(code)}`;
    expect(await shell(`python3 - <<'END'\n${program}\nEND`)).toBe("you said hello");
  });

  test.skipIf(!languages.js)("has JavaScript code that works", async () => {
    const [code = ""] = blocks("js");
    const program = `const TOKEN = "${tokens.openai}";\n${atService(code)}`;
    expect(await shell(`node --input-type=module <<'END'\n${program}\nEND`)).toBe("you said hello");
  });
});

describe("snippet of the page Clients", () => {
  test.each([
    ["openai-curl", languages.sh],
    ["openai-python", languages.python],
    ["openai-node", languages.js],
  ] as const)("%s works", async (id, needed) => {
    if (!needed) return;
    const list = protocolSnippets({ name: "openai", url: service.base });
    const { code } = list.find((snippet) => snippet.id === id)!;
    expect(await shell(code.replace(placeholderOf("openai"), tokens.openai))).toContain(
      "you said hello",
    );
  });
});
