// Rules about messages and signs from peers to the application.
import { claim, maxClockDifferenceMs, sample, says, to, type ConformanceRule } from "./rule.ts";

export const inboundRules = {
  async "delivers peer messages complete, once, with an id and a time"(run) {
    const peer = await run.join();
    const since = Date.now();
    await peer.say(sample);
    await peer.say("next");
    const first = await run.messages.next("the message");
    const second = await run.messages.next("the next message");
    const [expected, actual] = [sample, first.content].map((text) => JSON.stringify(text));
    claim(first.content === sample, `it changed the text ${expected} to ${actual}`);
    claim(
      second.content === "next",
      `it delivered ${JSON.stringify(second.content)} instead of the next message`,
    );
    claim(first.session === peer.session, "the message came from another session");
    await peer.say("next");
    const same = await run.messages.next("the next message, said again");
    const isNew = same.id !== second.id && second.id !== first.id && first.id !== "";
    claim(isNew && same.id !== first.id, "two messages have one id");
    const difference = Math.abs(first.at - since);
    claim(difference < maxClockDifferenceMs, "the time is not in Unix milliseconds");
    claim(Array.isArray(first.media) && first.hops >= 0, "media or hops are missing");
  },

  async "keeps the order of peer messages"(run) {
    const peer = await run.join();
    const sent = Array.from({ length: 20 }, (_, index) => `message ${index}`);
    for (const content of sent) await peer.say(content);
    const ids = new Set<string>();
    for (const content of sent) {
      const { content: received, id } = await run.messages.next(JSON.stringify(content));
      claim(received === content, `"${received}" arrived instead of "${content}"`);
      claim(ids.size < ids.add(id).size, "two messages have one id");
    }
  },

  async "delivers messages while an accepted one is still worked on"(run) {
    const peer = await run.join();
    let finish = (): void => undefined;
    const stopped = new Promise<void>((resolve) => void (finish = resolve));
    run.answerWith((message) => {
      message.accept();
      if (message.content !== "work") return finish();
      return stopped;
    });
    try {
      await says(run, peer, "work");
      await says(run, peer, "stop");
    } finally {
      finish();
    }
  },

  async "names the message that a peer replies to"(run) {
    const peer = await run.join();
    if (!peer.reply) return;
    const { id } = await run.channels.send(to(run, peer), { content: "a question" });
    const seen = await run.sees(peer, "create");
    await peer.reply(seen.id, "an answer");
    const { inReplyTo } = await run.messages.next("the answer");
    claim(inReplyTo === id, `the answer has inReplyTo "${inReplyTo}" instead of the receipt id`);
  },

  async "reports that a peer is typing"(run) {
    const peer = await run.join();
    if (!peer.typing) return;
    for (const on of [true, false]) {
      await peer.typing(on);
      const event = await run.typing.next(`the call typing(session, ${on})`);
      claim(event.session === peer.session, "it reported typing in another session");
      claim(event.on === on, `it reported typing(session, ${event.on}) instead of ${on}`);
    }
  },

  async "reports an error if the application rejects a message"(run) {
    if (!run.capabilities.errors) return;
    const peer = await run.join();
    run.answerWith(() => {
      throw new Error("the application fails");
    });
    // A channel whose peers wait for the reply may reject instead.
    const isRejected = await Promise.resolve(peer.say("hello")).then(
      () => false,
      () => true,
    );
    if (!isRejected) await run.sees(peer, "error");
  },

  async "reports an error if the application fails after it has accepted"(run) {
    if (!run.capabilities.errors) return;
    claim(run.port.failed !== undefined, "its adapter has no failed()");
    const peer = await run.join();
    run.answerWith((message) => {
      message.accept();
      throw new Error("the application fails");
    });
    await peer.say("hello");
    await run.sees(peer, "error");
  },
} satisfies Record<string, ConformanceRule>;
