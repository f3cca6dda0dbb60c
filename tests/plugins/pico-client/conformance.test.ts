import { describe, expect, test } from "vitest";
import { createKernel } from "../../../kernel/index.ts";
import { createCapturedLog } from "../../../kernel/testing.ts";
import { application, channels, type Message } from "../../../plugins/channels/index.ts";
import { http } from "../../../plugins/http/index.ts";
import { picoClient } from "../../../plugins/pico-client/index.ts";
import { picoServer } from "../../../plugins/pico-server/index.ts";
import {
  channelRules,
  createQueue,
  memoryTokens,
  runChannelConformance,
  testTokens,
  type ChannelRule,
} from "../../../testkit/index.ts";

/* The link to another service as a channel: at its other end is one session, with a real server in it. */

/** Rules that ask for what a link has not, and why. */
const strange: Readonly<Partial<Record<ChannelRule, string>>> = {
  "keeps sessions apart": "there is one session",
  "serves the other peers after one has left": "there is one session",
  "reports an error if the application rejects a message":
    "a server does not hear what becomes of its answers",
  "shows typing, and ignores it in sessions without peers":
    "what a server does with typing is not for its application",
};

async function remote() {
  const messages = createQueue<Message>(5_000);
  const kernel = createKernel(
    [
      memoryTokens(),
      channels(),
      http({ port: 0 }),
      picoServer(),
      application((message) => messages.push(message)),
    ],
    { config: { "channels.pico": { enabled: true } }, log: createCapturedLog().log },
  );
  await kernel.start();
  const connected = createQueue<object>(5_000);
  kernel.on("pico-server:connected", (fact) => connected.push(fact));
  const url = new URL("pico", kernel.services.http.addresses()[0]);
  url.protocol = "ws:";
  return { kernel, messages, connected, url: url.href };
}

describe("the link as a channel", () => {
  test("every rule it is not asked for has a reason", () => {
    expect(channelRules).toEqual(expect.arrayContaining(Object.keys(strange)));
  });

  test.each(channelRules.filter((rule) => !(rule in strange)))("%s", async (rule) => {
    const { kernel, messages, connected, url } = await remote();
    try {
      await runChannelConformance(picoClient({ sessionId: "one" }), {
        before: [memoryTokens({ pico_client: testTokens.pico })] as const,
        config: { "channels.pico_client": { enabled: true, url } },
        rules: [rule],
        keeps: true, // by the server, for those who come back
        join: async () => {
          const to = { channel: "pico", session: "one" };
          await connected.next("the link");
          return {
            session: "one",
            say: (content: string) => kernel.services.channels.send(to, { content }),
            next: async () => ({ what: "create", ...(await messages.next("a message")) }),
            leave: () => kernel.stop(),
          };
        },
      });
    } finally {
      await kernel.stop();
    }
  });
});
