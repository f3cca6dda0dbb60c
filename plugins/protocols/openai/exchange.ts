// Carries one answer to one HTTP response, streamed or whole, and stops it if the client leaves.
import { toEndRefusal } from "../errors.ts";
import { openEnd, type FollowOptions, type RunEnd, type RunMark } from "../follower.ts";
import type { Protocol } from "../protocol.ts";
import type { RunQuestion } from "../questions.ts";
import { streamAnswer } from "../stream.ts";
import type { JoinedRun } from "../runs.ts";
import type { Call, JsonReply } from "../server.ts";
import type { EventWriter } from "../sse.ts";
import type { OpenaiConfig } from "./config.ts";
import type { Question } from "../../channels/index.ts";
import { PlainText, type LinkOf, type TextSink } from "./plain-text.ts";
import { hasTimedOut } from "./session.ts";

/** How a protocol shows an answer. */
export interface ResponseFormat {
  /** @param questions - Open questions that end the response before the answer. */
  whole(
    texts: { readonly text: string; readonly thought: string },
    end: RunEnd,
    questions?: readonly RunQuestion[],
  ): object;
  /** Whether it has a form for approvals. */
  readonly hasApprovals?: boolean;
  stream(events: EventWriter): TextSink;
}

interface ExchangeOptions {
  readonly joined: JoinedRun;
  readonly format: ResponseFormat;
  readonly headers: Readonly<Record<string, string>>;
  readonly isStreamed: boolean;
  /** The session of the channel. */
  readonly session: string;
  /** The part of the answer that the client has. */
  readonly from?: RunMark | undefined;
  /** Reads the reply on its way to the client. */
  readonly watch?: ((sink: TextSink) => TextSink) | undefined;
}

/** Rejects with the error of the run if the response has not begun. */
export async function exchange(
  protocol: Protocol<OpenaiConfig>,
  call: Call,
  { joined, format, headers, isStreamed, session, from, watch }: ExchangeOptions,
): Promise<JsonReply | undefined> {
  const { config, clock } = protocol;
  const showsThoughts = config().thoughts !== "hide";
  const beganAt = clock.monotonic();
  const stopsOnClose = (): boolean | "later" => {
    if (!call.stopsOnClose()) return false;
    const { request, response } = call;
    // A library repeats a request only if it has received nothing.
    const isRepeated = !response.headersSent && hasTimedOut(request, clock.monotonic() - beganAt);
    return isRepeated ? "later" : true;
  };
  const { questions } = config();
  const endsOn = ({ kind }: Question): boolean =>
    questions === "responses" && format.hasApprovals === true && kind === "approval";
  const linkOf: LinkOf = ({ id, question }) =>
    questions === "wait" || endsOn(question)
      ? undefined
      : `Waiting for an answer: ${protocol.askAddress(call.request, session, id)}`;
  const links = { linkOf, fileUrl: protocol.fileUrl };
  const toReader = (sink: TextSink): PlainText =>
    new PlainText(watch?.(sink) ?? sink, showsThoughts, links);
  const reading = { from, endsOn };
  if (!isStreamed) {
    const options = { format, toReader, stopsOnClose, reading };
    const value = await waitForAnswer(protocol, call, joined, options);
    return value && { value, headers };
  }
  return streamAnswer(protocol, call, joined, {
    headers,
    stopsOnClose,
    hidesThoughts: !showsThoughts,
    ...reading,
    open: (events) => toReader(format.stream(events)),
  });
}

interface WaitOptions extends Pick<ExchangeOptions, "format"> {
  readonly toReader: (sink: TextSink) => PlainText;
  readonly reading: Pick<FollowOptions, "from" | "endsOn">;
  readonly stopsOnClose: () => boolean | "later";
}

/**
 * Waits for the answer, or for `answer_s` seconds while a question is open.
 *
 * @returns The answer, or undefined if the client has left.
 */
function waitForAnswer(
  { clock, config }: Protocol<OpenaiConfig>,
  { response }: Call,
  joined: JoinedRun,
  { format, toReader, reading, stopsOnClose }: WaitOptions,
): Promise<object | undefined> {
  return new Promise((resolve, reject) => {
    const { run } = joined;
    const texts = { text: "", thought: "" };
    let timer: unknown;
    let isDue = false;
    const leave = (stops: boolean | "later"): void => {
      clock.clearTimeout(timer);
      response.off("close", onClose);
      joined.leave(stops);
    };
    const sink: TextSink = {
      // Only the end is of interest: text that was replaced before is never shown.
      isWritable: () => run.end !== undefined || isDue || run.waiting.length > 0,
      text: (delta) => void (texts.text += delta),
      thought: (delta) => void (texts.thought += delta),
      waits(questions) {
        leave(false);
        resolve(format.whole(texts, openEnd, isDue ? [] : questions));
      },
      over(end) {
        leave(false);
        if (end.outcome === "failed") reject(toEndRefusal(end));
        else resolve(format.whole(texts, end));
      },
    };
    const onClose = (): void => {
      follower.stop();
      leave(stopsOnClose());
      resolve(undefined);
    };
    const onDue = (): void => {
      if (!run.isAsking) return arm();
      isDue = true;
      follower.pump();
      follower.stop();
      sink.waits?.([]);
    };
    const arm = (): void => void (timer = clock.setTimeout(onDue, config().answer_s * 1_000));
    const follower = run.attach(toReader(sink), reading);
    response.once("close", onClose);
    if (response.destroyed) return onClose();
    arm();
    follower.pump();
  });
}
