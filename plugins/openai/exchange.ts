// Carries one answer to one HTTP response, streamed or whole, and stops it if the client leaves.
import {
  EventWriter,
  streamRun,
  toEndRefusal,
  type RunEnd,
  type StreamOptions,
} from "../doors/index.ts";
import { PlainText, type TextSink } from "./plain-text.ts";

/** How a protocol shows an answer. */
export interface ResponseFormat {
  whole(texts: { readonly text: string; readonly thought: string }, end: RunEnd): object;
  stream(events: EventWriter): TextSink;
}

interface ExchangeOptions extends Omit<StreamOptions, "open"> {
  readonly format: ResponseFormat;
  readonly isStreamed: boolean;
  readonly showsThoughts: boolean;
}

/** Rejects with the error of the run if the response has not begun. */
export function exchange(options: ExchangeOptions): Promise<object | undefined> {
  const { isStreamed, showsThoughts, format } = options;
  if (!isStreamed) return waitForAnswer(options);
  const open = (events: EventWriter): PlainText =>
    new PlainText(format.stream(events), showsThoughts);
  return streamRun({ ...options, hidesThoughts: !showsThoughts, open });
}

/** @returns The answer, or undefined if the client has left. */
function waitForAnswer({
  response,
  joined,
  format,
  showsThoughts,
  stopsOnClose,
}: ExchangeOptions): Promise<object | undefined> {
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
    const follower = joined.run.attach(new PlainText(sink, showsThoughts));
    response.once("close", onClose);
    if (response.destroyed) return onClose();
    follower.pump();
  });
}

/** Sends a finished answer that no application wrote. */
export function streamText(
  text: string,
  {
    response,
    format,
    headers,
    clock,
    stallMs,
  }: Pick<ExchangeOptions, "response" | "format" | "headers" | "clock" | "stallMs">,
): void {
  const events = new EventWriter({ response, clock, stallMs, onDrain: () => undefined }, headers);
  const sink = format.stream(events);
  sink.text(text);
  sink.over({ outcome: "completed", finishReason: "stop", messages: 1 });
}
