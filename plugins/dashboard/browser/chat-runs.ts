// Follows which messages of a conversation are being answered.
import type { ServerFrame } from "../../../lib/pico-wire/index.ts";

/** The messages that the application works on, as far as the page knows. */
export interface OpenRuns {
  /** The user sent this message. */
  begin(id: string): void;
  /** The message was rejected or stopped. */
  end(id: string): void;
  receive(frame: ServerFrame): void;
  /** Reads the capabilities of the server. Runs are followed only if it can stop them. */
  receiveRaw(text: string): void;
  isOpen(): boolean;
}

export function createOpenRuns(changed: () => void): OpenRuns {
  const open = new Set<string>();
  let canStop = false;
  const begin = (id: string): void => {
    if (!canStop) return;
    open.add(id);
    changed();
  };
  const end = (id: string): void => void (open.delete(id) && changed());
  return {
    begin,
    end,
    isOpen: () => open.size > 0,
    receiveRaw(text) {
      if (text.startsWith('{"type":"hello"')) canStop = /"can":\[[^\]]*"stop"/.test(text);
    },
    receive(frame) {
      switch (frame.type) {
        case "message.user":
          return begin(frame.payload.request_id);
        case "answer.end":
          return end(frame.payload.request_id);
        case "message.create":
        case "message.update": {
          const { request_id: id, final, kind } = frame.payload;
          if (id === undefined) return;
          if (!final) begin(id);
          // A page that loads later receives complete answers without their end.
          else if (kind === undefined) end(id);
        }
      }
    },
  };
}
