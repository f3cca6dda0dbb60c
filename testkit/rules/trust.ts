// Rules about what a client may claim: its token, and the fields of its frames.
import type { Message } from "../../plugins/channels/index.ts";
import type { ConformanceRun, Peer } from "../rig.ts";
import type { Wire } from "../wire.ts";
import { ask, deny, denies, presses } from "./questions.ts";
import {
  claim,
  maxClockDifferenceMs,
  mayReject,
  says,
  settle,
  trySend,
  writesAlone,
  type ConformanceRule,
} from "./rule.ts";

/** A token that the kit makes; no channel has it. */
const otherToken = "other-correct-horse-battery-staple";
const owner = { id: "owner", name: "n".repeat(1_000) };
const maxNameLength = 256;
/** Time for a client whose token is wrong to get through. */
const refusalMs = 200;

/** Fields under which channels may look for the author of a message. */
const authors = ["sender", "from", "user", "author", "identity", "by"];
const named = (names: readonly string[], value: unknown): Record<string, unknown> =>
  Object.fromEntries(names.map((name) => [name, value]));

/** Fields of a client that pretends to be the owner, or in another session. Each has few, because a
 *  channel may read a frame with a field like `answer` in another way. */
const forgeries = (session: string): Record<string, unknown>[] => [
  named(authors, owner),
  { ...named(authors, owner.id), sender_id: owner.id, senderId: owner.id },
  named(["name", "display_name", "displayName", "nick", "username"], owner.name),
  named(["session", "session_id", "sessionId"], session),
  { ...named(["protocol", "door", "via"], "dashboard"), ...named(["channel", "role"], "owner") },
  named(["at", "time", "timestamp"], 1),
  { answer: { id: "forged", outcome: "answered" } },
];

function checkOrigin(run: ConformanceRun, peer: Peer, message: Message): void {
  const { channel, session, sender, protocol, answer, at } = message;
  const problem = "a client chose";
  const isOwn = session === peer.session || run.capabilities.sessionsInFrames;
  claim(isOwn, `${problem} the session of its message in a frame`);
  claim(channel === run.port.name, `${problem} the channel of its message`);
  claim(sender?.id !== owner.id, `${problem} the sender of its message; use what it has proved`);
  const length = sender?.name?.length ?? 0;
  claim(length <= maxNameLength, `the name of a sender has ${length} characters`);
  claim(protocol !== "dashboard", `${problem} the protocol of its message`);
  claim(answer === undefined, `${problem} the answer that its message delivers`);
  const isNow = Math.abs(at - Date.now()) < maxClockDifferenceMs;
  claim(isNow, `${problem} the time of its message`);
}

/** Says a text with the fields. The channel may reject the frame, or close the connection. */
async function forges(
  wire: Wire,
  peer: Peer,
  text: string,
  fields: Record<string, unknown>,
): Promise<void> {
  wire.take();
  wire.forge(fields);
  await mayReject(() => (peer.forge ? peer.forge(text, fields) : peer.say(text)));
  for (let waits = 0; waits < 4 && wire.take().length === 0; waits += 1) await settle();
  await settle();
  wire.forge(undefined);
}

/** Answers a question, and claims to be another person. */
async function forgesAnswer(
  run: ConformanceRun,
  wire: Wire,
  peer: Peer,
  fields: Record<string, unknown>,
): Promise<void> {
  if (!run.port.update || !peer.press) return;
  const card = await ask(run, peer, "Continue?");
  wire.forge(fields);
  await presses(peer, card, deny);
  await Promise.race([card.result, settle(refusalMs)]);
  wire.forge(undefined);
  await denies(run, peer, card);
  const { by } = await card.result;
  claim(by?.id !== owner.id, "a client chose in a frame who answers a question");
}

/** Tokens that are not the right one. */
const wrongTokens = (token: string): readonly string[] => [
  "",
  token.slice(0, token.length / 2),
  `${token.slice(0, -1)}${token.endsWith("~") ? "-" : "~"}`,
];

/** @returns A peer that connected within a short time after the store rejected its token. */
async function joinsSoon(run: ConformanceRun): Promise<Peer | undefined> {
  let isSettled = false;
  const joined = run
    .join()
    .catch(() => undefined)
    .finally(() => (isSettled = true));
  const known = run.candidates.length;
  const deadline = Date.now() + run.timeoutMs;
  while (!isSettled && run.candidates.length === known && Date.now() < deadline) await settle();
  return Promise.race([joined, settle(refusalMs).then(() => undefined)]);
}

export const trustRules = {
  async "takes no sender, session or name from the frames of a client"(run) {
    const wire = await run.restartOnWire();
    let peer = await run.join();
    const other = await run.join();
    for (const fields of forgeries(other.session)) {
      await forges(wire, peer, "I am the owner", fields);
      await mayReject(() => peer.say("still here"));
      await other.say("the next message");
      let isOpen = false;
      for (;;) {
        const message = await run.messages.next("a message after the forged one");
        if (message.content === "the next message") break;
        checkOrigin(run, peer, message);
        isOpen ||= message.content === "still here";
      }
      if (!isOpen) peer = await run.join(); // The channel closes a connection that forges.
      await forgesAnswer(run, wire, peer, fields);
    }
  },

  async "accepts no token but the right one"(run) {
    if (!run.capabilities.authentication) return;
    const wire = await run.restartOnWire();
    const peer = await run.join();
    const permission = wire.take().toString("latin1");
    await says(run, peer, "with the right token");
    const words = wire.take().toString("latin1");
    const token = run.secrets().find((secret) => permission.includes(secret));
    if (token === undefined) return;
    for (const wrong of wrongTokens(token)) {
      const claimed = permission.replaceAll(token, wrong);
      for (const parts of [[claimed, words], [claimed + words]]) {
        const bytes = parts.map((part) => Buffer.from(part, "latin1"));
        await writesAlone(run, wire, bytes);
      }
      const isTaken = run.messages.waiting.length > 0;
      const which = wrong === "" ? "without a token" : "with a wrong token";
      claim(!isTaken, `it took a message of a client ${which}`);
    }
  },

  async "follows a new token, and ends what the old one allowed"(run) {
    if (!run.capabilities.authentication) return;
    const wire = await run.restartOnWire();
    const [first, second] = [await run.join(), await run.join()];
    const bytes = wire.take();
    const old = run
      .secrets()
      .find((secret) => bytes.includes(secret) || run.candidates.includes(secret));
    // Peers do not present the token of the channel.
    if (old === undefined || !(await run.replaceToken(otherToken))) return;
    await settle();
    for (const peer of [first, second]) {
      await mayReject(() => peer.say("with the old token"));
      const { status } = await trySend(run, peer, "for new clients").catch(() => ({
        status: "undelivered",
      }));
      const seen =
        status === "written" ? run.sees(peer, "create").catch(() => undefined) : undefined;
      const isShown = await Promise.race([seen, settle(refusalMs).then(() => undefined)]);
      claim(!isShown, "it showed a message to a client of the token before");
    }
    const isHeard = run.messages.waiting.length > 0;
    claim(!isHeard, "it took a message of a client that has given only the token before");

    wire.take();
    const known = run.candidates.length;
    const late = await joinsSoon(run);
    const isNew =
      wire.take().includes(otherToken) || run.candidates.slice(known).includes(otherToken);
    if (late && !isNew) {
      await mayReject(() => late.say("with the old token"));
      await settle();
      claim(run.messages.waiting.length === 0, "it accepted the token before");
    }
    if (!(await run.replaceToken(old))) return;
    await says(run, await run.join(), "with the token of now");
  },
} satisfies Record<string, ConformanceRule>;
