// Streams one answer to one HTTP response.
import { toEndRefusal, accessEnded } from "./errors.ts";
import type { FollowOptions, Follower, RunReader } from "./follower.ts";
import type { Protocol } from "./protocol.ts";
import type { KeptRun } from "./runs.ts";
import type { Call } from "./server.ts";
import { EventWriter } from "./sse.ts";

/** Time without text after which the response begins, because proxies do not wait longer. */
const beginMs = 15_000;

export interface Following extends Omit<FollowOptions, "done"> {
  /** Whether the answer stops when its last client leaves. @defaultValue that of the call */
  readonly stopsOnClose?: () => boolean | "later";
}

interface StreamOptions extends Following {
  readonly headers?: Readonly<Record<string, string>>;
  /** Runs when the response begins: with the first text, when the application accepts, or after
   *  a while. */
  readonly open: (events: EventWriter) => RunReader;
}

/** A reader that opens another one with the first call. */
function lazyReader(open: () => RunReader, isWritable: () => boolean): RunReader {
  return {
    isWritable,
    grew: (id, kind, more) => open().grew(id, kind, more),
    replaced: (id, kind, whole) => open().replaced(id, kind, whole),
    closed: (id, kind) => open().closed(id, kind),
    attachments: (id, media) => open().attachments(id, media),
    toolCall: (call) => open().toolCall(call),
    toolResult: (call) => open().toolResult(call),
    plan: (id, entries) => open().plan?.(id, entries),
    asked: (question) => open().asked(question),
    settled: (question) => open().settled(question),
    turn: (message) => open().turn?.(message),
    waits: (questions) => open().waits?.(questions),
    over: (end) => open().over(end),
  };
}

/**
 * Passes an answer to a reader until the end, or until the client or its access has gone.
 *
 * @param done - Called once: the reader receives nothing more.
 */
export function follow(
  { runs }: Protocol,
  { response, access, stopsOnClose: stopsCall }: Call,
  run: KeptRun,
  reader: RunReader,
  { stopsOnClose = stopsCall, ...options }: Following,
  done: () => void,
): Follower {
  const leave = (stops: boolean | "later"): void => {
    access.ending?.removeEventListener("abort", onEnding);
    response.off("close", onClose);
    runs.leave(run, access.sender, stops);
    done();
  };
  const onClose = (): void => {
    follower.stop();
    leave(stopsOnClose());
  };
  // The answer continues: only this client no longer receives it.
  const onEnding = (): void =>
    follower.finish({
      outcome: "failed",
      finishReason: "error",
      messages: 0,
      error: accessEnded(),
    });
  run.readers += 1;
  const follower = run.attach(reader, { ...options, done: () => leave(false) });
  response.once("close", onClose);
  access.ending?.addEventListener("abort", onEnding);
  if (response.destroyed) onClose();
  else if (access.ending?.aborted) onEnding();
  return follower;
}

/** Streams an answer. Rejects with the error of the run if the response has not begun. */
export function streamAnswer(
  protocol: Protocol,
  call: Call,
  run: KeptRun,
  { open, headers, ...options }: StreamOptions,
): Promise<undefined> {
  const { clock } = protocol;
  const { response } = call;
  let timer: unknown;
  return new Promise<undefined>((resolve, reject) => {
    let begun: RunReader | undefined;
    let isOver = false;
    const begin = (): RunReader => {
      clock.clearTimeout(timer);
      return (begun ??= open(new EventWriter(protocol, call, headers, () => follower.pump())));
    };
    const reader: RunReader = {
      ...lazyReader(begin, () => begun?.isWritable() ?? true),
      over(end) {
        if (!begun && end.outcome === "failed") return reject(toEndRefusal(end));
        response.once("finish", () => void (run.isSeen = true));
        begin().over(end);
      },
    };
    const follower = follow(protocol, call, run, reader, options, () => {
      isOver = true;
      resolve(undefined);
    });
    timer = clock.setTimeout(begin, beginMs);
    void run.delivered.then(() => {
      if (!isOver) begin();
    });
    follower.pump();
  }).finally(() => clock.clearTimeout(timer));
}
