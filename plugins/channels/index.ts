/** The channels plugin: connects channels with the one application of a kernel. */
import { codeOf, type Plugin, type Scope } from "../../kernel/index.ts";
import { defined } from "../../lib/util.ts";
import { createRunningTimer } from "../../lib/running-time.ts";
import type { Conversations, StoredEnd } from "../conversations/index.ts";
import type { MediaFiles } from "../media/index.ts";
import { channelsErrors } from "./errors.ts";
import type {
  Address,
  AnswerEnd,
  ChannelAdapter,
  Channels,
  DeliveredMessage,
  GrowingMessage,
  InboundMessage,
  ChannelHandle,
  QuestionInput,
} from "./contract.ts";
import { AnswerStop, stopTimes } from "./answer-stop.ts";
import { AttachedChannels } from "./attached-channels.ts";
import { Deletions } from "./deletions.ts";
import type { ChannelsEvents } from "./events.ts";
import { OwnershipQueue } from "./ownership-queue.ts";
import { createHandOut, logUnobserved } from "./handed-calls.ts";
import { createHistory } from "./history.ts";
import { checkAddress, checkId, checkMessage } from "./message-schema.ts";
import { Inbound } from "./inbound.ts";
import { createIdGenerator, createOutbound, ReceiptTracker } from "./outbound.ts";
import { Recording } from "./recording.ts";
import { OpenReplies } from "./open-replies.ts";
import { Titles } from "./titles.ts";
import { addAnswer, createTrafficCounts, trafficCalls, type TrafficCounts } from "./traffic.ts";
import { SessionQuestions } from "./session-questions.ts";
import { ReplyStreams } from "./reply-streams.ts";
import { Sessions } from "./sessions.ts";
import { StatusReader } from "./status-schema.ts";
import { answerIdPattern } from "./durable-answers.ts";

export { application } from "./application.ts";
export {
  defineChannel,
  type ChannelDefinition,
  type ChannelScope,
  type ChannelShape,
  type ChannelToken,
} from "./define-channel.ts";
export {
  createEditThrottle,
  type EditThrottle,
  type EditThrottleOptions,
} from "./edit-throttle.ts";
export { createMessageIds, type MessageIds, type MessageIdsOptions } from "./message-ids.ts";
export { createSendQueue, type SendQueue, type SendQueueOptions } from "./send-queue.ts";
export type { ChannelsEvents } from "./events.ts";
export { splitText } from "./split-text.ts";
export type * from "./contract.ts";

const isOpen = ({ final = true, placeholder = false }: GrowingMessage): boolean =>
  !final || placeholder;

const bytesOf = ({ content, media }: InboundMessage): number =>
  Buffer.byteLength(content) +
  media.reduce((sum, { bytes, url }) => sum + (bytes?.byteLength ?? url?.length ?? 0), 0);

/** The plugin's events and services. */
type ChannelsShape = {
  emits: ChannelsEvents;
  uses: { conversations: Conversations; media: MediaFiles };
  offers: { channels: Channels };
};

type ChannelsScope = Scope<ChannelsShape>;

const applicationWaitMs = 1_000;

/** @throws channel_invalid for an object that is not an adapter, as in JavaScript. */
function assertAdapter(adapter: Partial<ChannelAdapter> | undefined): void {
  const { name, send } = adapter ?? {};
  if (typeof name !== "string" || name === "")
    throw channelsErrors.channel_invalid("name must be a text");
  if (typeof send !== "function") throw channelsErrors.channel_invalid("send must be a function");
}

/** The way of messages to the application: directly, or through the node that has the session. */
type InboundRoute = Pick<Inbound, "deliver" | "isBusy" | "forget"> & {
  readonly running: OwnershipQueue["running"];
  readonly stopMessages: Channels["stop"];
};

