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
import {
  intrudeWs,
  joinWs,
  ws,
  wsMutations,
  wsToken,
  type WsMutation,
} from "../testkit/ws-channel.ts";

/* Runs all rules against a TCP channel and a WebSocket channel, and against each mutation of them
 * the rules that detect it. The runs are concurrent, because nearly all of their time is spent
 * waiting for events that never happen. */

/** Mutation -> the rules that it breaks every time, in the order of `channelRules`. */
const caughtBy: Readonly<Record<Mutation, readonly ChannelRule[]>> = {
  openListener: ["leaves nothing open when it stops"],
  openInterval: ["leaves nothing open when it stops"],
  anyToken: [
    "rejects peers without permission",
    "accepts no token but the right one",
    "follows a new token, and ends what the old one allowed",
  ],
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
    "reads the bytes of each connection on their own",
    "takes and shows nothing before a client has permission",
    "accepts no token but the right one",
  ],
  oneId: [
    "serves every client of a session until the last has left",
    "gives no message the id of an earlier one after a restart",
    "delivers peer messages complete, once, with an id and a time",
    "keeps the order of peer messages",
  ],
  trimsText: [
    "delivers peer messages complete, once, with an id and a time",
    "reads bytes that arrive cut or joined anywhere",
    "reads the bytes of each connection on their own",
  ],
  secondsTime: [
    "delivers peer messages complete, once, with an id and a time",
    "takes no sender, session or name from the frames of a client",
  ],
  splitsBytes: [
    "delivers peer messages complete, once, with an id and a time",
    "reads bytes that arrive cut or joined anywhere",
    "reads the bytes of each connection on their own",
  ],
  reversesOrder: [
    "keeps the order of peer messages",
    "reads bytes that arrive cut or joined anywhere",
    "reads the bytes of each connection on their own",
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
    "serves every client of a session until the last has left",
    "updates a message in place, up to its final text",
    "shows a question, and its answer",
    "answers a question from its own buttons only",
    "never allows what an expired question asked",
  ],
  dropsUpdates: [
    "serves every client of a session until the last has left",
    "updates a message in place, up to its final text",
    "shows a question, and its answer",
  ],
  ignoresRemove: ["serves every client of a session until the last has left", "removes a message"],
  typingStays: ["shows typing, and ignores it in sessions without peers"],
  repeatsIds: ["gives no message the id of an earlier one after a restart"],
  newestOnly: ["serves every client of a session until the last has left"],
  idleEarly: ["serves every client of a session until the last has left"],
  listensEarly: ["listens only when the application is ready"],
  sharedSessions: ["shares no state with another kernel of the process"],
  sharedInlet: ["shares no state with another kernel of the process"],
  decodesChunks: [
    "reads bytes that arrive cut or joined anywhere",
    "reads the bytes of each connection on their own",
  ],
  needsWholeLines: [
    "reads bytes that arrive cut or joined anywhere",
    "reads the bytes of each connection on their own",
    "bounds what a connection sends without an end",
  ],
  oneLinePerSegment: [
    "keeps the order of peer messages",
    "reads bytes that arrive cut or joined anywhere",
    "reads the bytes of each connection on their own",
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
    "takes no sender, session or name from the frames of a client",
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
  sharedRest: [
    "reads the bytes of each connection on their own",
    "takes and shows nothing before a client has permission",
  ],
  firstOnly: ["serves every client of a session until the last has left"],
  updatesNewest: ["serves every client of a session until the last has left"],
  kicksFirst: ["serves every client of a session until the last has left"],
  forgetsSession: ["serves every client of a session until the last has left"],
  idsPerClient: ["serves every client of a session until the last has left"],
  idsByText: [
    "serves every client of a session until the last has left",
    "delivers peer messages complete, once, with an id and a time",
  ],
  idsByTime: ["keeps the order of peer messages"],
  readsOn: ["rejects peers without permission", "accepts no token but the right one"],
  acceptsEmpty: ["accepts no token but the right one"],
  acceptsPrefix: [
    "accepts no token but the right one",
    "follows a new token, and ends what the old one allowed",
  ],
  spreadsFrame: ["takes no sender, session or name from the frames of a client"],
  senderFromFrame: ["takes no sender, session or name from the frames of a client"],
  nameFromFrame: ["takes no sender, session or name from the frames of a client"],
  sessionFromFrame: ["takes no sender, session or name from the frames of a client"],
  timeFromFrame: ["takes no sender, session or name from the frames of a client"],
  logsAttempt: ["keeps tokens out of the log"],
  logsLine: ["keeps tokens out of the log"],
  keepsClients: ["follows a new token, and ends what the old one allowed"],
  cachesToken: ["follows a new token, and ends what the old one allowed"],
  remembersToken: ["follows a new token, and ends what the old one allowed"],
  oneToken: ["follows a new token, and ends what the old one allowed"],
  endlessFirst: ["bounds what a connection sends without an end"],
  endlessLater: ["bounds what a connection sends without an end"],
  boundsSegments: ["bounds what a connection sends without an end"],
  sharedTaking: ["shares no state with another kernel of the process"],
  closesTwin: ["shares no state with another kernel of the process"],
  errorsToAll: ["keeps sessions apart"],
  removesForAll: ["keeps sessions apart"],
  typesForAll: ["keeps sessions apart", "shows typing, and ignores it in sessions without peers"],
  sharedCount: ["gives no message the id of an earlier one after a restart"],
};

