// Tests questions and answers on the wire.
import { describe, expect, test } from "vitest";
import type { Application, QuestionInput } from "../../../plugins/channels/index.ts";
import { connect, type ChatQuestion } from "../../../lib/pico-link/client.ts";
import {
  fetchJson,
  startPicoServer,
  token,
  waitFor,
  type Frame,
  type PicoTestServer,
} from "../../support/pico-server-harness.ts";

const approval: QuestionInput = {
  kind: "approval",
  content: "Delete 3 files?",
  title: "rm -r build",
  toolCallId: "c1",
  options: [{ id: "once", label: "Allow once", effect: "allow" }],
};
const asker: Application = async ({ ask, reply }) => {
  const { outcome, effect = "none" } = await ask(approval);
  await reply({ content: `${outcome} ${effect}` });
};
const path = "/pico?session_id=ann";
const knows = `${path}&pico_ext=1&pico_can=questions`;

/** Starts a server whose application asks, and a client that has sent it a message. */
async function ask(server: PicoTestServer, from = knows) {
  const client = await server.connect(from);
  client.send({ type: "message.send", id: "m", payload: { content: "clean" } });
  const created = await waitFor(() => client.frames.find(({ type }) => type === "message.create"));
  return { client, created, id: String(created.payload!["message_id"]) };
}
const ofType = (frames: readonly Frame[], type: string): Frame | undefined =>
  frames.find((frame) => frame.type === type);
const answer = (server: PicoTestServer, body: object, headers: Record<string, string> = {}) =>
  fetchJson(server.port, "/pico/answer", { method: "POST", body, headers });

