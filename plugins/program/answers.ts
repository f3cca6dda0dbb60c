import { codeOf, type Clock, type Log, type Release } from "../../kernel/index.ts";
import type { Address, Channels, Outgoing, Receipt } from "../channels/index.ts";
import { outgoing, type Create, type Line, type Shown } from "./bodies.ts";
import { commandErrors } from "./errors.ts";
import { createOrder } from "./order.ts";
import type { Request, Requests } from "./requests.ts";
import { plainText } from "./speech.ts";
import { createTyping } from "./typing.ts";
import type { Meant } from "./unread.ts";

/** Between two updates of one message on the way, as streams of applications have it. */
const updateEveryMs = 112;
/** Why a channel refuses what was said, whatever its state is. */
const atFault = ["too_large", "unsupported"];
/** Messages of the program that may still be updated. */
const mostShown = 4_096;

export interface AnswersOptions {
  readonly channels: Channels;
  readonly requests: Requests;
  readonly clock: Clock;
  readonly log: Log;
  readonly after: (ms: number, run: () => void) => Release;
  readonly pause: (isPaused: boolean) => void;
}

/** A message of the program, as the channel has it. */
interface Sent {
  readonly address: Address;
  readonly request: Request | undefined;
  /** The channel's name of it; undefined when it was not sent. */
  readonly id: Promise<string | undefined>;
  /** What updates say again: whether it is a thought, and what it answers. */
  readonly again: Pick<Outgoing, "kind" | "inReplyTo">;
  isFinal: boolean;
  /** No update has replaced the placeholder yet. */
  isPlaceholder: boolean;
  /** The text so far, while it grows. */
  content: string;
  next: Outgoing | undefined;
  updatedAt: number;
  cancelTimer: Release | undefined;
}

interface Target {
  readonly channel?: string | undefined;
  readonly session_id?: string | undefined;
}
interface Place {
  readonly request: Request | undefined;
  readonly address: Address;
}

export interface Answers {
  take(line: Line): void;
  /** A line that is no message, and why: who waits for it is told. */
  unread(meant: Meant, problem: string): void;
  /** The program ended: what it left half said is shown as whole, and nobody waits for its typing. */
  ended(): void;
}

/** From the program's lines to the channels: each session in order, updates on the way at most nine a second. */
export function createAnswers({
  channels,
  requests,
  clock,
  log,
  after,
  pause,
}: AnswersOptions): Answers {
  const shown = new Map<string, Sent>();
  let lastUnknown: string | undefined;
  const inOrder = createOrder(pause);
  const typing = createTyping(
    (address, on) => void inOrder(address, () => channels.typing(address, on)),
  );

  /** Where a line goes: back to the message it names, else where it says. */
  function placeOf(
    { channel = "pico", session_id: session }: Target,
    about?: string,
  ): Place | undefined {
    if (about !== undefined) {
      const request = requests.find(about);
      const past = requests.past(about);
      if (request) return { request, address: request.message };
      if (past?.isAnswered) return { request: undefined, address: past.address };
      log.warn({ request_id: about }, "the program answers a message nobody awaits");
      return undefined;
    }
    if (session !== undefined) return { request: undefined, address: { channel, session } };
    log.warn({}, 'the program named neither "request_id" nor "session_id"');
    return undefined;
  }

  /** Whoever waits for the answer learns what became of it. */
  function conclude(request: Request | undefined, sent: Promise<Receipt | undefined>): void {
    request?.answering();
    sent.then(
      () => request?.finish(),
      (error: Error) => {
        log.warn(
          { code: codeOf(error), err: error, request_id: request?.id },
          "what the program said could not be sent",
        );
        // Nobody listens: the message was answered all the same.
        if (codeOf(error) === "undeliverable") request?.finish();
        else
          request?.fail(
            atFault.includes(codeOf(error)) ? commandErrors.bad_answer(error.message) : error,
          );
      },
    );
  }

  function create({ payload, ...line }: Create): void {
    const place = placeOf(line, payload.request_id);
    if (!place) return;
    const { request, address } = place;
    request?.touch();
    const { message_id: name, kind, placeholder = false } = payload;
    const final = !placeholder && payload.final !== false;
    const again = { ...(kind && { kind }), ...(request && { inReplyTo: request.message.id }) };
    const message = { ...outgoing(payload), ...(final ? {} : { final }), ...again };
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
    if (shown.size > mostShown) forget(shown.keys().next().value!);
  }

  function forget(name: string): void {
    shown.get(name)?.cancelTimer?.();
    shown.delete(name);
  }

  /** In its turn, unless the message was not sent. */
  const ofSent = (
    { address, id }: Sent,
    act: (id: string) => Promise<Receipt>,
  ): Promise<Receipt | undefined> =>
    inOrder(address, async () => {
      const own = await id;
      return own === undefined ? undefined : act(own);
    });

  function change(
    message: Sent,
    next: Outgoing & { readonly final?: boolean },
  ): Promise<Receipt | undefined> {
    message.cancelTimer?.();
    message.cancelTimer = message.next = undefined;
    message.updatedAt = clock.now();
    const { address, again } = message;
    return ofSent(message, (id) => channels.update(address, id, { ...next, ...again }));
  }

  function update(name: string, payload: Shown): void {
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
        change(message, { ...outgoing(payload), final: true }),
      );
    }
    message.next = outgoing(payload);
    // A clock that was set back must not hold it.
    const wait = Math.min(
      updateEveryMs,
      Math.max(0, message.updatedAt + updateEveryMs - clock.now()),
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
    take(line) {
      switch (line.type) {
        case "message.create":
          return create(line);
        case "message.update":
          return update(line.payload.message_id, line.payload);
        case "message.delete":
          return remove(line.payload.message_id);
        case "typing.start":
        case "typing.stop": {
          const place = placeOf(line, line.payload.request_id);
          place?.request?.touch();
          return place && typing.set(place.address, line.type === "typing.start");
        }
        case "message.ack": {
          const request = placeOf({}, line.payload.request_id)?.request;
          request?.touch();
          return line.payload.final === true ? request?.finish() : request?.accept();
        }
        case "error": {
          const request = placeOf({}, line.payload.request_id)?.request;
          const sentence = plainText(line.payload.message ?? "", 1_000).trim();
          return request?.refuse(
            commandErrors.application_refused(sentence || "The application refused the message."),
          );
        }
      }
    },
    unread({ request, message }, problem) {
      const asked =
        request === undefined ? shown.get(message ?? "")?.request : requests.find(request);
      asked?.refuse(commandErrors.bad_answer(problem));
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