/** The same for the WebSocket channel. */
const caughtInWs: Readonly<Record<WsMutation, readonly ChannelRule[]>> = {
  anonymous: ["accepts no token but the right one"],
  logsHeaders: ["keeps tokens out of the log"],
  logsRejected: ["keeps tokens out of the log"],
  keepsClients: ["follows a new token, and ends what the old one allowed"],
  readsTokenOnce: ["follows a new token, and ends what the old one allowed"],
  spreadsFrame: ["takes no sender, session or name from the frames of a client"],
  nameFromFrame: ["takes no sender, session or name from the frames of a client"],
  sessionFromFrame: ["takes no sender, session or name from the frames of a client"],
  endlessFrame: ["bounds what a connection sends without an end"],
  newestOnly: ["serves every client of a session until the last has left"],
  updatesNewest: ["serves every client of a session until the last has left"],
  idleEarly: ["serves every client of a session until the last has left"],
  listensEarly: ["listens only when the application is ready"],
  sharedSessions: ["shares no state with another kernel of the process"],
  readsOn: ["accepts no token but the right one"],
  idsPerClient: ["serves every client of a session until the last has left"],
  openServer: ["leaves nothing open when it stops"],
  answersForOwner: ["takes no sender, session or name from the frames of a client"],
};

/** For events that never happen; the channel without a mutation gets more time. */
const [briefMs, longMs] = [1_500, 20_000];

async function brokenRules(checks: Promise<void>): Promise<ChannelRule[]> {
  try {
    await checks;
    return [];
  } catch (error) {
    expect(codeOf(error)).toBe("CHANNEL_NOT_CONFORMING");
    const { broken } = (error as { details: { broken: { rule: ChannelRule }[] } }).details;
    return broken.map(({ rule }) => rule);
  }
}

const brokenInTcp = (
  mutation?: Mutation,
  capabilities: ChannelCapabilities = {},
  rules = channelRules,
): Promise<ChannelRule[]> =>
  brokenRules(
    runChannelConformance(tcp(mutation), {
      before: [memoryTokens({ tcp: tcpToken })] as const,
      join: ({ tcp: { port } }) => joinTcp(port()),
      intrude: ({ tcp: { port } }) => intrudeTcp(port()),
      timeoutMs: mutation ? briefMs : longMs,
      capabilities,
      rules,
    }),
  );

const brokenInWs = (mutation?: WsMutation, rules = channelRules): Promise<ChannelRule[]> =>
  brokenRules(
    runChannelConformance(ws(mutation), {
      before: [memoryTokens({ ws_test: wsToken })] as const,
      join: ({ ws_test: { port } }) => joinWs(port()),
      intrude: ({ ws_test: { port } }) => intrudeWs(port()),
      timeoutMs: mutation ? briefMs : longMs,
      rules,
    }),
  );

describe("runChannelConformance", () => {
  test.concurrent("accepts the TCP channel without a mutation", async ({ expect }) => {
    expect(await brokenInTcp()).toEqual([]);
  });

  test.concurrent("accepts the WebSocket channel without a mutation", async ({ expect }) => {
    expect(await brokenInWs()).toEqual([]);
  });

  test.concurrent.each(Object.entries(caughtInWs) as [WsMutation, readonly ChannelRule[]][])(
    "detects the mutation %s of the WebSocket channel",
    async (mutation, rules) => {
      expect(await brokenInWs(mutation, rules), wsMutations[mutation]).toEqual(rules);
    },
  );

  test.concurrent.each(Object.entries(caughtBy) as [Mutation, readonly ChannelRule[]][])(
    "detects the mutation %s",
    async (mutation, rules) => {
      expect(await brokenInTcp(mutation, {}, rules), mutations[mutation]).toEqual(rules);
    },
  );

  test.concurrent.each<[Mutation, ChannelCapabilities, readonly ChannelRule[]]>([
    ["noFinal", { finals: false }, []],
    ["noKind", { kinds: false, replies: false }, []],
    ["typingStays", { typingOff: false }, []],
    ["keepsDead", { presence: false }, caughtBy.keepsDead.slice(0, 1)],
    ["anyToken", { authentication: false }, []],
    ["sessionFromFrame", { sessionsInFrames: true }, []],
    ["claimsDelivery", { acknowledgements: true }, []],
    ["hidesErrors", { errors: false }, []],
    ["ownIds", { messageIds: "network" }, caughtBy.ownIds.slice(1)],
  ])("adapts the rules for %s to %o", async (mutation, capabilities, expected) => {
    expect(await brokenInTcp(mutation, capabilities, caughtBy[mutation])).toEqual(expected);
  });
});

describe("mutations", () => {
  test("number 79 and 18", () => {
    expect(Object.keys(mutations)).toHaveLength(79);
    expect(Object.keys(wsMutations)).toHaveLength(18);
    expect(Object.keys(caughtBy)).toEqual(Object.keys(mutations));
    expect(Object.keys(caughtInWs)).toEqual(Object.keys(wsMutations));
    const caught = [caughtBy, caughtInWs].flatMap((table) => Object.values(table).flat());
    expect(channelRules).toEqual(expect.arrayContaining(caught));
  });
});