/** The objects of one kernel. */
interface Parts {
  readonly sessions: Sessions;
  readonly adapters: AttachedChannels;
  readonly counts: TrafficCounts;
  readonly isRunning: () => boolean;
  readonly receipts: ReceiptTracker;
  readonly outbound: ReturnType<typeof createOutbound>;
  readonly deletions: Deletions;
  readonly openReplies: OpenReplies;
  readonly streams: ReplyStreams;
  readonly history: Channels["history"];
  readonly titles: Titles;
  readonly questions: SessionQuestions;
  readonly inbound: Inbound;
  readonly route: InboundRoute;
  readonly answer: Channels["answer"];
  /** Lists the open questions of a session, wherever it is. */
  readonly questionsIn: OwnershipQueue["questions"];
}

/**
 * Adds the defaults of a message. Messages of the channel `pico` are complete.
 *
 * @throws message_invalid for a message without texts, as in JavaScript.
 */
function toInbound(name: string, message: DeliveredMessage, now: () => number): InboundMessage {
  for (const field of ["session", "id", "content"] as const)
    if (typeof message?.[field] !== "string")
      throw channelsErrors.message_invalid(field, typeof message?.[field]);
  const { channel, media, at, hops } = message;
  const isComplete =
    channel === name && media !== undefined && at !== undefined && hops !== undefined;
  if (isComplete) return message as InboundMessage;
  return { ...message, channel: name, media: media ?? [], at: at ?? now(), hops: hops ?? 0 };
}

/** Creates the handle of one attached channel. After `close` it ignores or rejects all calls. */
function createChannelHandle(
  { clock, log, emit }: ChannelsScope,
  { adapters, route, inbound, receipts, streams, answer, questionsIn }: Parts,
  adapter: ChannelAdapter,
): ChannelHandle {
  const { name } = adapter;
  const attached = adapters.get(name);
  const isAttached = (): boolean => adapters.get(name) === attached;
  const hand: ChannelHandle["hand"] = (message, outcome, deliverOptions) => {
    if (!isAttached()) return outcome.rejected(channelsErrors.not_running());
    // A client must not take the place of an answer that the application waits for.
    if (answerIdPattern.test(message?.id ?? ""))
      return outcome.rejected(channelsErrors.id_reused());
    let complete: InboundMessage;
    try {
      complete = toInbound(name, message, () => clock.now());
    } catch (error) {
      return outcome.rejected(error);
    }
    route.deliver(complete, outcome, deliverOptions);
  };
  const handOut = createHandOut(log);
  const call = <T>(named: string, session: string, run: () => Promise<T>): Promise<T> =>
    handOut(named, { channel: name, session }, run);
  return {
    hand,
    deliver: (message, deliverOptions) =>
      call(
        "deliver",
        message?.session,
        () =>
          new Promise((accepted, rejected) =>
            hand(message, { accepted, rejected }, deliverOptions),
          ),
      ),
    receipt(session, receipt) {
      if (isAttached()) receipts.update(name, session, receipt);
    },
    typing(session, on) {
      if (isAttached()) emit("channels:typing-changed", () => ({ channel: name, session, on }));
    },
    sessionActive(session) {
      if (!isAttached()) return;
      adapters.noteSession(name, session, true);
      streams.sessionActive({ channel: name, session });
      emit("channels:session-joined", () => ({ channel: name, session }));
    },
    sessionIdle(session) {
      if (!isAttached()) return;
      adapters.noteSession(name, session, false);
      streams.sessionIdle({ channel: name, session });
      emit("channels:session-left", () => ({ channel: name, session }));
    },
    stop: (session, id, by) =>
      isAttached() ? route.stopMessages({ channel: name, session }, id, by) : Promise.resolve([]),
    answer: (session, id, given, by, via = name) =>
      call("answer", session, async () => {
        if (!isAttached()) throw channelsErrors.not_running();
        return answer({ channel: name, session }, id, given, by, via);
      }),
    isBusy: (session) => isAttached() && route.isBusy(name, session),
    drained: () => inbound.queues.drained(),
    stopTimes: (stopMs) => stopTimes(stopMs, adapter.drainMs),
    running: (session) => (isAttached() ? route.running(name, session) : Promise.resolve([])),
    questions: (session) =>
      isAttached() ? questionsIn({ channel: name, session }) : Promise.resolve([]),
    close() {
      if (isAttached()) adapters.delete(name);
    },
  };
}

