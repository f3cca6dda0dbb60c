// Carries one answer to one HTTP response, streamed or whole, and stops it if the client leaves.
import { toEndRefusal } from "../errors.ts";
import { openEnd, type RunEnd, type RunMark } from "../follower.ts";
import type { Protocol } from "../protocol.ts";
import type { RunQuestion } from "../questions.ts";
import { follow, streamAnswer, type Following } from "../stream.ts";
import type { KeptRun } from "../runs.ts";
import type { Call, JsonReply } from "../server.ts";
import type { EventWriter } from "../sse.ts";
import type { OpenaiConfig } from "./config.ts";
import type { Question } from "../../channels/index.ts";
import { PlainText, type LinkOf, type ReplyWatcher, type TextSink } from "./plain-text.ts";
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
  readonly run: KeptRun;
  readonly format: ResponseFormat;
  readonly headers: Readonly<Record<string, string>>;
  readonly isStreamed: boolean;
  /** The session of the channel. */
  readonly session: string;
  /** The part of the answer that the client has. */
  readonly from?: RunMark | undefined;
  readonly watcher?: ReplyWatcher | undefined;
}

/** Rejects with the error of the run if the response has not begun. */
export async function exchange(
  protocol: Protocol<OpenaiConfig>,
  call: Call,
  { run, format, headers, isStreamed, session, from, watcher }: ExchangeOptions,
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
  const reading = { showsThoughts, linkOf, fileUrl: protocol.fileUrl, watcher };
  const toReader = (sink: TextSink): PlainText => new PlainText(sink, reading);
  const following = { from, endsOn, stopsOnClose };
  if (!isStreamed) {
    const options = { format, toReader, following };
    const value = await waitForAnswer(protocol, call, run, options);
    return value && { value, headers };
  }
  return streamAnswer(protocol, call, run, {
    headers,
    hidesThoughts: !showsThoughts,
    ...following,
    open: (events) => toReader(format.stream(events)),
  });
}

interface WaitOptions extends Pick<ExchangeOptions, "format"> {
  readonly toReader: (sink: TextSink) => PlainText;
  readonly following: Following;
}

/**
 * Waits for the answer, or for `answer_s` seconds while a question is open.
 *
 * @returns The answer, or undefined if the client has left.
 */
function waitForAnswer(
  protocol: Protocol<OpenaiConfig>,
  call: Call,
  run: KeptRun,
  { format, toReader, following }: WaitOptions,
): Promise<object | undefined> {
  const { clock, config } = protocol;
  let timer: unknown;
  return new Promise<object | undefined>((resolve, reject) => {
    const texts = { text: "", thought: "" };
    let isDue = false;
    const sink: TextSink = {
      // Only the end is of interest: text that was replaced before is never shown.
      isWritable: () => run.end !== undefined || isDue || run.waiting.length > 0,
      text: (delta) => void (texts.text += delta),
      thought: (delta) => void (texts.thought += delta),
      waits: (questions) => resolve(format.whole(texts, openEnd, questions)),
      over(end) {
        if (end.outcome === "failed") reject(toEndRefusal(end));
        else resolve(format.whole(texts, end));
      },
    };
    const onDue = (): void => {
      if (!run.isAsking) return arm();
      isDue = true;
      follower.pump();
      follower.finish(openEnd);
    };
    const arm = (): void => void (timer = clock.setTimeout(onDue, config().answer_s * 1_000));
    const left = (): void => resolve(undefined);
    const follower = follow(protocol, call, run, toReader(sink), following, left);
    arm();
    follower.pump();
  }).finally(() => clock.clearTimeout(timer));
}
