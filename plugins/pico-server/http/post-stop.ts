// POST /pico/stop: stops messages of a session, for clients without a WebSocket.
import { decodeStopRequest } from "../../../lib/pico-wire/index.ts";
import type { ChannelHandle } from "../../channels/index.ts";
import { toStoppedMessages } from "../session/mapping.ts";
import { postInSession, type PostHandler, type PostOptions } from "./post-in-session.ts";

export interface StopOptions extends PostOptions {
  readonly delivery: { readonly stop: ChannelHandle["stop"] };
}

/** Two ids of 256 bytes fit, even if each byte is escaped. */
const maxBodyBytes = 8 * 1024;

export const createStopHandler = (options: StopOptions): PostHandler =>
  postInSession(options, {
    maxBodyBytes,
    decode: decodeStopRequest,
    async act(session, { request_id: id }, { sender }) {
      const stopped = toStoppedMessages(await options.delivery.stop(session, id, sender));
      return { status: 200, body: { stopped } };
    },
  });