/** Without a shared store, this adds no step to the way of a message. */
function createRoute(
  { uses, log, after }: ChannelsScope,
  inbound: Inbound,
  { questions, sessions }: Pick<Parts, "questions" | "sessions">,
): { readonly route: InboundRoute } & Pick<Parts, "answer" | "questionsIn"> {
  const ownership = uses.conversations?.ownership;
  const questionsIn = (address: Address) => questions.openIn(address);
  if (!ownership) return { route: inbound, answer: questions.answer, questionsIn };
  const route = new OwnershipQueue({ ownership, inbound, questions, sessions, log, after });
  return {
    route,
    answer: (...given) => route.answer(...given),
    questionsIn: (address) => route.questions(address),
  };
}

/** Creates the objects that pass messages and replies to the channels. */
function createSending(
  { clock, log, random, emit, after }: ChannelsScope,
  parts: Pick<Parts, "sessions" | "adapters" | "isRunning" | "counts">,
) {
  const { sessions, adapters, isRunning, counts } = parts;
  const receipts = new ReceiptTracker((channel, session, { id, status, reason }) => {
    const optional = reason === undefined ? {} : { reason };
    emit("channels:receipt-changed", () => ({ channel, session, id, status, ...optional }));
  });
  const newId = createIdGenerator(random, () => clock.now());
  const deletions = new Deletions(() => newId.cut(), sessions);
  const outbound = createOutbound({
    adapter: (name) => adapters.get(name),
    running: isRunning,
    receipts,
    counts,
    deletions,
    newId(channel) {
      counts.sent += 1; // Each sent message gets one id.
      adapters.countSent(channel);
      return newId();
    },
  });
  const handOut = createHandOut(log);
  const streamOptions: ConstructorParameters<typeof ReplyStreams>[0] = {
    ...outbound,
    ended: (to, end) => handOut("end", to, end),
    failed: (to, call, error) => logUnobserved(log, error, { call, ...to }),
    updates: ({ channel }) => adapters.get(channel)?.update !== undefined,
    isAsking: (to) => sessions.find(to)?.isAsking() === true,
    resumeMs: ({ channel }) => adapters.get(channel)?.resumeMs ?? 0,
    updateMs: (channel) => adapters.updateMs(channel),
    ...{ clock, after, afterRunning: createRunningTimer({ clock, after }) },
  };
  const streams = new ReplyStreams(streamOptions, sessions);
  return { outbound, streams, receipts, deletions };
}

/** Creates the questions of the application, and emits the events about them. */
function createQuestions(
  { clock, log, emit, after, uses }: ChannelsScope,
  parts: Pick<Parts, "sessions" | "outbound" | "streams" | "adapters" | "isRunning" | "history">,
  deliver: InboundRoute["deliver"],
): SessionQuestions {
  const { sessions, outbound, streams, adapters, isRunning, history } = parts;
  uses.conversations?.questions?.watch?.(() => emit("channels:questions-changed", {}));
  const options: ConstructorParameters<typeof SessionQuestions>[0] = {
    ...{ clock, log, after, isRunning, history, deliver },
    afterRunning: createRunningTimer({ clock, after }),
    newId: outbound.newId,
    send: outbound.sendAs,
    update: outbound.update,
    canUpdate(channel) {
      const adapter = adapters.get(channel);
      return adapter && adapter.update !== undefined;
    },
    asked(event) {
      streams.questionsChanged(event);
      emit("channels:question-asked", event);
    },
    settled: (event) => emit("channels:question-settled", event),
    waits: (event) => emit("channels:answer-waits", event),
    cleared: (address) => streams.questionsChanged(address),
    store: uses.conversations?.questions,
    steadyTime: () => uses.conversations?.steadyTime?.(),
    ownership: uses.conversations?.ownership,
  };
  return new SessionQuestions(options, sessions);
}

