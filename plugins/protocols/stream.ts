// Streams one answer to one HTTP response.
import { toEndRefusal, accessEnded } from "./errors.ts";
import type { FollowOptions, Follower, RunReader } from "./follower.ts";
import type { Protocol } from "./protocol.ts";
import type { JoinedRun } from "./runs.ts";
import type { Call } from "./server.ts";
import { EventWriter } from "./sse.ts";

/** Time without text after which the response begins, because proxies do not wait longer. */
const beginMs = 15_000;

interface StreamOptions extends FollowOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether the answer stops when its last client leaves. @defaultValue that of the call */
  readonly stopsOnClose?: () => boolean | "later";
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
    over: (end) => open().over(end),
  };
}

/** Streams an answer. Rejects with the error of the run if the response has not begun. */
export function streamAnswer(
  protocol: Protocol,
  call: Call,
  joined: JoinedRun,
  options: StreamOptions,
): Promise<undefined> {
  const { clock } = protocol;
  const { response, access } = call;
  const { open, headers, stopsOnClose = call.stopsOnClose } = options;
  return new Promise((resolve, reject) => {
    let begun: RunReader | undefined;
    let timer: unknown = undefined;
    const begin = (): RunReader => {
      clock.clearTimeout(timer);
      return (begun ??= open(new EventWriter(protocol, call, headers, () => follower.pump())));
    };
    const leave = (): void => {
      clock.clearTimeout(timer);
      access.ending?.removeEventListener("abort", onEnding);
      response.off("close", onClose);
      joined.leave(false);
    };
    const reader: RunReader = {
      ...lazyReader(begin, () => begun?.isWritable() ?? true),
      waits(questions) {
        leave();
        begin().waits?.(questions);
        resolve(undefined);
      },
      over(end) {
        leave();
        if (!begun && end.outcome === "failed") return reject(toEndRefusal(end));
        response.once("finish", joined.noteSeen);
        begin().over(end);
        resolve(undefined);
      },
    };
    const onClose = (): void => {
      clock.clearTimeout(timer);
      access.ending?.removeEventListener("abort", onEnding);
      follower.stop();
      joined.leave(stopsOnClose());
      resolve(undefined);
    };
    // The answer continues: only this client no longer receives it.
    const onEnding = (): void => {
      follower.stop();
      reader.over({ outcome: "failed", finishReason: "error", messages: 0, error: accessEnded() });
    };
    const follower: Follower = joined.run.attach(reader, options);
    response.once("close", onClose);
    if (response.destroyed) return onClose();
    access.ending?.addEventListener("abort", onEnding);
    timer = clock.setTimeout(begin, beginMs);
    void joined.accepted.then(() => {
      if (!joined.run.end && !response.destroyed) begin();
    });
    follower.pump();
  });
}