describe("PicoChannel", () => {
  test("settles a question with the last update of its message", async () => {
    await using server = await startPicoServer({ app: asker });
    const { client, created, id } = await ask(server);
    expect(created.payload).toMatchObject({
      content: "Delete 3 files?\n\nAnswer in the dashboard or with `doorward answer`.",
      request_id: "m",
      question: {
        kind: "approval",
        title: "rm -r build",
        tool_call_id: "c1",
        options: [{ id: "once", label: "Allow once", effect: "allow" }, { id: "deny" }],
        state: "open",
      },
    });
    const payload = { message_id: id, option: "once" };
    client.send({ type: "question.answer", id: "a1", payload });
    const ack = await waitFor(() => ofType(client.frames, "question.ack"));
    const settled = { outcome: "answered", option: "once", by: { id: "token:pico" }, via: "pico" };
    expect(ack).toMatchObject({
      session_id: "ann",
      payload: { request_id: "a1", message_id: id, status: "settled", settled },
    });
    const update = ofType(client.frames, "message.update")!;
    expect(client.frames.indexOf(update)).toBeLessThan(client.frames.indexOf(ack));
    expect(update.payload).toMatchObject({
      message_id: id,
      final: true,
      content: "Delete 3 files?\n\nAllowed (“Allow once”) by token:pico.",
      question: { kind: "approval", state: "settled", settled },
    });
    await waitFor(() =>
      client.frames.find((frame) => frame.payload?.["content"] === "answered allow"),
    );
  });

  test("settles over HTTP once, and tells all others the outcome", async () => {
    await using server = await startPicoServer({ app: asker });
    const { id } = await ask(server);
    const body = { session_id: "ann", message_id: id };
    await expect(answer(server, { ...body, option: "yes" })).resolves.toMatchObject({
      status: 422,
      body: { error: "invalid_answer", message: '"option": expected the id of an option' },
    });
    await expect(answer(server, { ...body, option: "deny", text: "no" })).resolves.toMatchObject({
      status: 200,
      body: { status: "settled", settled: { option: "deny", text: "no" } },
    });
    await expect(answer(server, { ...body, option: "once" })).resolves.toMatchObject({
      status: 409,
      body: { error: "already_settled", settled: { option: "deny" } },
    });
    await expect(answer(server, { ...body, message_id: "x" })).resolves.toMatchObject({
      status: 404,
      body: { error: "unknown_question" },
    });
    await expect(answer(server, { message_id: id })).resolves.toMatchObject({ status: 400 });
    await expect(fetchJson(server.port, "/pico/answer")).resolves.toMatchObject({ status: 405 });
  });

  test("ends the wait of a posted message with the open question", async () => {
    await using server = await startPicoServer({ app: asker });
    const post = () =>
      fetchJson(server.port, "/pico/messages?wait=30", {
        method: "POST",
        body: { id: "m", session_id: "ann", content: "clean" },
      });
    const { status, body } = await post();
    expect([status, body]).toMatchObject([
      200,
      {
        status: "pending",
        request_id: "m",
        question: {
          kind: "approval",
          content: "Delete 3 files?",
          options: [{ id: "once" }, { id: "deny" }],
          state: "open",
        },
        messages: [{ type: "message.create" }],
      },
    ]);
    const { message_id } = body["question"] as Record<string, unknown>;
    const repeated = post();
    await answer(server, { session_id: "ann", message_id, option: "once" });
    const { body: result } = await repeated;
    expect(result).not.toHaveProperty("question");
    expect(JSON.stringify(result["messages"])).toContain("answered allow");
  });

  test("rejects a field that the form lacks, whatever its name", async () => {
    const schema = { type: "object", properties: { city: { type: "string" } } } as const;
    const form: Application = async ({ ask: put }) =>
      void (await put({ kind: "form", content: "Where to?", schema }));
    await using server = await startPicoServer({ app: form });
    const { id } = await ask(server);
    for (const name of ["__proto__", "constructor"]) {
      const values = JSON.parse(`{"${name}": {"city": "Ur"}}`) as object;
      const given = { session_id: "ann", message_id: id, values };
      const { status, body } = await answer(server, given);
      expect([status, body["error"]]).toEqual([422, "invalid_answer"]);
    }
    expect(server.services.channels.questions()).toHaveLength(1);
  });

  test("rejects an answer with a token in the URL", async () => {
    await using server = await startPicoServer({
      app: asker,
      config: { allow_token_query: true },
    });
    const { id } = await ask(server);
    const { status, body } = await fetchJson(server.port, `/pico/answer?token=${token}`, {
      method: "POST",
      headers: { authorization: "" },
      body: { session_id: "ann", message_id: id, option: "once" },
    });
    expect([status, body["error"]]).toEqual([403, "answer_forbidden"]);
    expect(server.services.channels.questions()).toHaveLength(1);
  });

  test("lets only the owner answer with the setting owner", async () => {
    await using server = await startPicoServer({ app: asker, config: { answers: "owner" } });
    const { client, id } = await ask(server);
    client.send({ type: "question.answer", payload: { message_id: id, option: "once" } });
    const ack = await waitFor(() => ofType(client.frames, "question.ack"));
    expect(ack.payload).toMatchObject({ status: "forbidden" });
  });

  test("sends a plain client ordinary messages", async () => {
    await using server = await startPicoServer({ app: asker });
    const { client, id } = await ask(server, path);
    client.send({ type: "question.answer", id: "a", payload: { message_id: id, option: "once" } });
    const error = await waitFor(() => ofType(client.frames, "error"));
    expect(error.payload).toMatchObject({ code: "unknown_type", request_id: "a" });
    await answer(server, { session_id: "ann", message_id: id, option: "once" });
    await waitFor(() => client.frames.filter(({ type }) => type === "message.create").length === 2);
    const types = new Set(client.frames.map(({ type }) => type));
    expect([...types].sort()).toEqual(["error", "message.create", "message.update"]);
  });

  test("keeps a question open after a message with text", async () => {
    await using server = await startPicoServer({ app: asker });
    const { client } = await ask(server);
    client.send({ type: "message.send", id: "n", payload: { content: "once" } });
    await client.settled();
    expect(server.services.channels.questions()).toHaveLength(1);
  });
});

describe("client", () => {
  test("receives questions and answers them", async () => {
    await using server = await startPicoServer({ app: asker });
    const questions: ChatQuestion[] = [];
    const client = connect({
      url: `http://127.0.0.1:${server.port}/pico`,
      token,
      sessionId: "ann",
      onQuestion: (question) => void questions.push(question),
    });
    await expect(client.answer("x", { option: "once" })).rejects.toMatchObject({
      code: "not_sent",
    });
    void client.send("clean").accepted;
    await waitFor(() => questions.length === 1);
    const [{ id, content, toolCallId, state }] = questions as [ChatQuestion];
    expect({ content, toolCallId, state }).toEqual({
      content: "Delete 3 files?",
      toolCallId: "c1",
      state: "open",
    });
    await expect(client.answer(id, { option: "once" })).resolves.toMatchObject({
      status: "settled",
      settled: { option: "once" },
    });
    expect(questions[1]).toMatchObject({ id, state: "settled", settled: { option: "once" } });
    await expect(client.answer(id, { option: "deny" })).resolves.toMatchObject({
      status: "already",
    });
    client.close();
  });
});
