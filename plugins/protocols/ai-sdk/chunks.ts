// Writes an answer as the chunks of a UI message stream that the versions 6 and 7 both know.
import { defined } from "../../../lib/util.ts";
import type { InboundMessage, Media, ToolCall } from "../../channels/index.ts";
import { isCut, toEndRefusal } from "../errors.ts";
import type { RunEnd, RunReader, TextKind } from "../follower.ts";
import { toDataUrl, type FileUrl } from "../media.ts";
import type { RunQuestion } from "../questions.ts";
import type { EventWriter } from "../sse.ts";
import { CardChunks, executed, type Continued } from "./card-chunks.ts";

/** One part of the message that the page shows. */
interface Part {
  readonly kind: "text" | "reasoning";
  /** Replaced text becomes a further part. */
  generation: number;
  isOpen: boolean;
}

const finishReasons: Readonly<Record<string, string>> = {
  stop: "stop",
  length: "length",
  content_filter: "content-filter",
};

/** Returns the type of a file, also if the application named only its first part. */
export const mediaTypeOf = ({ type }: Media): string => (type.includes("/") ? type : `${type}/*`);

/** Reads JSON. Other text stays text. */
function readValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** @returns Undefined if the application does not describe the step. */
function stepOf({ title, kind, state, details, locations }: ToolCall): object | undefined {
  const step = defined({ title, kind, state, details, locations });
  return Object.keys(step).length > 0 ? step : undefined;
}

interface ChunkOptions {
  readonly fileUrl: FileUrl;
  /** The answers of the page, whose message goes on. */
  readonly continued?: Continued | undefined;
}

export class ChunkReader implements RunReader {
  private readonly events: EventWriter;
  private readonly parts = new Map<string, Part>();
  private readonly cards: CardChunks;
  private readonly fileUrl: FileUrl;

  constructor(events: EventWriter, messageId: string, { fileUrl, continued }: ChunkOptions) {
    this.events = events;
    this.fileUrl = fileUrl;
    this.chunk({ type: "start", messageId });
    const write = (chunk: object): void => this.chunk(chunk);
    // A text does not continue in another step.
    const endParts = (): void => this.closeAll();
    this.cards = new CardChunks(write, endParts, continued);
  }

  isWritable(): boolean {
    return this.events.isWritable();
  }

  grew(id: string, kind: TextKind, more: string): void {
    const part = this.partOf(id, kind);
    this.open(id, part);
    this.chunk({ type: `${part.kind}-delta`, id: `${id}:${part.generation}`, delta: more });
  }

  replaced(id: string, kind: TextKind, whole: string): void {
    const part = this.partOf(id, kind);
    const before = `${id}:${part.generation}`;
    this.close(id, part);
    part.generation += 1;
    this.open(id, part);
    const after = `${id}:${part.generation}`;
    if (whole !== "") this.chunk({ type: `${part.kind}-delta`, id: after, delta: whole });
    this.chunk({
      type: "data-doorward-replaced",
      id: before,
      data: { part: before, by: after },
    });
  }

  closed(id: string, kind: TextKind): void {
    this.close(id, this.partOf(id, kind));
  }

  attachments(_id: string, media: readonly Media[]): void {
    this.cards.beginStep();
    for (const each of media) {
      const url = toDataUrl(each, this.fileUrl);
      this.chunk({ type: "file", url, mediaType: mediaTypeOf(each) });
    }
  }

  /** The page executes nothing: the application has called the tool. */
  toolCall(call: ToolCall): void {
    this.cards.beginStep();
    this.cards.called(call.id);
    this.input(call, stepOf(call));
  }

  /** The input is written again with what the page does not know yet about the step. */
  private input({ id, name: toolName, arguments: text }: ToolCall, step: object | undefined): void {
    const call = { toolCallId: id, toolName, input: readValue(text) };
    const more = step && { providerMetadata: { doorward: step } };
    this.chunk({ type: "tool-input-available", ...call, ...executed, ...more });
  }

  toolResult(call: ToolCall): void {
    const { id: toolCallId, result = "", error: errorText } = call;
    const step = stepOf(call);
    if (step) this.input(call, step);
    this.cards.returned(toolCallId);
    if (errorText !== undefined)
      return this.chunk({ type: "tool-output-error", toolCallId, errorText, ...executed });
    const output = readValue(result);
    this.chunk({ type: "tool-output-available", toolCallId, output, ...executed });
  }

  asked(question: RunQuestion): void {
    this.cards.asked(question);
  }

  settled(question: RunQuestion): void {
    this.cards.settled(question);
  }

  waits(): void {
    this.closeAll();
    this.finish({ type: "finish", finishReason: "tool-calls" });
  }

  turn({ id, content: text, sender, protocol }: InboundMessage): void {
    const data = {
      text,
      ...(sender && { sender }),
      ...(protocol !== undefined && { door: protocol }),
    };
    this.chunk({ type: "data-doorward-turn", id, data, transient: true });
  }

  over(end: RunEnd): void {
    this.closeAll();
    this.cards.over();
    const { outcome, finishReason, usage, model, asks = [] } = end;
    for (const question of asks) this.cards.asked(question, true);
    if (outcome === "failed") {
      const refusal = toEndRefusal(end);
      // The page resumes after a broken connection, and not after an error.
      if (isCut(refusal)) return this.events.destroy();
      this.chunk({ type: "error", errorText: refusal.message });
    } else if (outcome === "stopped") this.chunk({ type: "abort", reason: "stopped" });
    else {
      this.cards.beginStep();
      for (const call of end.calls ?? []) this.clientCall(call);
      if (end.suggestions) this.chunk({ type: "data-suggestions", data: end.suggestions });
      const facts = { ...(usage && { usage }), ...(model !== undefined && { model }) };
      const messageMetadata = Object.keys(facts).length > 0 ? facts : undefined;
      return this.finish({
        type: "finish",
        finishReason:
          end.calls || asks.length > 0 ? "tool-calls" : (finishReasons[finishReason] ?? "other"),
        ...(messageMetadata && { messageMetadata }),
      });
    }
    this.endEvents();
  }

  private finish(chunk: object): void {
    this.chunk({ type: "finish-step" });
    this.chunk(chunk);
    this.endEvents();
  }

  private endEvents(): void {
    this.events.event("[DONE]");
    this.events.end();
  }

  /** The page runs the tool, and sends the result with its next request. */
  private clientCall({ id: toolCallId, name: toolName, arguments: text }: ToolCall): void {
    const input = text.trim() === "" ? {} : readValue(text);
    this.chunk({ type: "tool-input-available", toolCallId, toolName, input });
  }

  private partOf(id: string, kind: TextKind): Part {
    const known = this.parts.get(id);
    if (known) return known;
    const part: Part = {
      kind: kind === "thought" ? "reasoning" : "text",
      generation: 0,
      isOpen: false,
    };
    this.parts.set(id, part);
    return part;
  }

  private open(id: string, part: Part): void {
    if (part.isOpen) return;
    this.cards.beginStep();
    part.isOpen = true;
    this.chunk({ type: `${part.kind}-start`, id: `${id}:${part.generation}` });
  }

  private closeAll(): void {
    for (const [id, part] of this.parts) this.close(id, part);
  }

  private close(id: string, part: Part): void {
    if (!part.isOpen) return;
    part.isOpen = false;
    this.chunk({ type: `${part.kind}-end`, id: `${id}:${part.generation}` });
  }

  private chunk(chunk: object): void {
    this.events.event(JSON.stringify(chunk));
  }
}
