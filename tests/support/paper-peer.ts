import type { Plugin } from "../../kernel/index.ts";
import type { ChannelAdapter, Channels, ChannelHandle } from "../../plugins/channels/index.ts";
import { channelsErrors } from "../../plugins/channels/errors.ts";
import { createQueue, type Peer, type Queue, type PeerEvent } from "../../testkit/index.ts";

/** A channel in memory that keeps every rule, unless a test breaks a part of it. */
export interface Breaks {
  readonly port?: (port: ChannelAdapter, rooms: Rooms) => ChannelAdapter;
  readonly inlet?: (channelHandle: ChannelHandle) => ChannelHandle;
  /** Error that a peer receives when its message fails. */
  readonly failed?: (see: (peerEvent: PeerEvent) => void) => void;
  readonly keepsInlet?: true;
  readonly stop?: () => Promise<void>;
  /** Messages sent after the stop wait for the next start. */
  readonly remembers?: true;
  readonly gone?: (rooms: Rooms) => void;
}
export type Rooms = Map<string, Queue<PeerEvent>>;

export interface ModelChannel {
  readonly plugin: Plugin<{ needs: { channels: Channels } }>;
  join(): Peer;
}

export function createModelChannel(breaks: Breaks = {}): ModelChannel {
  const rooms: Rooms = new Map();
  let channelHandle: ChannelHandle | undefined;
  let count = 0;
  const late: string[] = [];

  function show(session: string, peerEvent: PeerEvent): void {
    const room = rooms.get(session);
    if (!room) throw channelsErrors.undeliverable("paper");
    room.push(peerEvent);
  }
  function report(session: string): void {
    const see = (peerEvent: PeerEvent): void => rooms.get(session)?.push(peerEvent);
    if (breaks.failed) breaks.failed(see);
    else see({ what: "error", code: "internal" });
  }
  function deliver(session: string, content: string): void {
    if (!channelHandle) {
      if (breaks.remembers) late.push(content);
      return;
    }
    count += 1;
    channelHandle
      .deliver({
        channel: "paper",
        session,
        id: `m${count}`,
        content,
        media: [],
        at: Date.now(),
        hops: 0,
      })
      .catch(() => report(session));
  }
  const own: ChannelAdapter = {
    name: "paper",
    send(session, id, { content, kind, inReplyTo }) {
      show(session, { what: "create", id, content, kind, inReplyTo });
      return { id, status: "written" };
    },
    update(session, id, { content, final = false }) {
      show(session, { what: "update", id, content, final });
      return { id, status: "written" };
    },
    remove(session, id) {
      show(session, { what: "remove", id });
      return { id, status: "written" };
    },
    typing: (session, on) => rooms.get(session)?.push({ what: "typing", on }),
    failed: (session) => report(session),
  };

  return {
    plugin: {
      name: "paper",
      api: 1,
      needs: { channels: true },
      start({ needs, onReady, onStop }) {
        rooms.clear();
        const attached = needs.channels.attach(breaks.port?.(own, rooms) ?? own);
        onStop(async () => {
          if (!breaks.keepsInlet) attached.close();
          await breaks.stop?.();
        });
        onReady(() => {
          channelHandle = breaks.inlet?.(attached) ?? attached;
          for (const content of late.splice(0)) deliver("late", content);
          return async () => void (channelHandle = undefined);
        });
      },
    },
    join() {
      const session = `room-${rooms.size + 1}`;
      const room = createQueue<PeerEvent>(60_000);
      rooms.set(session, room);
      return {
        session,
        say: (content) => deliver(session, content),
        next: () => room.next("something"),
        leave() {
          rooms.delete(session);
          breaks.gone?.(rooms);
        },
      };
    },
  };
}
