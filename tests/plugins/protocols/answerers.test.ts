// Tests that the rights of a person decide about their answers, over a protocol too.
import { expect, test } from "vitest";
import type { QuestionInput } from "../../../plugins/channels/index.ts";
import { startProtocols } from "../../support/protocol-service.ts";

const approval: QuestionInput = {
  kind: "approval",
  content: "Delete 3 files?",
  options: [{ id: "once", label: "Allow once", effect: "allow" }],
};

test("answers for the owner of a host only, with the setting owner", async () => {
  await using service = await startProtocols({
    identify: ({ headers }) => {
      const id = /^Bearer user-(\w+)$/.exec(headers.authorization ?? "")?.[1];
      return id === undefined ? undefined : { id, sessions: "all", owner: id === "olga" };
    },
    picoConfig: { answers: "owner" },
  });
  let asked = (_: void): void => undefined;
  const isAsked = new Promise<void>((resolve) => void (asked = resolve));
  service.state.handler = async (message) => {
    const settled = message.ask(approval);
    asked();
    await message.reply({ content: (await settled).effect ?? "none" });
  };
  const post = (user: string, path: string, body: object) =>
    fetch(`${service.origin}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer user-${user}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  const parts = [{ type: "text", text: "clean" }];
  const message = { id: "m", role: "user", parts };
  const response = await post("olga", "/ai/chat", { id: "lobby", messages: [message] });
  await isAsked;
  await response.text();
  const [open] = service.channels.questions();
  const answer = (user: string) =>
    post(user, "/ai/chat/lobby/answer", { message_id: open!.id, option: "once" });
  expect((await answer("ann")).status).toBe(404);
  expect(service.channels.questions()).toHaveLength(1);
  const settled = await answer("olga");
  expect(await settled.json()).toMatchObject({
    status: "settled",
    settled: { by: { id: "host:olga" }, via: "ai_sdk" },
  });
});