const toStoredEnd = (
  { outcome, code, message, usage, suggestions }: AnswerEnd,
  answerMs: number,
): StoredEnd => ({ outcome, answerMs, ...defined({ code, message, usage, suggestions }) });

/**
 * The history says that a message was stopped, or was rejected, which the application had not begun
 * with.
 */
function noteWithdrawn(
  conversations: Conversations | undefined,
  message: InboundMessage,
  now: number,
  error: unknown,
): void {
  const code = error === undefined ? undefined : codeOf(error);
  const outcome = code === undefined || code === "not_running" ? "stopped" : "failed";
  const end = { outcome, answerMs: now - message.at, ...defined({ code }) } as const;
  conversations?.noteEnd?.(message, message.id, end);
}

/** Removes the answer of an earlier delivery. @returns True if the conversation has the message. */
async function retract(
  conversations: Conversations | undefined,
  adapters: Pick<AttachedChannels, "get">,
  { channel, session, id }: Pick<InboundMessage, "channel" | "id" | "session">,
): Promise<boolean> {
  const replies = await conversations?.taken?.replies?.({ channel, session }, id);
  for (const reply of replies ?? []) await adapters.get(channel)?.remove?.(session, reply);
  if (replies) conversations?.noteEnd?.({ channel, session }, id, undefined);
  return replies !== undefined;
}

/** Creates the object that delivers messages to the application and emits the events about them. */
function createInbound(
  { clock, log, emit, after, uses }: ChannelsScope,
  parts: Omit<Parts, "answer" | "inbound" | "questionsIn" | "route">,
): Inbound {
  const { sessions, adapters, counts, titles, outbound, openReplies, history } = parts;
  const { streams, deletions } = parts;
  return new Inbound({
    ...{ clock, log, afterRunning: createRunningTimer({ clock, after }) },
    ...{ history, deletions, sessions },
    questions: parts.questions.questions,
    send: (to, message) => (isOpen(message) ? openReplies : outbound).send(to, message),
    update: (to, id, message) => openReplies.update(to, id, message),
    openReplies: {
      cut: (message) => openReplies.cut(message),
      forget(message) {
        if (sessions.find(message)?.replies) openReplies.forget(message);
      },
    },
    stream: (...given) => streams.open(...given),
    stopAsked: ({ channel, session, id, protocol }, by) =>
      emit("channels:stop-asked", () => ({
        channel,
        session,
        id,
        ...(by && { by: by.id }),
        ...(protocol !== undefined && { protocol }),
      })),
    stopTimedOut: ({ channel, session, id }, seconds) =>
      emit("channels:stop-timed-out", { channel, session, id, seconds }),
    ended(message, end, ms) {
      const { channel, session, id, sender, protocol } = message;
      const { outcome, code } = end;
      const told = adapters.get(channel)?.ended?.(session, id, end);
      if (sessions.find(message)?.title !== undefined) titles.answerEnded(message);
      uses.conversations?.noteEnd?.(message, id, toStoredEnd(end, ms));
      if (outcome === "completed") addAnswer(counts, { at: clock.now(), ms });
      emit("channels:answer-ended", () => ({
        channel,
        session,
        id,
        ...(sender && { sender: sender.id }),
        ...(protocol !== undefined && { protocol }),
        outcome,
        ...(code !== undefined && { code }),
        ms,
        at: clock.now(),
      }));
      return told;
    },
    withdrawn: (message, error) => noteWithdrawn(uses.conversations, message, clock.now(), error),
    taken: uses.conversations?.taken,
    retract: (message) => retract(uses.conversations, adapters, message),
    openFile: uses.media && ((id) => uses.media!.open(id)),
    turn: (message) => adapters.get(message.channel)?.turn?.(message),
    // A store that forgets with the process keeps no history.
    keepsTurns: (channel) =>
      uses.conversations?.taken?.replies !== undefined && adapters.isKept(channel),
    failed({ channel, session, id }, error) {
      try {
        adapters.get(channel)?.failed?.(session, id, error);
      } catch (thrown) {
        log.error(
          { err: thrown, channel, session, id },
          "the channel could not report a failed message to its client",
        );
      }
    },
    received(message) {
      counts.received += 1;
      adapters.countReceived(message.channel);
      emit("channels:message-received", () => {
        const { channel, session, id, sender, at } = message;
        const user = sender && { sender: sender.id };
        return { channel, session, id, ...user, bytes: bytesOf(message), at };
      });
      return counts.recorder?.received(message);
    },
  });
}

