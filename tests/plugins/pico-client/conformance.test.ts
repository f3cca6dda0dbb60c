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

/* Runs the rules of the channel kit with the pico client as the channel and a real server as its
 * peer. */

/** Rules that need something that a link does not have, with the reason. */
const skipped: Readonly<Partial<Record<ChannelRule, string>>> = {
  "keeps sessions apart": "a link has one session",
  "leaves nothing open when it stops": "a link has one session",
  "serves the other peers after one has left": "a link has one session",
  "reads the bytes of each connection on their own": "a link has one session",
  "takes no sender, session or name from the frames of a client": "a link has one session",
  "shows typing, and ignores it in sessions without peers":
    "a server does not pass typing to its application",
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

describe("channel pico_client", () => {
  test("gives a reason for every skipped rule", () => {
    expect(channelRules).toEqual(expect.arrayContaining(Object.keys(skipped)));
  });

  test.each(channelRules.filter((rule) => !(rule in skipped)))("%s", async (rule) => {
    const { kernel, messages, connected, url } = await remote();
    try {
      await runChannelConformance(picoClient({ sessionId: "one" }), {
        before: [memoryTokens({ pico_client: testTokens.pico })] as const,
        config: { "channels.pico_client": { enabled: true, url } },
        rules: [rule],
        capabilities: {
          keepsMessages: true, // the server keeps messages for clients that reconnect
          authentication: false, // the link connects to the server
          presence: false,
          errors: false, // a server receives no receipts for its messages
          kinds: false,
          replies: false,
        },
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
