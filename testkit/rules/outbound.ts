// Rules about messages from the application to peers.
import { codeOf } from "../../kernel/index.ts";
import type { ConformanceRun, Peer } from "../rig.ts";
import {
  claim,
  longText,
  mayReject,
  sample,
  send,
  showsId,
  statusWithoutPeers,
  to,
  trySend,
  withoutPeers,
  withoutSpace,
  type ConformanceRule,
} from "./rule.ts";

const statuses: readonly string[] = ["written", "buffered", "delivered", "undelivered"];
/** Length of the long text for a network without a limit. */
const longLength = 100_000;

/** Collects messages until their texts add up to `text`. @returns The ids of the messages. */
async function seesInParts(run: ConformanceRun, peer: Peer, text: string): Promise<string[]> {
  const parts = new Map<string, string>();
  const { maxTextLength } = run.capabilities;
  const expected = withoutSpace(text);
  for (;;) {
    const seen = await run.sees(peer, "create", "update");
    claim(seen.content.length <= maxTextLength, `it sent ${seen.content.length} characters`);
    parts.set(seen.id, seen.content);
    const shown = withoutSpace([...parts.values()].join(""));
    if (shown === expected) return [...parts.keys()];
    claim(shown.length <= expected.length, "the parts have more text than the message");
  }
}

/** Removes a message, all parts of which the peer must see removed. */
async function removesParts(
  run: ConformanceRun,
  peer: Peer,
  id: string,
  parts: Set<string>,
): Promise<void> {
  if (!run.port.remove) return;
  await run.channels.remove(to(run, peer), id);
  while (parts.size > 0) parts.delete((await run.sees(peer, "remove")).id);
}

/** Shows a text over the limit by updates, then a short one instead, and removes that. */
async function replacesInParts(run: ConformanceRun, peer: Peer, text: string) {
  const { port, channels } = run;
  if (!port.update) return;
  const { id } = await channels.send(to(run, peer), { content: "begun", final: false });
  await run.sees(peer, "create");
  await channels.update(to(run, peer), id, { content: text });
  const rest = new Set(await seesInParts(run, peer, text));
  await channels.update(to(run, peer), id, { content: "short", final: true });
  if (!port.remove) return;
  while (rest.size > 1) {
    const seen = await run.sees(peer, "update", "remove");
    if (seen.what === "remove") rest.delete(seen.id);
    else claim(seen.content === "short", "a part of a text stays after its update to a short one");
  }
  await removesParts(run, peer, id, rest);
}

/** Does everything that a peer can see, in one session. */
async function actsIn(run: ConformanceRun, peer: Peer): Promise<void> {
  const { port, channels, capabilities } = run;
  channels.typing(to(run, peer), true);
  channels.typing(to(run, peer), false);
  const { id } = await channels.send(to(run, peer), { content: "begun", final: false });
  if (port.update) await channels.update(to(run, peer), id, { content: "done", final: true });
  if (port.remove) await channels.remove(to(run, peer), id);
  if (!capabilities.errors) return;
  run.answerWith(() => {
    throw new Error("the application fails");
  });
  await mayReject(() => peer.say("hello"));
  await run.messages.next("the message that fails");
}

