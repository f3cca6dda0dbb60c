import { describe, expect, test } from "vitest";
import {
  initializeResult,
  permissionRequest,
  readSessionUpdate,
  sessionResult,
} from "../../../lib/acp-wire/index.ts";

const update = (fields: object) => readSessionUpdate({ sessionId: "s", update: fields }).update;

describe("readSessionUpdate", () => {
  test("reads null as absent and leaves out unknown items", () => {
    expect(
      update({
        sessionUpdate: "tool_call_update",
        toolCallId: "t",
        title: null,
        status: "unheard_of",
        content: [
          { type: "content", content: { type: "text", text: "a" } },
          { type: "hologram" },
          { type: "diff", path: "/a", oldText: null, newText: "b" },
        ],
        extra: true,
      }),
    ).toEqual({
      kind: "tool_call_update",
      value: {
        toolCallId: "t",
        content: [
          { type: "content", content: { type: "text", text: "a" } },
          { type: "diff", path: "/a", newText: "b" },
        ],
      },
    });
  });

  test("returns no update for a kind that it does not know", () => {
    expect(update({ sessionUpdate: "compaction_update", compactionId: "c" })).toBeUndefined();
    expect(update({ sessionUpdate: "toString" })).toBeUndefined();
  });

  test("rejects an update without its fields", () => {
    expect(() => update({ sessionUpdate: "agent_message_chunk" })).toThrow("content");
    expect(() => readSessionUpdate(null)).toThrow("object");
  });
});

describe("initializeResult", () => {
  test("reads absent capabilities as no", () => {
    const read = initializeResult.parse({ protocolVersion: 1 });
    expect(read.agentCapabilities).toEqual({
      loadSession: false,
      promptCapabilities: { image: false },
      sessionCapabilities: { resume: false },
    });
    expect(read.authMethods).toEqual([]);
  });

  test("reads a capability that is an empty object as yes", () => {
    const capabilities = { sessionCapabilities: { resume: {} }, promptCapabilities: null };
    const read = initializeResult.parse({ protocolVersion: 1, agentCapabilities: capabilities });
    expect(read.agentCapabilities.sessionCapabilities.resume).toBe(true);
  });
});

describe("results and requests", () => {
  test("reads null as a session without modes", () => {
    expect(sessionResult.parse(null)).toEqual({ modes: undefined, configOptions: undefined });
  });

  test("keeps only complete options of a permission", () => {
    const options = [{ optionId: "a", name: "Allow", kind: "allow_once" }, { optionId: "b" }];
    const read = permissionRequest.parse({
      sessionId: "s",
      toolCall: { toolCallId: "t" },
      options,
    });
    expect(read.options.map(({ optionId }) => optionId)).toEqual(["a"]);
  });
});