/** Says what ends with a session, and ends those whose conversations are deleted. */
function connectSessions({ uses, emit }: ChannelsScope, parts: Parts): void {
  const { sessions, adapters, deletions, questions, inbound, route, streams } = parts;
  sessions.connect({
    noteDeletion: (session) => deletions.add(session),
    endQuestions: (session, outcome) => questions.questions.forget(session, outcome),
    endMessages: (session) => route.forget(session),
    stopTasks: (...given) => inbound.stopTasks(...given),
    abandon: (session) => inbound.abandon(session),
    endStreams: (session) => streams.endStreams(session),
    tellDeleted({ channel, session }) {
      adapters.get(channel)?.forgotten?.(session);
      emit("channels:session-cleared", { channel, session });
    },
  });
  uses.conversations?.watchDeletions?.((address) => {
    const release = sessions.open(address).deleted();
    return () => {
      release();
      emit("channels:deletion-ended", address);
    };
  });
}

/** Delivers a message of the console to a session of a channel that accepts it. */
function deliverAsOwner(
  { clock }: ChannelsScope,
  adapters: AttachedChannels,
  route: InboundRoute,
  message: Address & Pick<InboundMessage, "id" | "content" | "sender">,
): Promise<"accepted" | "duplicate"> {
  const { channel } = message;
  if (adapters.get(channel)?.accepts !== "console")
    return Promise.reject(channelsErrors.unsupported(channel, "accept"));
  const inbound = { ...message, media: [], at: clock.now(), hops: 0, protocol: "dashboard" };
  return new Promise((accepted, rejected) =>
    route.deliver(inbound, { accepted, rejected }, { dedupe: true }),
  );
}

function createService(scope: ChannelsScope, parts: Parts, recording: Recording): Channels {
  const { outbound, openReplies, inbound, route, streams } = parts;
  const { history, adapters, counts, answer, questions, titles } = parts;
  const handOut = createHandOut(scope.log);
  /** Checks the address, and hands out the promise of the call. */
  const call = <T>(name: string, to: Address, run: () => Promise<T>): Promise<T> =>
    handOut(name, to, () => {
      checkAddress(name, to);
      return run();
    });
  const asked = questions.calls((to, id) => openReplies.remove(to, id));
  return {
    typing: outbound.typing,
    answer: (to, ...given) => call("answer", to, () => answer(to, ...given)),
    ...asked,
    ask: ((to: Address, question: QuestionInput) =>
      call("ask", to, () => asked.ask(to, question) as Promise<unknown>)) as Channels["ask"],
    remove: (to, id) =>
      call("remove", to, () => {
        checkId("remove", id);
        return asked.remove(to, id);
      }),
    send: (to, message) =>
      call("send", to, () => {
        const checked = checkMessage("send", message);
        if (checked.inReplyTo !== undefined) inbound.beginAnswer(to, checked.inReplyTo);
        return openReplies.send(to, checked);
      }),
    update: (to, id, message) =>
      call("update", to, () => {
        checkId("update", id);
        return openReplies.update(to, id, checkMessage("update", message));
      }),
    updateMs: (channel) => adapters.updateMs(channel),
    drained: () => inbound.queues.drained(),
    handle: (application, options) => inbound.handle(application, options),
    stream: (to, options) => streams.open(to, options),
    history: (to, options) => call("history", to, () => history(to, options)),
    title: (to, text) => call("title", to, () => titles.set(to, text)),
    ...trafficCalls(counts, scope.clock),
    can: inbound.can,
    suggestions: () => inbound.suggestions(),
    ...statusCalls(scope, inbound),
    stop: (to, id, by) => call("stop", to, () => route.stopMessages(to, id, by)),
    busySessions: (channel) => inbound.queues.busySessions(channel),
    list: () => adapters.list(),
    deliver: (to, message) =>
      call("deliver", to, () => deliverAsOwner(scope, adapters, route, { ...message, ...to })),
    attach(adapter) {
      assertAdapter(adapter);
      if (adapters.get(adapter.name)) throw channelsErrors.channel_taken(adapter.name);
      adapters.add(recording.observe(adapter), recording.isKept(adapter));
      questions.attached();
      return createChannelHandle(scope, parts, adapter);
    },
  };
}

