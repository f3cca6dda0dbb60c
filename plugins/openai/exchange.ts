// Carries one answer to one HTTP response, streamed or whole, and stops it if the client leaves.
import type { ServerResponse } from "node:http";
import type { Clock } from "../../kernel/index.ts";
import { EventWriter, type JoinedRun, type Follower, type RunEnd } from "../doors/index.ts";
import { toEndRefusal } from "./errors.ts";
import { PlainText, type TextSink } from "./plain-text.ts";

/** Time without text after which the response begins, because proxies do not wait longer. */
const beginMs = 15_000;

/** How a protocol shows an answer. */
export interface ResponseFormat {
  whole(texts: { readonly text: string; readonly thought: string }, end: RunEnd): object;
  stream(events: EventWriter): TextSink;
}

interface ExchangeOptions {
  readonly response: ServerResponse;
  readonly joined: JoinedRun;
  readonly format: ResponseFormat;
  readonly headers: Readonly<Record<string, string>>;
  readonly clock: Clock;
  readonly isStreamed: boolean;
  readonly showsThoughts: boolean;
  readonly stopsOnClose: () => boolean;
  readonly stallMs: () => number;
}

/** Rejects with the error of the run if the response has not begun. */
export function exchange(options: ExchangeOptions): Promise<object | undefined> {
  return options.isStreamed ? streamAnswer(options) : waitForAnswer(options);
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

/** The response begins with the first text, when the application accepts, or after a while. */
function streamAnswer({
  response,
  joined,
  format,
  headers,
  clock,
  showsThoughts,
  stopsOnClose,
  stallMs,
}: ExchangeOptions): Promise<undefined> {
  return new Promise((resolve, reject) => {
    let begun: TextSink | undefined;
    let timer: unknown = undefined;
    const begin = (): TextSink => {
      clock.clearTimeout(timer);
      const onDrain = (): void => follower.pump();
      return (begun ??= format.stream(
        new EventWriter({ response, clock, stallMs, onDrain }, headers),
      ));
    };
    const sink: TextSink = {
      isWritable: () => begun?.isWritable() ?? true,
      text: (delta) => begin().text(delta),
      thought: (delta) => begin().thought(delta),
      over(end) {
        clock.clearTimeout(timer);
        response.off("close", onClose);
        joined.leave(false);
        if (!begun && end.outcome === "failed") return reject(toEndRefusal(end));
        begin().over(end);
        resolve(undefined);
      },
    };
    const onClose = (): void => {
      clock.clearTimeout(timer);
      follower.stop();
      joined.leave(stopsOnClose());
      resolve(undefined);
    };
    const follower: Follower = joined.run.attach(new PlainText(sink, showsThoughts));
    response.once("close", onClose);
    if (response.destroyed) return onClose();
    timer = clock.setTimeout(begin, beginMs);
    void joined.accepted.then(() => {
      if (!joined.run.end && !response.destroyed) begin();
    });
    follower.pump();
  });
}
