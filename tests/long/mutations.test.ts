import { describe, expect, test } from "vitest";
import { codeOf } from "../../kernel/index.ts";
import {
  channelRules,
  memoryTokens,
  runChannelConformance,
  type ChannelCapabilities,
  type ChannelRule,
} from "../../testkit/index.ts";
import {
  intrudeTcp,
  joinTcp,
  mutations,
  tcp,
  tcpToken,
  type Mutation,
} from "../testkit/tcp-channel.ts";

/* Runs all rules against each mutation of a TCP channel. The runs are concurrent, because nearly all
 * of their time is spent waiting for events that never happen. */

/** Mutation -> the rules that it breaks, in the order of `channelRules`. */
const caughtBy: Readonly<Record<Mutation, readonly ChannelRule[]>> = {
  openListener: ["leaves nothing open when it stops"],
  openInterval: ["leaves nothing open when it stops"],
  anyToken: ["rejects peers without permission"],
  silentLeave: ["notices that a peer has left"],
  noFinal: ["updates a message in place, up to its final text"],
  noFailed: ["reports an error if the application fails after it has accepted"],
  claimsDelivery: ["reports only acknowledged messages as delivered"],
  deafToTyping: ["reports that a peer is typing"],
  noKind: ["shows the kind of a message and the message it replies to"],
  throwsOnDead: [
    "serves the other peers after one has left",
    "serves every client of a session until the last has left",
    "notices that a peer has left",
  ],
  keepsDead: [
    "serves every client of a session until the last has left",
    "notices that a peer has left",
  ],
  cutsLong: ["shows long texts complete"],
  waitsForIdle: ["stops despite connections that send nothing"],
  keepsInlet: ["attaches one adapter and detaches it when it stops"],
  deliversTwice: [
    "rejects peers without permission",
    "serves every client of a session until the last has left",
    "shares no state with another kernel of the process",
    "gives no message the id of an earlier one after a restart",
    "delivers peer messages complete, once, with an id and a time",
    "keeps the order of peer messages",
    "delivers messages while an accepted one is still worked on",
    "reads bytes that arrive cut or joined anywhere",
    "takes and shows nothing before a client has permission",
  ],
  oneId: [
    "gives no message the id of an earlier one after a restart",
    "delivers peer messages complete, once, with an id and a time",
  ],
  trimsText: [
    "delivers peer messages complete, once, with an id and a time",
    "reads bytes that arrive cut or joined anywhere",
  ],
  secondsTime: ["delivers peer messages complete, once, with an id and a time"],
  splitsBytes: [
    "delivers peer messages complete, once, with an id and a time",
    "reads bytes that arrive cut or joined anywhere",
  ],
  reversesOrder: [
    "keeps the order of peer messages",
    "reads bytes that arrive cut or joined anywhere",
  ],
  ownIds: [
    "shows sent messages complete, once, in order, under the receipt id",
    "updates a message in place, up to its final text",
    "removes a message",
    "shows a question, and its answer",
    "settles a question once, with the button that was pressed first",
    "answers a question from its own buttons only",
  ],
  broadcasts: [
    "serves the other peers after one has left",
    "keeps sessions apart",
    "shows typing, and ignores it in sessions without peers",
  ],
  claimsWritten: [
    "notices that a peer has left",
    "does not report a message without peers as written",
  ],
  hidesErrors: ["reports an error if the application rejects a message"],
  newOnUpdate: [
    "updates a message in place, up to its final text",
    "shows a question, and its answer",
    "answers a question from its own buttons only",
    "never allows what an expired question asked",
  ],
  dropsUpdates: [
    "updates a message in place, up to its final text",
    "shows a question, and its answer",
  ],
  ignoresRemove: ["removes a message"],
  typingStays: ["shows typing, and ignores it in sessions without peers"],
  repeatsIds: ["gives no message the id of an earlier one after a restart"],
  newestOnly: ["serves every client of a session until the last has left"],
  idleEarly: ["serves every client of a session until the last has left"],
  listensEarly: ["listens only when the application is ready"],
  sharedSessions: ["shares no state with another kernel of the process"],
  sharedInlet: ["shares no state with another kernel of the process"],
  decodesChunks: ["reads bytes that arrive cut or joined anywhere"],
  needsWholeLines: [
    "reads bytes that arrive cut or joined anywhere",
    "bounds what a connection sends without an end",
  ],
  oneLinePerSegment: [
    "keeps the order of peer messages",
    "reads bytes that arrive cut or joined anywhere",
  ],
  takesEarly: ["takes and shows nothing before a client has permission"],
  queuesEarly: ["takes and shows nothing before a client has permission"],
  showsToAll: ["takes and shows nothing before a client has permission"],
  endlessLine: ["bounds what a connection sends without an end"],
  noQuestionText: [
    "shows a question, and its answer",
    "settles a question once, with the button that was pressed first",
    "answers a question from its own buttons only",
    "never allows what an expired question asked",
  ],
  firstButton: ["settles a question once, with the button that was pressed first"],
  lastPress: ["settles a question once, with the button that was pressed first"],
  newestQuestion: [
    "answers a question from its own buttons only",
    "never allows what an expired question asked",
  ],
  anySession: ["answers a question from its own buttons only"],
  keepsCards: ["shows a question, and its answer"],
  logsToken: ["keeps tokens out of the log"],
};

