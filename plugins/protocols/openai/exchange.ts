// Carries one answer to one HTTP response, streamed or whole, and stops it if the client leaves.
import {
  openEvents,
  streamAnswer,
  toEndRefusal,
  type Call,
  type EventWriter,
  type JoinedRun,
  type Protocol,
  type RunEnd,
} from "../index.ts";
import type { OpenaiConfig } from "./config.ts";
import { PlainText, type TextSink } from "./plain-text.ts";
import { hasTimedOut } from "./retries.ts";

/** How a protocol shows an answer. */
export interface ResponseFormat {
  whole(texts: { readonly text: string; readonly thought: string }, end: RunEnd): object;
  stream(events: EventWriter): TextSink;
}

interface ExchangeOptions {
  readonly joined: JoinedRun;
  readonly format: ResponseFormat;
  readonly headers: Readonly<Record<string, string>>;
  readonly isStreamed: boolean;
  /** Reads the reply on its way to the client. */
  readonly watch: (sink: TextSink) => TextSink;
}

/** Rejects with the error of the run if the response has not begun. */
export function exchange(
  protocol: Protocol<OpenaiConfig>,
  call: Call,
  { joined, format, headers, isStreamed, watch }: ExchangeOptions,
): Promise<object | undefined> {
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
  if (!isStreamed)
    return waitForAnswer(call, joined, { format, showsThoughts, stopsOnClose, watch });
  return streamAnswer(protocol, call, joined, {
    headers,
    stopsOnClose,
    hidesThoughts: !showsThoughts,
    open: (events) => new PlainText(watch(format.stream(events)), showsThoughts),
  });
}

interface WaitOptions extends Pick<ExchangeOptions, "format" | "watch"> {
  readonly showsThoughts: boolean;
  readonly stopsOnClose: () => boolean | "later";
}

/** @returns The answer, or undefined if the client has left. */
function waitForAnswer(
  { response }: Call,
  joined: JoinedRun,
  { format, showsThoughts, stopsOnClose, watch }: WaitOptions,
): Promise<object | undefined> {
  return new Promise((resolve, reject) => {
    const texts = { text: "", thought: "" };
    const sink: TextSink = {
      // Only the end is of interest: text that was replaced before is never shown.
      isWritable: () => joined.run.end !== undefined,
      text: (delta) => void (texts.text += delta),
      thought: (delta) => void (texts.thought += delta),
      over(end) {
        response.off("close", onClose);
        joined.leave(false);
        if (end.outcome === "failed") reject(toEndRefusal(end));
        else resolve(format.whole(texts, end));
      },
    };
    const onClose = (): void => {
      follower.stop();
      joined.leave(stopsOnClose());
      resolve(undefined);
    };
    const follower = joined.run.attach(new PlainText(watch(sink), showsThoughts));
    response.once("close", onClose);
    if (response.destroyed) return onClose();
    follower.pump();
  });
}

/** Sends a finished answer that no application wrote. */
export function streamText(
  protocol: Protocol<OpenaiConfig>,
  call: Call,
  { format, text }: { readonly format: ResponseFormat; readonly text: string },
): void {
  const sink = format.stream(openEvents(protocol, call));
  sink.text(text);
  sink.over({ outcome: "completed", finishReason: "stop", messages: 1 });
}
