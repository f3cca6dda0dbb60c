import { codeOf, type Clock, type Log, type Release } from "../../kernel/index.ts";
import type { Address, Channels, OutboundMessage, Receipt } from "../channels/index.ts";
import { programErrors } from "./errors.ts";
import { plainText } from "./output-log.ts";
import type { PendingMessage, PendingMessages } from "./pending-messages.ts";
import {
  toOutbound,
  type CreateFrame,
  type IntendedTarget,
  type MessagePayload,
  type ProgramFrame,
} from "./protocol.ts";

/** Sends that are not settled: reading pauses above the first, and goes on below the second. */
const pauseAbove = 256;
const resumeBelow = 64;

/** One thing after the other within a session, sessions side by side; `pause` when too much waits for channels. */
export function createSendQueue(pause: (isPaused: boolean) => void) {
  const lanes = new Map<string, Promise<unknown>>();
  let pending = 0;

  return function inOrder<T>({ channel, session }: Address, run: () => T | Promise<T>): Promise<T> {
    const lane = `${channel}\0${session}`;
    const mine = (lanes.get(lane) ?? Promise.resolve()).then(run);
    const settled = mine
      .catch(() => undefined)
      .then(() => {
        pending -= 1;
        if (lanes.get(lane) === settled) lanes.delete(lane);
        if (pending === resumeBelow) pause(false);
      });
    lanes.set(lane, settled);
    pending += 1;
    if (pending === pauseAbove) pause(true);
    return mine;
  };
}

/** Sessions in which somebody writes; more are not shown at once, since programs forget to say that nobody does. */
const maxTypingSessions = 1_024;

/** In which sessions the program writes. */
export interface TypingState {
  set(address: Address, on: boolean): void;
  /** Nobody writes any more. */
  end(): void;
}

export function createTypingState(show: (address: Address, on: boolean) => void): TypingState {
  const open = new Map<string, Address>();
  return {
    set(address, on) {
      const key = `${address.channel}\0${address.session}`;
      open.delete(key);
      if (on) open.set(key, address);
      show(address, on);
      const [oldest] = open.size > maxTypingSessions ? open : [];
      if (!oldest) return;
      open.delete(oldest[0]);
      show(oldest[1], false);
    },
    end() {
      for (const address of open.values()) show(address, false);
      open.clear();
    },
  };
}

/** Between two updates of one message on the way, as streams of applications have it. */
const updateIntervalMs = 112;
/** Why a channel refuses what was said, whatever its state is. */
const permanentCodes = ["too_large", "unsupported"];
/** Messages of the program that may still be updated. */
const maxOpenMessages = 4_096;

export interface RepliesOptions {
  readonly channels: Channels;
  readonly requests: PendingMessages;
  readonly clock: Clock;
  readonly log: Log;
  readonly after: (ms: number, run: () => void) => Release;
  readonly pause: (isPaused: boolean) => void;
}

/** A message of the program, as the channel has it. */
interface SentMessage {
  readonly address: Address;
  readonly request: PendingMessage | undefined;
  /** The channel's name of it; undefined when it was not sent. */
  readonly id: Promise<string | undefined>;
  /** What updates say again: whether it is a thought, and what it answers. */
  readonly again: Pick<OutboundMessage, "kind" | "inReplyTo">;
  isFinal: boolean;
  /** No update has replaced the placeholder yet. */
  isPlaceholder: boolean;
  /** The text so far, while it grows. */
  content: string;
  next: OutboundMessage | undefined;
  updatedAt: number;
  cancelTimer: Release | undefined;
}

interface FrameAddress {
  readonly channel?: string | undefined;
  readonly session_id?: string | undefined;
}
interface ReplyTarget {
  readonly request: PendingMessage | undefined;
  readonly address: Address;
}

export interface Replies {
  accept(line: ProgramFrame): void;
  /** A line that is no message, and why: who waits for it is told. */
  unread(intendedTarget: IntendedTarget, problem: string): void;
  /** The program ended: what it left half said is shown as whole, and nobody waits for its typing. */
  ended(): void;
}

