// Carries one answer to one HTTP response, streamed or whole, and stops it if the client leaves.
import { refuse, toEndRefusal, type Refusal } from "../errors.ts";
import { openEnd, type RunEnd, type RunMark } from "../follower.ts";
import type { Protocol } from "../protocol.ts";
import { waitingLine, type RunQuestion } from "../questions.ts";
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
  /** True if the client wants JSON: no other text may be its answer. */
  readonly isFormed?: boolean;
}

/** Rejects with the error of the run if the response has not begun. */
export async function exchange(
  protocol: Protocol<OpenaiConfig>,
  call: Call,
  { run, format, headers, isStreamed, session, from, watcher, isFormed = false }: ExchangeOptions,
): Promise<JsonReply | undefined> {
  const { config, clock } = protocol;
  const showsThoughts = config().thoughts !== "hide";
  const beganAt = clock.monotonic();
  const stopsOnClose = (): boolean | "later" => {
    if (!call.stopsOnClose()) return false;
    // Libraries give up by themselves, and a person still decides.
    if (!isStreamed && run.isAsking) return false;
    const { request, response } = call;
    // A library repeats a request only if it has received nothing.
    const isRepeated = !response.headersSent && hasTimedOut(request, clock.monotonic() - beganAt);
    return isRepeated ? "later" : true;
  };
  const { questions } = config();
  const endsOn = ({ kind }: Question): boolean =>
    questions === "responses" && format.hasApprovals === true && kind === "approval";
  const addressOf = (id: string): string => protocol.askAddress(call.request, session, id);
  const linkOf: LinkOf = ({ id, isDurable }) =>
    questions === "wait" && !isDurable ? undefined : waitingLine(addressOf(id));
  const reading = { showsThoughts, linkOf, hasForm: endsOn, fileUrl: protocol.fileUrl, watcher };
  const toReader = (sink: TextSink): PlainText => new PlainText(sink, reading);
  const following = { from, endsOn, stopsOnClose };
  if (!isStreamed) {
    const refuseOpen = isFormed ? (id: string) => questionOpen(id, addressOf(id)) : undefined;
    const options = { format, toReader, following, refuseOpen };
    const reply = await waitForAnswer(protocol, call, run, options);
    return reply && { value: reply.value, headers: { ...headers, ...questionHeader(reply.asked) } };
  }
  return streamAnswer(protocol, call, run, {
    headers,
    hidesThoughts: !showsThoughts,
    ...following,
    open: (events) => toReader(format.stream(events)),
  });
}

/** Names an open question that ends the response. */
export const questionHeader = (id: string | undefined): Readonly<Record<string, string>> =>
  id === undefined ? {} : { "X-Doorward-Question": id };

/** A client that wants JSON cannot receive a text with a link. */
export const questionOpen = (id: string, address: string): Refusal =>
  refuse(
    "question_open",
    `A question is open. Answer it, then send the request again: ${address}`,
    {
      headers: questionHeader(id),
    },
  );

interface WaitOptions extends Pick<ExchangeOptions, "format"> {
  readonly toReader: (sink: TextSink) => PlainText;
  readonly following: Following;
  /** Set if an open question is an error. */
  readonly refuseOpen: ((id: string) => Refusal) | undefined;
}

interface WholeReply {
  readonly value: object;
  /** An open question, to which the answer waits. */
  readonly asked?: string | undefined;
}

/**
 * Waits for the answer. While a question is open, it waits for `question_wait_s` seconds.
 *
 * @returns The answer, or undefined if the client has left.
 */
function waitForAnswer(
  protocol: Protocol<OpenaiConfig>,
  call: Call,
  run: KeptRun,
  { format, toReader, following, refuseOpen }: WaitOptions,
): Promise<WholeReply | undefined> {
  const { clock, config } = protocol;
  let timer: unknown;
  return new Promise<WholeReply | undefined>((resolve, reject) => {
    const texts = { text: "", thought: "" };
    let asked: string | undefined;
    const isWaiting = (): boolean =>
      run.waiting.length > 0 && run.waiting.every(({ question }) => following.endsOn?.(question));
    const sink: TextSink = {
      // Only the end is of interest: text that was replaced before is never shown.
      isWritable: () => run.end !== undefined || asked !== undefined || isWaiting(),
      text: (delta) => void (texts.text += delta),
      thought: (delta) => void (texts.thought += delta),
      waits(questions) {
        resolve({ value: format.whole(texts, openEnd, questions), asked: questions[0]?.id });
      },
      over(end) {
        const open = asked ?? run.end?.asks?.[0]?.id;
        if (end.outcome === "failed") reject(toEndRefusal(end));
        else if (open !== undefined && refuseOpen) reject(refuseOpen(open));
        else resolve({ value: format.whole(texts, end, end.asks), asked: open });
      },
    };
    const onDue = (): void => {
      asked = run.open[0]?.id;
      if (asked === undefined) return;
      if (refuseOpen) reject(refuseOpen(asked));
      follower.pump();
      follower.finish(openEnd);
    };
    const onAsking = (isAsking: boolean): void => {
      clock.clearTimeout(timer);
      if (isAsking) timer = clock.setTimeout(onDue, config().question_wait_s * 1_000);
    };
    const left = (): void => resolve(undefined);
    const options = { ...following, onAsking };
    const follower = follow(protocol, call, run, toReader(sink), options, left);
    follower.pump();
  }).finally(() => clock.clearTimeout(timer));
}
