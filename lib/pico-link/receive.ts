import type { ErrorPayload, ServerFrame } from "../pico-wire/index.ts";
import { assemble, completeBefore, dropPartial } from "./message-assembly.ts";
import { reject, confirm } from "./outbox.ts";
import { updateConnection, update, notify, type StepContext } from "./step-context.ts";
import { handleGap, startStream, handleHello, acceptNumbered } from "./stream.ts";
import { scheduleRetry } from "./retry.ts";

/** Any sign of life. */
export const markAlive = (run: StepContext): void => updateConnection(run, { heardAt: run.now });

/** The server has no extension. */
export function assumePlainServer(run: StepContext): void {
  updateConnection(run, { mode: "plain" });
  update(run, { isPlain: true });
  startStream(run, undefined);
}

/** A frame arrived; undefined when it could not be read or is of a kind from the future: life, and nothing else. */
export function receiveFrame(run: StepContext, frame: ServerFrame | undefined): void {
  updateConnection(run, { heardAt: run.now, hasSpoken: true });
  if (frame?.type === "hello") return handleHello(run, frame.payload);
  if (!run.core.connection?.mode) assumePlainServer(run);
  if (!frame || ("seq" in frame && !acceptNumbered(run, frame))) return;
  notify(run, "onFrame", frame);
  handleFrame(run, frame);
}

function handleFrame(run: StepContext, frame: ServerFrame): void {
  const isExtension = run.core.connection?.mode === "extension";
  switch (frame.type) {
    case "message.create":
    case "message.update":
    case "media.create":
      return assemble(run, frame, isExtension);
    case "message.delete":
      dropPartial(run, frame.payload.message_id);
      return notify(run, "onRemoved", frame.payload.message_id);
    case "message.ack":
      return confirm(run, frame.payload.request_id, "delivered");
    case "gap":
      return handleGap(run, frame.payload);
    case "typing.start":
    case "typing.stop":
      notify(run, "onTyping", frame.type === "typing.start");
      return frame.type === "typing.stop" ? completeBefore(run) : undefined;
    case "error":
      return handleError(run, frame.payload);
    case "hello":
    case "pong":
  }
}

function handleError(run: StepContext, { code, message, request_id: id }: ErrorPayload): void {
  const isOurs = id !== undefined && run.core.outbox.some((entry) => entry.id === id);
  if (isOurs && code === "busy") return scheduleRetry(run, code);
  if (isOurs) return reject(run, id, code, message);
  if (code === "unknown_type") return update(run, { isTypingUnknown: true });
  notify(run, "onError", { code, message });
}
