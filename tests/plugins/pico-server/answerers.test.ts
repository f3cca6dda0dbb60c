// Tests who may answer a question: the identity decides, not the way of the request.
import { describe, expect, test } from "vitest";
import type { Plugin } from "../../../kernel/index.ts";
import type { Application, QuestionInput } from "../../../plugins/channels/index.ts";
import type { Http, Permission } from "../../../plugins/http/index.ts";
import { identifiedHost, type IdentifiedHost } from "../../support/identified-host.ts";
import { fetchJson, startPicoServer, waitFor } from "../../support/pico-server-harness.ts";

const approval: QuestionInput = {
  kind: "approval",
  content: "Delete 3 files?",
  options: [{ id: "once", label: "Allow once", effect: "allow" }],
};
const asker: Application = async ({ ask }) => void (await ask(approval));
const session = "lobby";
const identify = (id: string): object => ({ id, sessions: [session], owner: id === "olga" });
const start = (answers: string): Promise<IdentifiedHost> =>
  identifiedHost({ identify, app: asker, config: { answers } });

/** Asks a question in the session, and returns its id. */
async function ask({ services, program }: IdentifiedHost): Promise<string> {
  const client = await program(`/pico?session_id=${session}`);
  client.send({ type: "message.send", payload: { content: "clean" } });
  const [open] = await waitFor(() => {
    const questions = services.channels.questions();
    return questions.length > 0 && questions;
  });
  return open!.id;
}

const ways = {
  async "a WebSocket of a page"(host: IdentifiedHost, user: string, id: string) {
    const page = await host.page(user, `/pico?session_id=${session}&pico_ext=1&pico_can=questions`);
    page.send({ type: "question.answer", payload: { message_id: id, option: "once" } });
    const ack = await waitFor(() => page.frames.find(({ type }) => type === "question.ack"));
    return ack.payload!;
  },
  async "a POST of a page"(host: IdentifiedHost, user: string, id: string) {
    const body = { session_id: session, message_id: id, option: "once" };
    return (await host.ask(user, "/pico/answer", { method: "POST", body })).body;
  },
  async "a POST of a program"(host: IdentifiedHost, user: string, id: string) {
    const body = { session_id: session, message_id: id, option: "once" };
    const headers = { authorization: "Bearer of-a-user", origin: "" };
    return (await host.ask(user, "/pico/answer", { method: "POST", body, headers })).body;
  },
};

describe.each(Object.entries(ways))("answers by %s", (_name, answer) => {
  test("counts for the owner only, with the setting owner", async () => {
    await using host = await start("owner");
    const id = await ask(host);
    expect(await answer(host, "ann", id)).toMatchObject({ status: "forbidden" });
    expect(host.services.channels.questions()).toHaveLength(1);
    expect(await answer(host, "olga", id)).toMatchObject({
      status: "settled",
      settled: { by: { id: "host:olga" }, via: "pico" },
    });
  });

  test("names the channel, not a dashboard that the host lacks", async () => {
    await using host = await start("all");
    expect(await answer(host, "ann", await ask(host))).toMatchObject({
      status: "settled",
      settled: { by: { id: "host:ann" }, via: "pico" },
    });
  });
});

test.each([
  ["counts for an owner who signed in", undefined, true, 200],
  ["counts no answer of a sign-in without the right", new Set<Permission>(), true, 403],
  ["counts no answer of a sign-in without owner", undefined, false, 403],
])("%s", async (_name, may, owner, status) => {
  const signIn: Plugin<{ needs: { http: Http } }> = {
    name: "sign-in",
    api: 1,
    needs: { http: true },
    start: ({ needs }) =>
      needs.http.registerIdentity("session", ({ headers }) =>
        headers.cookie === "session=good"
          ? { id: "a", owner, ...(may && { may }), onEnd: () => () => undefined }
          : undefined,
      ),
  };
  const config = { answers: "owner" };
  await using server = await startPicoServer({ app: asker, plugins: [signIn], config });
  const client = await server.connect(`/pico?session_id=${session}`);
  client.send({ type: "message.send", payload: { content: "clean" } });
  const [open] = await waitFor(() => {
    const questions = server.services.channels.questions();
    return questions.length > 0 && questions;
  });
  const origin = `http://127.0.0.1:${server.port}`;
  const response = await fetchJson(server.port, "/pico/answer", {
    method: "POST",
    headers: { authorization: "", cookie: "session=good", origin },
    body: { session_id: session, message_id: open!.id, option: "once" },
  });
  expect(response.status).toBe(status);
  const settled = { via: "dashboard", by: { id: "owner" } };
  if (status === 200) expect(response.body).toMatchObject({ settled });
});

describe("the place of an answer", () => {
  test.each([
    ["acp", "acp"],
    ["dashboard", "pico"],
    ["cli", "pico"],
    [7, "pico"],
  ])("accepts %s as %s", async (said, via) => {
    await using host = await start("all");
    const id = await ask(host);
    const body = { session_id: session, message_id: id, option: "once", via: said };
    const headers = { authorization: "Bearer of-a-user", origin: "" };
    const answered = await host.ask("ann", "/pico/answer", { method: "POST", body, headers });
    expect(answered.body).toMatchObject({ status: "settled", settled: { via } });
  });
});
