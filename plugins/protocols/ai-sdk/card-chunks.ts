// Writes questions of the application as chunks: cards that the person of a page can answer.
import { isAllowed, titleOf, toFacts, type RunQuestion } from "../questions.ts";
import { askTool, toInput, type PageAnswer } from "./cards.ts";

/** A call that the page does not execute. */
export const executed = { dynamic: true, providerExecuted: true } as const;

/** The answers of a page, whose message goes on. */
export interface Continued {
  readonly answers: readonly PageAnswer[];
  /** Ids of questions that stay open, because the answer is not valid. */
  readonly rejected: readonly string[];
  /** Ids that are not questions of the answer: their cards close. */
  readonly unknown: readonly string[];
  /** Settled questions that the answer does not contain. */
  readonly settled: readonly RunQuestion[];
}

/**
 * The cards of one stream. A chunk that tells the page of an approval does not exist in version 6,
 * so the output of the tool says yes, and its denial says no.
 */
export class CardChunks {
  private readonly write: (chunk: object) => void;
  /** Ends the open texts. */
  private readonly endParts: () => void;
  /** Question -> id of the call that shows it. */
  private readonly cards = new Map<string, string>();
  /** Calls of the application in this step that have no result. */
  private readonly calls = new Set<string>();
  /** Calls with permission and without a result, with what settled their question. */
  private readonly allowed = new Map<string, object>();
  /** The page sends answers only for cards of the last step, so what follows is another one. */
  private isStepOver = false;

  constructor(write: (chunk: object) => void, endParts: () => void, continued?: Continued) {
    this.write = write;
    this.endParts = endParts;
    const { answers = [], rejected = [], unknown = [], settled = [] } = continued ?? {};
    for (const { id, toolCallId } of answers) this.cards.set(id, toolCallId);
    for (const { id, toolCallId, isApproval } of answers)
      if (rejected.includes(id)) this.openAgain(id, toolCallId, isApproval);
      else if (unknown.includes(id)) this.write({ type: "tool-output-denied", toolCallId });
    if (rejected.length === 0) this.write({ type: "start-step" });
    for (const question of settled) this.settled(question);
  }

  /** Begins another step, if the one before is over. */
  beginStep(): void {
    if (!this.isStepOver) return;
    this.isStepOver = false;
    this.calls.clear();
    this.endParts();
    this.write({ type: "finish-step" });
    this.write({ type: "start-step" });
  }

  called(id: string): void {
    this.calls.add(id);
  }

  returned(id: string): void {
    this.calls.delete(id);
    this.allowed.delete(id);
  }

  /** @param isLast - The answer is over, and so are the steps. */
  asked(asked: RunQuestion, isLast = false): void {
    // The page answers cards of the last step only, and the answer goes on.
    if (asked.isDurable && !isLast) return;
    const { id, content, question, call } = asked;
    const isApproval = question.kind === "approval";
    const isCalled = isApproval && call !== undefined && this.calls.has(call.id);
    // A pending call of the step would keep the page from sending the answer.
    if (!isCalled && this.calls.size > 0) this.isStepOver = true;
    this.beginStep();
    const toolCallId = isCalled ? call.id : id;
    this.cards.set(id, toolCallId);
    if (!isCalled) {
      const title = titleOf(asked);
      const toolName = isApproval && call ? call.name : askTool;
      const shown = { type: "tool-input-available", toolCallId, toolName, input: toInput(asked) };
      this.write({ ...shown, title, ...(isApproval ? executed : { dynamic: true }) });
    }
    if (isApproval)
      this.write({ type: "tool-approval-request", approvalId: id, toolCallId, reason: content });
  }

  settled(asked: RunQuestion): void {
    const { id, question, sentence } = asked;
    if (!this.cards.has(id)) this.asked(asked, true);
    const toolCallId = this.cards.get(id);
    const { settled, kind } = question;
    if (toolCallId === undefined || !settled) return;
    const facts = toFacts(settled);
    this.write({ type: "data-doorward-question", id, data: { id, settled: facts } });
    this.isStepOver = true;
    const isYes = kind === "approval" ? isAllowed(question) : settled.outcome === "answered";
    if (isYes && toolCallId !== id) return void this.allowed.set(toolCallId, facts);
    if (isYes) return this.output(toolCallId, facts, kind === "approval");
    if (kind === "approval") return this.write({ type: "tool-output-denied", toolCallId });
    this.write({
      type: "tool-output-error",
      toolCallId,
      errorText: sentence || "No answer.",
      dynamic: true,
    });
  }

  /** The application has not told the results of these calls. */
  over(): void {
    for (const [id, facts] of this.allowed) this.output(id, facts, true);
    this.allowed.clear();
  }

  private output(toolCallId: string, output: object, isApproval: boolean): void {
    const form = isApproval ? executed : { dynamic: true };
    this.write({ type: "tool-output-available", toolCallId, output, ...form });
  }

  /** The card of an answer that is not valid lives again. */
  private openAgain(id: string, toolCallId: string, isApproval: boolean): void {
    if (isApproval)
      return this.write({ type: "tool-approval-request", approvalId: id, toolCallId });
    const shown = { toolCallId, toolName: askTool, input: { id }, dynamic: true };
    this.write({ type: "tool-input-available", ...shown });
  }
}
