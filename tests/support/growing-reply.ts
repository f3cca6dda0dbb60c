// A reply that grows when the test says so.
import type { Handler } from "./protocol-service.ts";

export interface Control {
  readonly handler: Handler;
  /** Continues the reply with this text. */
  write(text: string): void;
  replace(text: string): void;
  end(): void;
}

export function createControl(): Control {
  let begun: ReturnType<Parameters<Handler>[0]["stream"]> | undefined;
  let finish: () => void = () => undefined;
  return {
    handler: async (message) => {
      begun = message.stream();
      message.accept();
      await new Promise<void>((done) => {
        finish = done;
        message.signal.addEventListener("abort", () => done());
      });
      await begun.end();
    },
    write: (text) => void begun!.write(text),
    replace: (text) => begun!.replace(text),
    end: () => finish(),
  };
}
