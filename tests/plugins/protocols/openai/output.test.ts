// Tests the form of the answer that clients ask for.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { encodeMessage } from "../../../../plugins/program/protocol.ts";
import { startProtocols, tokens, type ProtocolService } from "../../../support/protocol-service.ts";

let service: ProtocolService;
beforeAll(async () => {
  service = await startProtocols();
});
afterAll(() => service[Symbol.asyncDispose]());

const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const named = { name: "place", strict: true, schema };

async function post(path: string, body: object) {
  const response = await fetch(service.origin + path, {
    method: "POST",
    headers: { Authorization: `Bearer ${tokens.openai}`, "Content-Type": "application/json" },
    body: JSON.stringify({ model: "doorward", ...body }),
  });
  const { headers, status } = response;
  return { status, ignored: headers.get("x-doorward-ignored"), text: await response.text() };
}
const chat = (format: unknown) =>
  post("/v1/chat/completions", {
    messages: [{ role: "user", content: "hi" }],
    response_format: format,
  });
const respond = (format: unknown, more: object = {}) =>
  post("/v1/responses", { input: "hi", text: { ...more, format } });
const last = () => service.received.at(-1)!;

describe("output", () => {
  test.each([
    ["chat completions", () => chat({ type: "json_schema", json_schema: named })],
    ["responses", () => respond({ type: "json_schema", ...named })],
  ])("has the schema of %s, and no other place", async (_, send) => {
    const { ignored } = await send();
    expect(last().output).toEqual({ name: "place", strict: true, schema });
    expect(last().metadata).toEqual({ openai: { model: "doorward" } });
    expect(ignored).toBeNull();
    const form = { file: () => undefined } as never;
    const line = JSON.parse(encodeMessage("7", last() as never, form)) as {
      payload: { output: object };
    };
    expect(line.payload.output).toEqual({ name: "place", strict: true, schema });
  });

  test("accepts any object for json_object", async () => {
    for (const send of [chat, respond]) {
      await send({ type: "json_object" });
      expect(last().output).toEqual({ schema: { type: "object" } });
    }
  });

  test("lacks a form for text", async () => {
    for (const send of [chat, respond]) {
      await send({ type: "text" });
      expect(last().output).toBeUndefined();
    }
  });

  test("keeps other fields of text in the metadata", async () => {
    const { ignored } = await respond({ type: "json_schema", ...named }, { verbosity: "low" });
    expect(last().metadata).toMatchObject({ openai: { text: { verbosity: "low" } } });
    expect(ignored).toBe("text");
  });

  test("appears in the response", async () => {
    const format = { type: "json_schema", ...named };
    const { text } = await respond(format);
    expect(JSON.parse(text)).toMatchObject({ text: { format } });
  });

  const deep = (levels: number): object => (levels === 0 ? {} : { items: deep(levels - 1) });
  test.each([
    [{ type: "xml" }, "response_format.type"],
    [{ type: "json_schema", json_schema: { name: "a" } }, "response_format.json_schema.schema"],
    [
      { type: "json_schema", json_schema: { schema: deep(40) } },
      "response_format.json_schema.schema",
    ],
    [
      { type: "json_schema", json_schema: { schema: {}, strict: 1 } },
      "response_format.json_schema.strict",
    ],
  ])("rejects %j", async (format, param) => {
    const { status, text } = await chat(format);
    expect([status, JSON.parse(text)]).toMatchObject([400, { error: { param } }]);
  });
});
