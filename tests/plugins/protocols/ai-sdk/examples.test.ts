// Runs the example of docs/doors.md and the snippet of the page Clients as they are.
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { protocolSnippets } from "../../../../plugins/dashboard/shared/protocol-snippets.ts";
import { placeholderOf } from "../../../../plugins/dashboard/shared/token-rules.ts";
import { read } from "../../../rules/source.ts";
import { startAiSdk, tokens, isInstalled, type Service } from "./harness.ts";

const run = promisify(execFile);
const cwd = fileURLToPath(new URL("../../../clients", import.meta.url));

let service: Service;
beforeAll(async () => {
  service = await startAiSdk();
});
afterAll(() => service[Symbol.asyncDispose]());

/** The packages have the names of their versions in the folder of the tests. */
const withVersion = (code: string): string =>
  code.replace('"@ai-sdk/react"', '"@ai-sdk/react-7"').replace('"ai"', '"ai-7"');

test.skipIf(!isInstalled)("runs the example of the guide", async () => {
  const found = read("docs/doors.md").matchAll(/```js\n([^]*?)```/g);
  const code = [...found].map(([, text = ""]) => text).find((text) => text.includes("ai-sdk"))!;
  const program = code.replace("http://127.0.0.1:18800/ai", service.base);
  const args = ["--input-type=module", "-e", `const TOKEN = "${tokens.ai_sdk}";${program}`];
  const { stdout } = await run(process.execPath, args.map(withVersion), { cwd });
  expect(stdout).toBe("you said hello\n");
});

test.skipIf(!isInstalled)("runs the snippet of the page Clients", async () => {
  const [snippet] = protocolSnippets({ name: "ai_sdk", url: service.base });
  const code = snippet!.code.replace(placeholderOf("ai_sdk"), tokens.ai_sdk);
  const { stdout } = await run("/bin/sh", ["-c", withVersion(code)], { cwd });
  expect(stdout).toBe("you said hello\n");
});
