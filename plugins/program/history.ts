// Answers the `history.get` lines of the program with `history` lines.
import { codeOf, type Log } from "../../kernel/index.ts";
import { readWithout } from "../../lib/pages.ts";
import { defined } from "../../lib/util.ts";
import type { Channels } from "../channels/index.ts";
import type { PendingMessages } from "./pending-messages.ts";
import { encodeLine, type HistoryFrame } from "./protocol.ts";

/** Requests in progress. A page may have several MiB, so a flood of requests is rejected. */
const maxInProgress = 16;

interface HistoryLinesOptions {
  readonly channels: Pick<Channels, "history">;
  readonly pendingMessages: Pick<
    PendingMessages,
    "addressIn" | "isBlocked" | "isLive" | "writeLine"
  >;
  readonly log: Pick<Log, "warn">;
}

/**
 * Creates the function that answers one request. Every request has one line as its answer, unless
 * the program does not read its input: its lines would fill the memory.
 */
export function createHistoryLines({ channels, pendingMessages, log }: HistoryLinesOptions) {
  let inProgress = 0;

  const failure = (code: string, message: string): object => ({
    type: "error",
    payload: { code, message },
  });

  async function answer(frame: HistoryFrame): Promise<object> {
    const address = pendingMessages.addressIn(frame);
    if (!address)
      return failure("not_found", 'Name the "request_id" of a message, or a "session_id".');
    if (inProgress >= maxInProgress) return failure("busy", "Too many requests for history.");
    inProgress += 1;
    const { limit, before } = frame.payload;
    try {
      const { items, ...rest } = await readWithout(
        (page) => channels.history(address, page),
        defined({ limit, before }),
        ({ role, id, requestId = id }) =>
          role !== "assistant" && pendingMessages.isLive(address, requestId),
      );
      const { channel, session: session_id } = address;
      return { type: "history", channel, session_id, payload: { turns: items, ...rest } };
    } catch (error) {
      return failure(codeOf(error), error instanceof Error ? error.message : String(error));
    } finally {
      inProgress -= 1;
    }
  }

  return async (frame: HistoryFrame): Promise<void> => {
    if (pendingMessages.isBlocked())
      return log.warn({}, "the program requests history, but does not read its input");
    const line = await answer(frame);
    const { id } = frame;
    pendingMessages.writeLine(encodeLine({ ...(id !== undefined && { id }), ...line }));
  };
}
