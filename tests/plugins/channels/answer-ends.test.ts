// The ends of answers in the history, over every form of the store that survives a restart.
import { describe, expect, test } from "vitest";
import type { Application } from "../../../plugins/channels/index.ts";
import { send } from "../../support/extension-clients.ts";
import {
  app,
  createRestarts,
  durableForms,
  framesOf,
  type StoreNode,
} from "../../support/store-servers.ts";

const forms = durableForms.filter((form) => form !== "another node");
const address = { channel: "pico", session: "s" };

/** Fails for the text "no", and otherwise names facts about its end. */
const handler: Application = async (message) => {
  message.accept();
  if (message.content === "no") throw new Error("No.");
  await message.reply({
    content: "yes",
    usage: { input: 2, output: 3 },
    suggestions: ["More?", "", "x".repeat(81), "Less?"],
  });
};

async function ask(node: StoreNode, ...texts: readonly string[]): Promise<void> {
  const client = await node.join();
  for (const text of texts) client.send(send(`m ${text}`, text));
  await framesOf(client, "answer.end", texts.length);
}

const turnsOf = async ({ services }: StoreNode) =>
  (await services.channels.history(address)).items.filter(({ role }) => role === "user");

describe.each(forms)("ends of answers (%s)", (form) => {
  test("appear in the history after a restart", async () => {
    const start = await createRestarts(form);
    const first = await start(app(handler));
    await ask(first, "yes", "no");
    await first.stop();
    const turns = await turnsOf(await start(app(handler)));
    expect(turns).toMatchObject([
      {
        content: "yes",
        outcome: "completed",
        usage: { input: 2, output: 3 },
        suggestions: ["More?", "Less?"],
        answerMs: expect.any(Number) as number,
      },
      { content: "no", outcome: "failed", code: "internal" },
    ]);
    expect(turns[1]).not.toHaveProperty("suggestions");
  });

  test("go with their conversation", async () => {
    const start = await createRestarts(form);
    const node = await start(app(handler));
    await ask(node, "yes");
    const { conversations } = node.services;
    const { id } = (await conversations.find(address))!;
    await conversations.forget(id);
    await expect(conversations.read(id)).rejects.toMatchObject({ code: "not_found" });
    conversations.noteEnd!(address, "m yes", { outcome: "completed", answerMs: 1 });
    expect(await conversations.find(address)).toBeUndefined();
  });
});
