// Runs the example of docs/doors.md and the snippet of the page Clients as they are.
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { protocolSnippets } from "../../../../plugins/dashboard/shared/protocol-snippets.ts";
import { placeholderOf } from "../../../../plugins/dashboard/shared/token-rules.ts";
import { read } from "../../../rules/source.ts";
import { isInstalled, startAgUi, tokens, type Service } from "./harness.ts";

const run = promisify(execFile);
const cwd = fileURLToPath(new URL("../../../clients", import.meta.url));

let service: Service;
beforeAll(async () => {
  service = await startAgUi();
});
afterAll(() => service[Symbol.asyncDispose]());

test.skipIf(!isInstalled)("runs the example of the guide", async () => {
  const found = read("docs/doors.md").matchAll(/```js\n([^]*?)```/g);
  const code = [...found].map(([, text = ""]) => text).find((text) => text.includes("HttpAgent"))!;
  const program = code.replace("http://127.0.0.1:18800/ag-ui", service.url);
  const args = ["--input-type=module", "-e", `const TOKEN = "${tokens.ag_ui}";${program}`];
  const { stdout } = await run(process.execPath, args, { cwd });
  expect(stdout).toBe("you said hello\n");
});

test.skipIf(!isInstalled)("runs the snippet of the page Clients", async () => {
  const [snippet] = protocolSnippets({ name: "ag_ui", url: service.url });
  const code = snippet!.code.replace(placeholderOf("ag_ui"), tokens.ag_ui);
  const { stdout } = await run("/bin/sh", ["-c", code], { cwd });
  expect(stdout).toBe("you said hello\n");
});
