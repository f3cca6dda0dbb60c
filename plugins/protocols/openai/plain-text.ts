// Turns an answer of several messages into one text and one text of thoughts.
import type { Media, ToolCall } from "../../channels/index.ts";
import type { RunEnd, RunReader, TextKind } from "../follower.ts";
import { toMarkdown, type FileUrl } from "../media.ts";
import type { RunQuestion } from "../questions.ts";

/** Receives the two texts in parts. */
export interface TextSink {
  isWritable(): boolean;
  text(delta: string): void;
  thought(delta: string): void;
  over(end: RunEnd): void;
  /** The answer waits for these questions, and the response ends before it. */
  waits?(questions: readonly RunQuestion[]): void;
}

/** Returns the line that leads to the page of a question; undefined if there is none. */
export type LinkOf = (question: RunQuestion) => string | undefined;

const maxArguments = 2_000;

/** Reads the text of a reply on its way to the client. */
export type ReplyWatcher = Pick<TextSink, "text" | "over">;

interface PlainTextOptions {
  readonly showsThoughts: boolean;
  readonly linkOf: LinkOf;
  /** Whether the protocol has a form for the question. */
  readonly hasForm: (question: RunQuestion["question"]) => boolean;
  readonly fileUrl: FileUrl;
  readonly watcher?: ReplyWatcher | undefined;
}

export class PlainText implements RunReader {
  private readonly sink: TextSink;
  private readonly options: PlainTextOptions;
  /** The message that grew last, by kind. */
  private readonly latest = new Map<TextKind, string>();

  constructor(sink: TextSink, options: PlainTextOptions) {
    this.sink = sink;
    this.options = options;
  }

  isWritable(): boolean {
    return this.sink.isWritable();
  }

  grew(id: string, kind: TextKind, more: string): void {
    const latest = this.latest.get(kind);
    this.latest.set(kind, id);
    this.write(kind, latest === undefined || latest === id ? more : `\n\n${more}`);
  }

  /** A client keeps the text that it has, so the new one follows it. */
  replaced(id: string, kind: TextKind, whole: string): void {
    this.latest.set(kind, id);
    if (whole !== "") this.write(kind, `\n\n${whole}`);
  }

  closed(): void {}

  attachments(id: string, media: readonly Media[]): void {
    for (const each of media) this.append("text", id, toMarkdown(each, this.options.fileUrl));
  }

  /** Clients would run calls of the form that the protocol has, so they are only described. */
  toolCall({ id, name, arguments: text }: ToolCall): void {
    this.append("thought", id, `Tool call: ${name}(${text.slice(0, maxArguments)})`);
  }

  toolResult(): void {}

  asked(question: RunQuestion): void {
    const { id, content } = question;
    const title = question.question.title ?? "";
    const asked = title === "" || content.includes(title) ? content : `${title}\n\n${content}`;
    const link = question.question.state === "open" ? this.options.linkOf(question) : undefined;
    this.append("text", id, link === undefined ? asked : `${asked}\n\n${link}`);
  }

  settled({ id, sentence }: RunQuestion): void {
    this.append("text", id, sentence);
  }

  waits(questions: readonly RunQuestion[]): void {
    this.sink.waits?.(questions);
  }

  over(end: RunEnd): void {
    this.options.watcher?.over(end);
    const { asks: open, ...rest } = end;
    const asks = open?.filter(({ question }) => this.options.hasForm(question)) ?? [];
    this.sink.over({ ...rest, ...(asks.length > 0 && { asks }) });
  }

  private append(kind: TextKind, id: string, text: string): void {
    const separator = this.latest.has(kind) ? "\n\n" : "";
    this.latest.set(kind, id);
    this.write(kind, separator + text);
  }

  private write(kind: TextKind, delta: string): void {
    const { showsThoughts, watcher } = this.options;
    if (kind === "text") {
      watcher?.text(delta);
      this.sink.text(delta);
    } else if (showsThoughts) this.sink.thought(delta);
  }
}
