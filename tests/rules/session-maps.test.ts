import { describe, expect, test } from "vitest";
import { sources } from "./source.ts";

/* State of a session is a field of `Session`, so that it ends with the session. Each other map and
 * set of plugins/channels says here what its keys are. */

/** The one map of sessions. */
const map = "sessions.ts byChannel";

/** Keys of sessions, outside of `Session`. */
const exceptions: Readonly<Record<string, string>> = {
  "attached-channels.ts sessions": "sessions with a client, which end with the attached channel",
  "message-ids.ts byId": "for adapters of other authors, which have no Session",
  "message-ids.ts byNetworkId": "for adapters of other authors, which have no Session",
  "recording.ts storing": "turns of channels of other authors while they are stored",
  "send-queue.ts sessions": "for adapters of other authors, which have no Session",
  "traffic.ts recorded": "the newest 200 messages of all sessions",
};

/** Keys of other things. */
const others: Readonly<Record<string, string>> = {
  "attached-channels.ts byName": "channels",
  "durable-answers.ts answers": "questions, as a field of Session",
  "edit-throttle.ts messages": "messages of one channel",
  "inbound.ts cutChannels": "channels",
  "open-replies.ts cutIds": "replies",
  "outbound.ts pending": "sent messages",
  "outbound.ts sent": "sent messages",
  "question-answer.ts checked": "fields of a form",
  "question-counts.ts counts": "outcomes",
  "recording.ts records": "channels",
  "sent-replies.ts byId": "replies of one message",
  "session-queues.ts used": "channels",
};

const declaration = /(\w+)(?:: | = new )(?:Bounded)?(?:Map|Set)<string/g;

const found = sources()
  .filter(({ path }) => /^plugins\/channels\/(?!session\.ts$)/.test(path))
  .flatMap(({ path, code }) =>
    [...code.matchAll(declaration)].map(([, name]) => `${path.split("/").at(-1)} ${name}`),
  );

describe("state of sessions", () => {
  test("has one map and named exceptions", () => {
    const named = [map, ...Object.keys(exceptions), ...Object.keys(others)];
    expect([...new Set(found)].toSorted()).toEqual(named.toSorted());
  });

  test("joins names into keys in few files", () => {
    const joining = sources()
      .filter(({ path }) => path.startsWith("plugins/channels/"))
      .filter(({ code }) => /\bkeyOf\(/.test(code))
      .map(({ path }) => path);
    const allowed = ["message-ids.ts", "recording.ts", "traffic.ts"];
    expect(joining.toSorted()).toEqual(allowed.map((name) => `plugins/channels/${name}`));
  });
});