/** From the program's lines to the channels: each session in order, updates on the way at most nine a second. */
export function createReplies({
  channels,
  requests,
  clock,
  log,
  after,
  pause,
}: RepliesOptions): Replies {
  const shown = new Map<string, SentMessage>();
  let lastUnknown: string | undefined;
  const inOrder = createSendQueue(pause);
  const typing = createTypingState(
    (address, on) => void inOrder(address, () => channels.typing(address, on)),
  );

  /** Where a line goes: back to the message it names, else where it says. */
  function placeOf(
    { channel = "pico", session_id: session }: FrameAddress,
    about?: string,
  ): ReplyTarget | undefined {
    if (about !== undefined) {
      const pendingMessage = requests.find(about);
      const past = requests.past(about);
      if (pendingMessage) return { request: pendingMessage, address: pendingMessage.message };
      if (past?.isAnswered) return { request: undefined, address: past.address };
      log.warn({ request_id: about }, "the program answers a message nobody awaits");
      return undefined;
    }
    if (session !== undefined) return { request: undefined, address: { channel, session } };
    log.warn({}, 'the program named neither "request_id" nor "session_id"');
    return undefined;
  }

  /** Whoever waits for the answer learns what became of it. */
  function conclude(
    pendingMessage: PendingMessage | undefined,
    sent: Promise<Receipt | undefined>,
  ): void {
    pendingMessage?.answering();
    sent.then(
      () => pendingMessage?.finish(),
      (error: Error) => {
        log.warn(
          { code: codeOf(error), err: error, request_id: pendingMessage?.id },
          "what the program said could not be sent",
        );
        // Nobody listens: the message was answered all the same.
        if (codeOf(error) === "undeliverable") pendingMessage?.finish();
        else
          pendingMessage?.fail(
            permanentCodes.includes(codeOf(error))
              ? programErrors.bad_answer(error.message)
              : error,
          );
      },
    );
  }

  function create({ payload, ...line }: CreateFrame): void {
    const replyTarget = placeOf(line, payload.request_id);
    if (!replyTarget) return;
    const { request, address } = replyTarget;
    request?.touch();
    const { message_id: name, kind, placeholder = false } = payload;
    const final = !placeholder && payload.final !== false;
    const again = { ...(kind && { kind }), ...(request && { inReplyTo: request.message.id }) };
    const message = { ...toOutbound(payload), ...(final ? {} : { final }), ...again };
    const sent = inOrder(address, () => channels.send(address, message));
    const isAnswer = final && kind === undefined;
    conclude(isAnswer ? request : undefined, sent);
    if (name === undefined) return;
    const id = sent.then(
      (receipt) => receipt.id,
      () => undefined,
    );
    shown.set(name, {
      address,
      request,
      id,
      again,
      isFinal: final,
      isPlaceholder: placeholder,
      content: final ? "" : message.content,
      next: undefined,
      updatedAt: clock.now(),
      cancelTimer: undefined,
    });
    if (shown.size > maxOpenMessages) forget(shown.keys().next().value!);
  }

  function forget(name: string): void {
    shown.get(name)?.cancelTimer?.();
    shown.delete(name);
  }

  /** In its turn, unless the message was not sent. */
  const ofSent = (
    { address, id }: SentMessage,
    act: (id: string) => Promise<Receipt>,
  ): Promise<Receipt | undefined> =>
    inOrder(address, async () => {
      const own = await id;
      return own === undefined ? undefined : act(own);
    });

  function change(
    message: SentMessage,
    next: OutboundMessage & { readonly final?: boolean },
  ): Promise<Receipt | undefined> {
    message.cancelTimer?.();
    message.cancelTimer = message.next = undefined;
    message.updatedAt = clock.now();
    const { address, again } = message;
    return ofSent(message, (id) => channels.update(address, id, { ...next, ...again }));
  }

  function update(name: string, payload: MessagePayload): void {
    const message = shown.get(name);
    if (!message) {
      // Once for all updates that follow each other: there may be one for each token.
      if (name !== lastUnknown)
        log.warn({ message_id: name }, "the program updates a message it has not created");
      lastUnknown = name;
      return;
    }
    message.request?.touch();
    message.isPlaceholder = false;
    message.content = message.isFinal || payload.final === true ? "" : payload.content;
    if (payload.final === true) {
      const isAnswer = !message.isFinal && message.again.kind === undefined;
      message.isFinal = true;
      return conclude(
        isAnswer ? message.request : undefined,
        change(message, { ...toOutbound(payload), final: true }),
      );
    }
    message.next = toOutbound(payload);
    // A clock that was set back must not hold it.
    const wait = Math.min(
      updateIntervalMs,
      Math.max(0, message.updatedAt + updateIntervalMs - clock.now()),
    );
    message.cancelTimer ??= after(wait, () => {
      if (message.next) conclude(undefined, change(message, message.next));
    });
  }

  function remove(name: string): void {
    const message = shown.get(name);
    if (!message)
      return log.warn({ message_id: name }, "the program deletes a message it has not created");
    forget(name);
    conclude(
      undefined,
      ofSent(message, (id) => channels.remove(message.address, id)),
    );
  }

  return {
    accept(line) {
      switch (line.type) {
        case "message.create":
          return create(line);
        case "message.update":
          return update(line.payload.message_id, line.payload);
        case "message.delete":
          return remove(line.payload.message_id);
        case "typing.start":
        case "typing.stop": {
          const replyTarget = placeOf(line, line.payload.request_id);
          replyTarget?.request?.touch();
          return replyTarget && typing.set(replyTarget.address, line.type === "typing.start");
        }
        case "message.ack": {
          const pendingMessage = placeOf({}, line.payload.request_id)?.request;
          pendingMessage?.touch();
          return line.payload.final === true ? pendingMessage?.finish() : pendingMessage?.accept();
        }
        case "error": {
          const pendingMessage = placeOf({}, line.payload.request_id)?.request;
          const sentence = plainText(line.payload.message ?? "", 1_000).trim();
          return pendingMessage?.refuse(
            programErrors.application_refused(sentence || "The application refused the message."),
          );
        }
      }
    },
    unread({ request, message }, problem) {
      const asked =
        request === undefined ? shown.get(message ?? "")?.request : requests.find(request);
      asked?.refuse(programErrors.bad_answer(problem));
    },
    ended() {
      for (const [name, message] of [...shown]) {
        if (message.isPlaceholder) {
          remove(name);
          continue;
        }
        if (!message.isFinal)
          conclude(undefined, change(message, { content: message.content, final: true }));
        forget(name);
      }
      typing.end();
    },
  };
}