/** For events that never happen; the channel without a mutation gets more time. */
const [briefMs, longMs] = [1_500, 20_000];

async function brokenRules(
  mutation?: Mutation,
  capabilities: ChannelCapabilities = {},
  rules = channelRules,
): Promise<ChannelRule[]> {
  try {
    await runChannelConformance(tcp(mutation), {
      before: [memoryTokens({ tcp: tcpToken })] as const,
      join: ({ tcp: { port } }) => joinTcp(port()),
      intrude: ({ tcp: { port } }) => intrudeTcp(port()),
      timeoutMs: mutation ? briefMs : longMs,
      capabilities,
      rules,
    });
    return [];
  } catch (error) {
    expect(codeOf(error)).toBe("CHANNEL_NOT_CONFORMING");
    const { broken } = (error as { details: { broken: { rule: ChannelRule }[] } }).details;
    return broken.map(({ rule }) => rule);
  }
}

describe("runChannelConformance", () => {
  test.concurrent("accepts the TCP channel without a mutation", async ({ expect }) => {
    expect(await brokenRules()).toEqual([]);
  });

  test.concurrent.each(Object.entries(caughtBy) as [Mutation, readonly ChannelRule[]][])(
    "detects the mutation %s",
    async (mutation, rules) => {
      expect(await brokenRules(mutation), mutations[mutation]).toEqual(rules);
    },
  );

  test.concurrent.each<[Mutation, ChannelCapabilities, readonly ChannelRule[]]>([
    ["noFinal", { finals: false }, []],
    ["noKind", { kinds: false, replies: false }, []],
    ["typingStays", { typingOff: false }, []],
    ["keepsDead", { presence: false }, caughtBy.keepsDead.slice(0, 1)],
    ["anyToken", { authentication: false }, []],
    ["claimsDelivery", { acknowledgements: true }, []],
    ["hidesErrors", { errors: false }, []],
    ["ownIds", { messageIds: "network" }, caughtBy.ownIds.slice(1)],
  ])("adapts the rules for %s to %o", async (mutation, capabilities, expected) => {
    expect(await brokenRules(mutation, capabilities, caughtBy[mutation])).toEqual(expected);
  });
});

describe("mutations", () => {
  test("number 48", () => {
    expect(Object.keys(mutations)).toHaveLength(48);
    expect(Object.keys(caughtBy)).toEqual(Object.keys(mutations));
    expect(channelRules).toEqual(expect.arrayContaining(Object.values(caughtBy).flat()));
  });
});
