import { codeOf } from "../../kernel/index.ts";
import type { Clock, Log, Release } from "../../kernel/index.ts";
import { createDedupe } from "./dedupe.ts";
import { channelsErrors } from "./errors.ts";
import { createLanes } from "./lanes.ts";
import type { Application, ApplicationOptions, Channels, Incoming, Message } from "./service.ts";

const mostHops = 4;

export interface Inbound {
  handle(application: Application, options?: ApplicationOptions): Release;
  deliver(message: Incoming, options?: { dedupe?: boolean }): Promise<"accepted" | "duplicate">;
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

/** One delivery: settles once, whoever is first. */
interface Ticket {
  accept(): void;
  reject(error: unknown): void;
  isOpen(): boolean;
  readonly outcome: Promise<"accepted">;
}

function createTicket(open: Set<Ticket>): Ticket {
  let settle: { resolve(outcome: "accepted"): void; reject(error: unknown): void };
  const ticket: Ticket = {
    outcome: new Promise((resolve, reject) => void (settle = { resolve, reject })),
    isOpen: () => open.has(ticket),
    accept: () => void (open.delete(ticket) && settle.resolve("accepted")),
    reject: (error) => void (open.delete(ticket) && settle.reject(error)),
  };
  open.add(ticket);
  return ticket;
}

/** From the channels to the one application: each session in order, sessions side by side. */
export function createInbound({ clock, log, send, stream, received, failed }: InboundOptions): Inbound {
  let current: { readonly application: Application; readonly width: number } | undefined;
  let stopping: AbortController | undefined;
  const open = new Set<Ticket>();
  const dedupe = createDedupe(clock);
  const lanes = createLanes(() => current?.width ?? 1);

  async function run(incoming: Incoming, ticket: Ticket): Promise<void> {
    if (!current || !stopping) return ticket.reject(channelsErrors.no_application());
    const { channel, session, id } = incoming;
    const reply: Message["reply"] = (message) => send({ channel, session }, { inReplyTo: id, ...message });
    try {
      const message: Message = {
        ...incoming,
        accept: ticket.accept,
        reply,
        stream: (options) => stream({ channel, session }, { inReplyTo: id, ...options }),
      };
      await current.application(message, stopping.signal);
      ticket.accept();
    } catch (error) {
      if (ticket.isOpen()) return ticket.reject(error);
      const fields = { channel, session, id, code: codeOf(error), err: error };
      log.error(fields, "the application failed after it had accepted a message");
      failed(incoming, error);
    }
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

    async deliver(incoming, { dedupe: once = false } = {}) {
      if (!stopping) throw channelsErrors.not_running();
      if (incoming.hops > mostHops) throw channelsErrors.loop();
      const lane = `${incoming.channel}\0${incoming.session}`;
      const before = once ? dedupe.find(lane, incoming) : undefined;
      if (before) {
        if (!before.same) throw channelsErrors.id_reused();
        await before.outcome;
        return "duplicate";
      }
      if (!current) throw channelsErrors.no_application();
      const ticket = createTicket(open);
      if (once) dedupe.remember(lane, incoming, ticket.outcome);
      received(incoming);
      lanes.add(lane, () => run(incoming, ticket));
      return ticket.outcome;
    },

    start: () => void (stopping = new AbortController()),

    stop() {
      const controller = stopping;
      stopping = undefined;
      lanes.clear();
      for (const ticket of open) ticket.reject(channelsErrors.not_running());
      controller?.abort(channelsErrors.not_running());
    },
  };
}
