import type { ErrorPayload, ServerFrame } from "../pico-wire/index.ts";
import { assemble, complete, forget } from "./assembly.ts";
import { refuse, settle } from "./outbox.ts";
import { note, set, tell, type Run } from "./run.ts";
import { announced, begin, hello, isNew } from "./stream.ts";
import { wait } from "./verdicts.ts";

/** Any sign of life. */
export const heard = (run: Run): void => note(run, { heardAt: run.now });

/** The server has no extension. */
export function isPlain(run: Run): void {
  note(run, { mode: "plain" });
  set(run, { isPlain: true });
  begin(run, undefined);
}

/** A frame arrived; undefined when it could not be read or is of a kind from the future: life, and nothing else. */
export function receive(run: Run, frame: ServerFrame | undefined): void {
  note(run, { heardAt: run.now, hasSpoken: true });
  if (frame?.type === "hello") return hello(run, frame.payload);
  if (!run.core.connection?.mode) isPlain(run);
  if (!frame || ("seq" in frame && !isNew(run, frame))) return;
  tell(run, "onFrame", frame);
  handle(run, frame);
}

function handle(run: Run, frame: ServerFrame): void {
  const isExtension = run.core.connection?.mode === "extension";
  switch (frame.type) {
    case "message.create":
    case "message.update":
    case "media.create":
      return assemble(run, frame, isExtension);
    case "message.delete":
      forget(run, frame.payload.message_id);
      return tell(run, "onRemoved", frame.payload.message_id);
    case "message.ack":
      return settle(run, frame.payload.request_id, "delivered");
    case "gap":
      return announced(run, frame.payload);
    case "typing.start":
    case "typing.stop":
      tell(run, "onTyping", frame.type === "typing.start");
      return frame.type === "typing.stop" ? complete(run) : undefined;
    case "error":
      return failed(run, frame.payload);
    case "hello":
    case "pong":
  }
}

function failed(run: Run, { code, message, request_id: id }: ErrorPayload): void {
  const isOurs = id !== undefined && run.core.outbox.some((entry) => entry.id === id);
  if (isOurs && code === "busy") return wait(run, code);
  if (isOurs) return refuse(run, id, code, message);
  if (code === "unknown_type") return set(run, { isTypingUnknown: true });
  tell(run, "onError", { code, message });
}