/** Milliseconds between two events about the status. */
const statusIntervalMs = 250;

function statusCalls(
  { emit, after, log }: ChannelsScope,
  inbound: Inbound,
): Pick<Channels, "applicationStatus" | "statusChanged"> {
  const reader = new StatusReader(log);
  let isWaiting = false;
  return {
    applicationStatus: () => reader.read(inbound.status),
    statusChanged: () => {
      if (isWaiting) return;
      isWaiting = true;
      after(statusIntervalMs, () => {
        isWaiting = false;
        emit("channels:application-changed", {});
      });
    },
  };
}

/**
 * Creates the plugin that connects channels with the one application.
 *
 * A delivery settles when the application has processed the message; until then the channel can
 * pause its client. Deliveries start when the kernel is ready. While the kernel stops, replies can
 * still be sent until the channels stop.
 *
 * @example
 * import { createKernel } from "doorward";
 * import { channels } from "doorward/plugins/channels";
 * import { echo } from "doorward/plugins/echo";
 * import { http } from "doorward/plugins/http";
 * import { picoServer } from "doorward/plugins/pico-server";
 * import { memory, tokenStore } from "doorward/plugins/token-store";
 * const own = [tokenStore(memory({ pico: token })), channels(), http(), picoServer()] as const;
 * const kernel = createKernel([...own, echo()]);
 * await kernel.start();
 * await kernel.services.channels.send({ channel: "pico", session: "demo" }, { content: "hello" });
 */
export function channels(): Plugin<ChannelsShape> {
  return {
    name: "channels",
    api: 1,

    start(scope) {
      const { clock, log, uses, after, onReady, onStop } = scope;
      const recording = new Recording({ conversations: uses.conversations, clock, log });
      const adapters = new AttachedChannels();
      const counts = createTrafficCounts();
      let sending = false;
      const isRunning = (): boolean => sending;
      const sessions = new Sessions(clock);
      const history = createHistory(uses.conversations);
      const first = { sessions, adapters, counts, isRunning, history };
      const sent = { ...first, ...createSending(scope, first) };
      const { outbound, streams } = sent;
      const questions = createQuestions(scope, sent, (...delivery) => route.deliver(...delivery));
      const titles = new Titles(uses.conversations, log, sessions);
      const openReplies = new OpenReplies(outbound, sessions);
      const asked = { ...sent, titles, questions, openReplies };
      const inbound = createInbound(scope, asked);
      const answers = new AnswerStop({ inbound, adapters: () => adapters.all() });
      scope.on("kernel:stop-begun", ({ timeoutMs }) => answers.begin(timeoutMs));
      const parts: Parts = { ...asked, inbound, ...createRoute(scope, inbound, asked) };
      const { route } = parts;
      connectSessions(scope, parts);

      onStop(() => void (sending = false));
      onReady(() => {
        sending = true;
        inbound.start();
        questions.start();
        // A host may register its application after the start.
        after(applicationWaitMs, () => {
          if (adapters.size > 0) inbound.warnOfMissingApplication();
        });
        return async () => {
          const settled = questions.stop();
          await answers.finish();
          await Promise.all([settled, streams.stop()]);
        };
      });

      return { channels: createService(scope, parts, recording) };
    },
  };
}
