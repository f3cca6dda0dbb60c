// Checks the lines for the agent with the published schema of the protocol.
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, test } from "vitest";
import { startAgent, step } from "../../support/acp-harness.ts";
import { waitFor } from "../../support/program-harness.ts";
import { optional } from "../../support/tools.ts";

const schemaFile = fileURLToPath(
  new URL(
    "../../clients/node_modules/@agentclientprotocol/sdk/schema/v1/schema.json",
    import.meta.url,
  ),
);
const schema = optional(
  existsSync(schemaFile) ? schemaFile : undefined,
  "the npm package @agentclientprotocol/sdk (npm ci --prefix tests/clients)",
);

/** Method -> its type in the schema. The answers are in the order of the agent's requests. */
const types: Readonly<Record<string, string>> = {
  initialize: "InitializeRequest",
  "session/new": "NewSessionRequest",
  "session/load": "LoadSessionRequest",
  "session/set_mode": "SetSessionModeRequest",
  "session/prompt": "PromptRequest",
  "session/cancel": "CancelNotification",
};
const answers = ["RequestPermissionResponse", "CreateElicitationResponse"];

interface Frame {
  readonly id?: number;
  readonly method?: string;
  readonly params?: unknown;
  readonly result?: unknown;
}

describe.skipIf(!schema)("the published schema", () => {
  test("accepts every line for the agent", async () => {
    const folder = await mkdtemp(join(tmpdir(), "doorward-acp-frames-"));
    const frames = join(folder, "frames");
    const form = {
      mode: "form",
      message: "Which port?",
      requestedSchema: { type: "object", properties: { port: { type: "integer" } } },
    };
    await using agent = await startAgent({ load: true, modes: ["auto", "ask"], frames });
    agent.kernel.on("channels:question-asked", ({ id, kind }) => {
      const answer = kind === "form" ? { values: { port: 1 } } : { option: "reject_once" };
      void agent.answer(id, answer);
    });
    await agent.run(
      step("ask", { toolCall: { toolCallId: "t1", title: "Run it" } }),
      step("form", form),
    );
    const end = agent.run(step("work", true));
    await waitFor(() => agent.text().includes("0 "));
    await agent.halt();
    await end;
    await agent.run(step("exit", 1));
    await agent.run("again");
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    ajv.addSchema(JSON.parse(readFileSync(schema!, "utf8")) as object, "acp");
    const lines = readFileSync(frames, "utf8").trim().split("\n");
    let answered = 0;
    const wrong = lines.flatMap((line) => {
      const { method, params, result } = JSON.parse(line) as Frame;
      const type = method === undefined ? answers[answered++] : types[method];
      const check = ajv.getSchema(`acp#/$defs/${type}`)!;
      return check(method === undefined ? result : params) ? [] : [{ line, why: check.errors }];
    });
    expect(wrong).toEqual([]);
    expect(answered).toBe(2);
    for (const method of Object.keys(types)) expect(lines.join("\n")).toContain(`"${method}"`);
    await rm(folder, { recursive: true });
  });
});
