// Recognises the ends of answers of servers that do not report them, such as the original one.
import type { ServerFrame } from "../../lib/pico-wire/index.ts";

/**
 * An answer may have several messages. It ends with `typing.stop`, or with the message that carries
 * `context_usage` or `final`. A server that sends neither has one message per answer.
 */
export class PlainTurns {
  private readonly ended: () => void;
  private hasSignals = false;
  private isTyping = false;
  private hasText = false;
  private hasWork = false;

  /** @param ended - Called at the end of each answer with a text or attachment. */
  constructor(ended: () => void) {
    this.ended = ended;
  }

  /** True once the server has shown that it marks the ends of its answers. */
  marksEnds(): boolean {
    return this.hasSignals;
  }

  /** True while an answer has begun and not ended. */
  isOpen(): boolean {
    return this.isTyping || this.hasText || this.hasWork;
  }

  /** The link assumed that the answer is complete: the server was silent. */
  assumeEnd(): void {
    this.isTyping = false;
    this.end();
  }

  /** Call it for every frame, before its messages are handled. */
  readonly accept = (frame: ServerFrame): void => {
    switch (frame.type) {
      case "typing.start":
        this.hasSignals = this.isTyping = true;
        return;
      case "typing.stop":
        this.hasSignals = true;
        this.isTyping = false;
        return this.end();
      case "message.create":
      case "message.update":
      case "media.create": {
        const { placeholder, thought, kind, final, context_usage: usage } = frame.payload;
        if ((placeholder ?? thought ?? kind) !== undefined) return void (this.hasWork = true);
        this.hasText = true;
        if (usage === undefined && final !== true) return;
        this.hasSignals = true;
        this.isTyping = false;
        return this.end();
      }
      default:
    }
  };

  private end(): void {
    const hadText = this.hasText;
    this.hasText = this.hasWork = false;
    if (hadText) this.ended();
  }
}
