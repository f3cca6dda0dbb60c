// Finds the text that each update adds to its message.
import type { OutboundMessage } from "../../channels/index.ts";
import type { TextGrowth } from "../../conversations/index.ts";

/** Unfinished messages whose latest text is kept, and the characters of all of them. */
const defaultBounds = { texts: 1_024, characters: 4 * 1024 * 1024 };

/** The fields that the frame of an added text does not repeat. */
interface GrowingText {
  readonly content: string;
  readonly kind: OutboundMessage["kind"] | undefined;
  readonly inReplyTo: string | undefined;
  readonly revision: number;
}

const isHighSurrogate = (unit: number): boolean => (unit & 0xfc00) === 0xd800;

/** True if the text begins with this one and the end of it divides no surrogate pair. */
const extendsText = (text: string, start: string): boolean =>
  text.startsWith(start) && !isHighSurrogate(start.charCodeAt(start.length - 1));

interface GrowOptions {
  readonly final: boolean;
  /** Unix milliseconds. */
  readonly time: number;
  /** True if the message has only fields that the frame of an added text can express. */
  readonly isTextOnly: boolean;
}

/**
 * Keeps the latest text of unfinished messages. If it is missing, because too many messages are
 * unfinished, the next update is sent as whole text.
 */
export class GrowingTexts {
  private readonly bounds: { readonly texts: number; readonly characters: number };
  /** By session and message id; the most recently updated is last. */
  private readonly texts = new Map<string, GrowingText>();
  private characters = 0;
  private revision = 0;

  constructor(bounds = defaultBounds) {
    this.bounds = bounds;
  }

  /**
   * Compares the text of a message with the previous one, and keeps it.
   *
   * @returns Undefined if the text is final and was replaced.
   */
  grow(
    session: string,
    id: string,
    message: OutboundMessage,
    { final, time, isTextOnly }: GrowOptions,
  ): TextGrowth | undefined {
    const { content, kind, inReplyTo } = message;
    const before = this.forget(session, id);
    const revision = (this.revision += 1);
    if (!final) this.keep(keyOf(session, id), { content, kind, inReplyTo, revision });
    const isGrown = before?.kind === kind && before?.inReplyTo === inReplyTo && isTextOnly;
    if (!before || !isGrown || !extendsText(content, before.content))
      return final ? undefined : { revision, at: 0, added: "", time, final };
    const at = before.content.length;
    return { revision, follows: before.revision, at, added: content.slice(at), time, final };
  }

  /** @returns The text that was kept. */
  forget(session: string, id: string): GrowingText | undefined {
    if (this.texts.size === 0) return undefined;
    const key = keyOf(session, id);
    const text = this.texts.get(key);
    if (!text) return undefined;
    this.texts.delete(key);
    this.characters -= text.content.length;
    return text;
  }

  /** Drops the texts of a session. */
  forgetSession(session: string): void {
    const start = keyOf(session, "");
    for (const [key, { content }] of this.texts) {
      if (!key.startsWith(start)) continue;
      this.texts.delete(key);
      this.characters -= content.length;
    }
  }

  private keep(key: string, text: GrowingText): void {
    const { texts, bounds } = this;
    texts.set(key, text);
    this.characters += text.content.length;
    for (const [oldest, { content }] of texts) {
      if (texts.size <= bounds.texts && this.characters <= bounds.characters) return;
      texts.delete(oldest);
      this.characters -= content.length;
    }
  }
}

/** Ids have no control characters. */
const keyOf = (session: string, id: string): string => `${session}\0${id}`;