export const outboundRules = {
  async "shows sent messages complete, once, in order, under the receipt id"(run) {
    const peer = await run.join();
    const ids = new Set<string>();
    const texts = [sample, "second", "last"];
    for (const content of texts) {
      const receipt = await send(run, peer, content);
      claim(statuses.includes(receipt.status), `the receipt says "${receipt.status}"`);
      const seen = await run.sees(peer, "create");
      claim(seen.content === content, `the peer saw ${JSON.stringify(seen.content.slice(0, 80))}`);
      claim(
        showsId(run, seen.id, receipt.id),
        "the peer saw another id than the receipt names; if the network chooses the ids, " +
          'declare capabilities: { messageIds: "network" }',
      );
      ids.add(seen.id);
    }
    claim(ids.size === texts.length, "the peer saw two messages with one id");
  },

  async "shows long texts complete"(run) {
    const peer = await run.join();
    const { maxTextLength } = run.capabilities;
    const whole = longText(Math.min(longLength, maxTextLength));
    await send(run, peer, whole);
    const { content } = await run.sees(peer, "create");
    claim(content === whole, `the peer saw ${content.length} of ${whole.length} characters`);
    if (maxTextLength >= longLength) return;
    const long = longText(Math.ceil(maxTextLength * 2.5));
    const receipt = await trySend(run, peer, long).catch((error: unknown) => {
      claim(codeOf(error) === "too_large", `it rejected with the code "${codeOf(error)}"`);
    });
    if (!receipt || receipt.status === "undelivered") return;
    const parts = new Set(await seesInParts(run, peer, long));
    await removesParts(run, peer, receipt.id, parts);
    await replacesInParts(run, peer, long);
  },

  async "shows the kind of a message and the message it replies to"(run) {
    const { kinds, replies } = run.capabilities;
    if (!kinds && !replies) return;
    const peer = await run.join();
    await peer.say("a question");
    const { id } = await run.messages.next("the question");
    await run.channels.send(to(run, peer), {
      content: "hm",
      ...(kinds && { kind: "thought" }),
      ...(replies && { inReplyTo: id }),
    });
    const seen = await run.sees(peer, "create");
    claim(!kinds || seen.kind === "thought", `the peer saw the kind "${seen.kind}"`);
    claim(!replies || seen.inReplyTo === id, `the peer saw inReplyTo "${seen.inReplyTo}"`);
  },

  async "keeps sessions apart"(run) {
    const [first, second] = [await run.join(), await run.join()];
    claim(first.session !== second.session, "two peers are in one session");
    await send(run, first, "for the first");
    await send(run, second, "for the second");
    for (const [peer, expected] of [
      [second, "for the second"],
      [first, "for the first"],
    ] as const) {
      const { content } = await run.sees(peer, "create");
      claim(content === expected, "a peer saw a message of another session");
    }
    await actsIn(run, first);
    await send(run, second, "for the second again");
    for (;;) {
      const seen = await run.sees(second, "create", "update", "remove", "typing", "error");
      if (seen.what === "create" && seen.content === "for the second again") return;
      claim(false, `a peer saw the event "${seen.what}" of another session`);
    }
  },

  async "does not report a message without peers as written"(run) {
    const status = await statusWithoutPeers(run, { session: withoutPeers });
    claim(status === "undelivered" || status === "buffered", `its receipt says "${status}"`);
  },

  async "reports only acknowledged messages as delivered"(run) {
    const peer = await run.join();
    const { id, status } = await send(run, peer, "hello");
    await run.sees(peer, "create");
    const isDelivered = (event: { id: string; status: string }): boolean =>
      event.id === id && event.status === "delivered";
    if (run.capabilities.acknowledgements) {
      if (status !== "delivered") await run.receipts.next('the receipt "delivered"', isDelivered);
      return;
    }
    const isClaimed = status === "delivered" || run.receipts.waiting.some(isDelivered);
    claim(!isClaimed, 'a receipt says "delivered", but nothing was acknowledged');
  },

  async "updates a message in place, up to its final text"(run) {
    if (!run.port.update) return;
    const peer = await run.join();
    const { id } = await run.channels.send(to(run, peer), { content: "one", final: false });
    const first = await run.sees(peer, "create");
    await run.channels.update(to(run, peer), id, { content: "one two" });
    await run.channels.update(to(run, peer), id, { content: "one two three", final: true });
    for (;;) {
      const seen = await run.sees(peer, "update", "create");
      const isSame = seen.what === "update" && seen.id === first.id;
      claim(isSame, "the update arrived as another message");
      const isLast = seen.content === "one two three";
      const isFinal = run.capabilities.finals && seen.final === true;
      claim(isLast || !isFinal, "an update before the last one is marked as final");
      if (isLast) {
        claim(isFinal || !run.capabilities.finals, "the last update is not marked as final");
        return; // A slow peer may miss the previous update.
      }
      claim(seen.content === "one two", `the peer saw ${JSON.stringify(seen.content)}`);
    }
  },

  async "removes a message"(run) {
    if (!run.port.remove) return;
    const peer = await run.join();
    const { id } = await send(run, peer, "to be removed");
    const created = await run.sees(peer, "create");
    await run.channels.remove(to(run, peer), id);
    claim((await run.sees(peer, "remove")).id === created.id, "another message was removed");
  },

  async "shows typing, and ignores it in sessions without peers"(run) {
    if (!run.port.typing) return;
    const peer = await run.join();
    run.channels.typing({ ...to(run, peer), session: withoutPeers }, true);
    for (const on of run.capabilities.typingOff ? [true, false] : [true]) {
      run.channels.typing(to(run, peer), on);
      claim(
        (await run.sees(peer, "typing")).on === on,
        `typing was not switched ${on ? "on" : "off"}`,
      );
    }
    run.channels.typing(to(run, peer), false);
  },
} satisfies Record<string, ConformanceRule>;
