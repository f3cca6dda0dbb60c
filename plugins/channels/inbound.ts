import { codeOf } from "../../kernel/index.ts";
import type { Clock, Log, Release } from "../../kernel/index.ts";
import { createDedupe } from "./dedupe.ts";
import { channelsErrors } from "./errors.ts";
import { createLanes } from "./lanes.ts";
import type { Application, ApplicationOptions, Channels, Incoming, Message, Outgoing } from "./service.ts";
import { createTickets, type Ticket } from "./tickets.ts";

export const mostHops = 4;

export interface Inbound {
  handle(application: Application, options?: ApplicationOptions): Release;
  deliver(message: Incoming, options?: { dedupe?: boolean }): Promise<"accepted" | "duplicate">;
  isBusy(channel: string, session?: string): boolean;
  start(): void;
  /** Tells the application, and rejects every delivery that it has not settled. */
  stop(): void;
}

export interface InboundOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly send: Channels["send"];
  readonly stream: Channels["stream"];
  readonly received: (message: Incoming) => void;
  /** The application failed after it had accepted the message. */
  readonly failed: (message: Incoming, error: unknown) => void;
}

/** A copy that names what it answers. One step for each key: an object made by spread would be of a form of its own each
 *  time, and whoever reads it were slow. */
function answerTo(id: string, message: Outgoing): Outgoing {
  const { content, kind, toolCalls, attachments, inReplyTo = id, model, contextUsage, hops } = message;
  const answer: { -readonly [K in keyof Outgoing]: Outgoing[K] } = { content, inReplyTo };
  if (kind !== undefined) answer.kind = kind;
  if (toolCalls !== undefined) answer.toolCalls = toolCalls;
  if (attachments !== undefined) answer.attachments = attachments;
  if (model !== undefined) answer.model = model;
  if (contextUsage !== undefined) answer.contextUsage = contextUsage;
  if (hops !== undefined) answer.hops = hops;
  return answer;
}

/** From the channels to the one application: each session in order, sessions side by side. */
export function createInbound({ clock, log, send, stream, received, failed }: InboundOptions): Inbound {
  let current: { readonly application: Application; readonly width: number } | undefined;
  let stopping: AbortController | undefined;
  const tickets = createTickets();
  const dedupe = createDedupe(clock);
  const lanes = createLanes(() => current?.width ?? 1);

  function messageOf(incoming: Incoming, accept: () => void): Message {
    const { channel, session, id, content, media, sender, at, hops } = incoming;
    const to = { channel, session };
    const reply: Message["reply"] = (message) => send(to, answerTo(id, message));
    const grow: Message["stream"] = (options) => stream(to, { inReplyTo: id, ...options });
    const message = { channel, session, id, content, media, at, hops, accept, reply, stream: grow };
    return sender === undefined ? message : { ...message, sender };
  }

  function failedLate(incoming: Incoming, error: unknown): void {
    const { channel, session, id } = incoming;
    const fields = { channel, session, id, code: codeOf(error), err: error };
    log.error(fields, "the application failed after it had accepted a message");
    failed(incoming, error);
  }

  function run(incoming: Incoming, ticket: Ticket, done: () => void): void {
    function taken(): void {
      ticket.accept();
      done();
    }
    function threw(error: unknown): void {
      if (!ticket.reject(error)) failedLate(incoming, error);
      done();
    }
    if (!current || !stopping) {
      ticket.reject(channelsErrors.no_application());
      return done();
    }
    let answer: void | Promise<void>;
    try {
      answer = current.application(messageOf(incoming, ticket.accept), stopping.signal);
    } catch (error) {
      return threw(error);
    }
    if (answer === undefined) taken();
    else Promise.resolve(answer).then(taken, threw);
  }

  function take(incoming: Incoming, once: boolean): Promise<"accepted" | "duplicate"> {
    if (!stopping) throw channelsErrors.not_running();
    if (incoming.hops > mostHops) throw channelsErrors.loop();
    const { channel, session } = incoming;
    const lane = once ? `${channel}\0${session}` : "";
    const before = once ? dedupe.find(lane, incoming) : undefined;
    if (before) {
      if (!before.same) throw channelsErrors.id_reused();
      return before.outcome.then(() => "duplicate");
    }
    if (!current) throw channelsErrors.no_application();
    const ticket = tickets.open();
    if (once) dedupe.remember(lane, incoming, ticket.outcome);
    received(incoming);
    lanes.add(channel, session, (done) => run(incoming, ticket, done));
    return ticket.outcome;
  }

  return {
    handle(application, { perSession = 1 } = {}) {
      if (current) throw channelsErrors.application_taken();
      const mine = { application, width: Math.max(1, perSession) };
      current = mine;
      return () => {
        if (current === mine) current = undefined;
      };
    },

    deliver(incoming, { dedupe: once = false } = {}) {
      try {
        return take(incoming, once);
      } catch (error) {
        return Promise.reject(error as Error);
      }
    },

    isBusy: lanes.has,

    start: () => void (stopping = new AbortController()),

    stop() {
      const controller = stopping;
      stopping = undefined;
      lanes.clear();
      tickets.rejectAll(channelsErrors.not_running);
      controller?.abort(channelsErrors.not_running());
    },
  };
}
