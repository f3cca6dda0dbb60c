import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import {
  decode,
  WireError,
  type ClientFrame,
  type ServerFrame,
} from "../../lib/pico-wire/index.ts";
import { exitCodes, type CommandContext } from "../commands/command.ts";
import { runConversation, createReplyTracker } from "./expectation.ts";
import { createIncomplete } from "./incomplete.ts";
import { whenReaderGone } from "./lines.ts";
import { errorReason, openClientSession, type ClientArguments } from "./session.ts";
import { sanitizedJson } from "./text.ts";

type OutboundFrame = Extract<ClientFrame, { type: "message.send" | "media.send" }>;

/** For programs: one Pico message per line, in and out. What goes wrong is a line of type `error`. */
export async function runJson(context: CommandContext, given: ClientArguments): Promise<number> {
  const expected = createReplyTracker(given.timeoutMs);
  const incomplete = createIncomplete();
  /** Id -> the message that is on its way. */
  const open = new Map<string, OutboundFrame["payload"]>();
  let failed = 0;
  const print = (frame: object): void => context.out(`${sanitizedJson(frame)}\n`);
  const report = (code: string, message: string, id?: string): void =>
    print({
      type: "error",
      payload: { code, message, ...(id !== undefined && { request_id: id }) },
    });

  /** An error of a message is told once, when it is known that the message will not be tried again. */
  function forward(frame: ServerFrame): void {
    expected.sign();
    const isOfOurs = frame.type === "error" && open.has(frame.payload.request_id ?? "");
    if (frame.type !== "pong" && !isOfOurs) print(frame);
  }
  const left = whenReaderGone(process.stdout);
  const session = await openClientSession(context, {
    ...given,
    notice: (text) => context.say(`doorward: ${text}\n`),
    answer: ({ inReplyTo }) => expected.answered(inReplyTo),
    hear: {
      onFrame: forward,
      onUpdate: incomplete.update,
      onRemoved: incomplete.removed,
    },
  });

  async function send({ id: own, payload }: OutboundFrame): Promise<void> {
    const id = own ?? randomUUID();
    const { content, media, hops } = payload;
    const before = open.get(id);
    if (before && isDeepStrictEqual(before, payload)) return; // what becomes of it is told once
    if (before) return report("id_reused", "Another message with this id is on its way.", id);
    const attachments = media.map(({ base64, ...rest }) => ({
      ...rest,
      bytes: Buffer.from(base64, "base64"),
    }));
    open.set(id, payload);
    expected.asked(id);
    try {
      await session.link.send({ content, attachments, hops, id });
      expected.settled(true);
    } catch (error) {
      const { code, message } = errorReason(error);
      failed++;
      report(code, message, own);
      expected.settled(false);
    } finally {
      open.delete(id);
    }
  }

  function take(line: string): Promise<void> | undefined {
    if (line.trim() === "") return undefined;
    try {
      return act(decode(line, "client"));
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      failed++;
      report(error.code, error.message, error.requestId);
      return undefined;
    }
  }

  function act(frame: ClientFrame): Promise<void> | undefined {
    const { id, session_id: own, type } = frame;
    const conversation = session.link.session();
    if (own !== undefined && own !== conversation) {
      failed++;
      report(
        "invalid_session_id",
        `This client speaks in one conversation, ${conversation}: -session chooses it.`,
        id,
      );
    } else if (type === "message.send" || type === "media.send") return send(frame);
    else if (type === "ping") print({ type: "pong", ...(id !== undefined && { id }) });
    else if (type !== "ack") session.link.typing(type === "typing.start");
    return undefined;
  }

  const outcome = await runConversation({ call: context, session, expected, left }, take);
  if (outcome === undefined) return exitCodes.done;
  const begun = incomplete.begun().length;
  const isIncomplete = begun > 0 || incomplete.assumed();
  if (typeof outcome === "object") {
    if (outcome.exit !== exitCodes.done) report(outcome.code, outcome.sentence);
    return outcome.exit || (isIncomplete ? exitCodes.incomplete : exitCodes.done);
  }
  const missing = outcome - begun;
  if (missing > 0)
    report(
      "no_answer",
      `No answer to ${missing} of the messages within ${given.timeoutMs / 1_000} s.`,
    );
  if (missing > 0 || failed > 0) return exitCodes.failed;
  return isIncomplete ? exitCodes.incomplete : exitCodes.done;
}
