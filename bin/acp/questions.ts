// Puts the questions of an application to an editor. The first answer counts, wherever it comes
// from: a question that is settled elsewhere is withdrawn in the editor.
import { RpcError, rpcCodes, permissionResult } from "../../lib/acp-wire/index.ts";
import type { ChatAnswer, ChatAnswered, ChatQuestion } from "../../lib/pico-link/index.ts";
import { BoundedMap } from "../../lib/util.ts";
import { errorReason } from "../client/session.ts";
import { settledLine } from "../client/question-text.ts";
import { elicitationResult } from "./requests.ts";
import { callId, textContent, type SentCall } from "./tool-calls.ts";
import type { Updates } from "./updates.ts";

interface QuestionsOptions {
  readonly sessionId: string;
  readonly updates: () => Updates;
  readonly request: (method: string, params: object, signal: AbortSignal) => Promise<unknown>;
  readonly answer: (id: string, answer: ChatAnswer) => Promise<ChatAnswered>;
  /** Whether the editor shows forms. */
  readonly showsForms: () => boolean;
}

interface OpenQuestion {
  readonly question: ChatQuestion;
  /** Aborts when the question is settled. */
  readonly settled: AbortController;
  /** True while the editor shows it. */
  isAsked: boolean;
}

/** Questions that are remembered, so that their texts are not taken for answers. */
const maxKnown = 1_024;

type Option = NonNullable<ChatQuestion["options"]>[number];

/** Only an option with the effect `allow` allows: an editor may choose such an option by itself. */
const kindOf = ({ effect, lasting }: Option): string =>
  `${effect === "allow" ? "allow" : "reject"}_${lasting ? "always" : "once"}`;

/** The form of a question that is not a choice of one option. */
function formOf({ kind, schema, options = [], multiple }: ChatQuestion): object | undefined {
  if (kind === "form") return schema as object;
  const one = options.map(({ id, label }) => ({ const: id, title: label }));
  const field = multiple
    ? { type: "array", title: "Answer", items: { anyOf: one } }
    : { type: "string", title: "Answer" };
  return { type: "object", properties: { answer: field }, required: ["answer"] };
}

function toAnswer({ kind, multiple }: ChatQuestion, content: Record<string, unknown>): ChatAnswer {
  if (kind === "form") return { values: content };
  const { answer } = content;
  if (multiple) return { options: Array.isArray(answer) ? answer.map(String) : [] };
  return { text: typeof answer === "string" ? answer : "" };
}

export class EditorQuestions {
  private readonly options: QuestionsOptions;
  private readonly open = new Map<string, OpenQuestion>();
  private readonly known = new BoundedMap<string, true>(maxKnown);

  constructor(options: QuestionsOptions) {
    this.options = options;
  }

  /** True if the message with this id is a question: its text is not an answer. */
  has(id: string): boolean {
    return this.known.has(id) || this.open.has(id);
  }

  readonly changed = (question: ChatQuestion): void => {
    const { id, state } = question;
    this.known.renew(id, true);
    if (state === "settled") return this.withdraw(question);
    if (this.open.has(id)) return;
    const entry = { question, settled: new AbortController(), isAsked: false };
    this.open.set(id, entry);
    void this.ask(entry);
  };

  /** Puts the questions again whose answer was not delivered. */
  askAgain(): void {
    for (const entry of this.open.values()) if (!entry.isAsked) void this.ask(entry);
  }

  /** Withdraws all in the editor. They stay open. */
  close(): void {
    for (const { settled } of this.open.values()) settled.abort();
    this.open.clear();
  }

  private withdraw(question: ChatQuestion): void {
    const entry = this.open.get(question.id);
    if (!entry) return;
    this.open.delete(question.id);
    entry.settled.abort();
    const { outcome, option } = question.settled ?? {};
    const { options } = entry.question;
    const chosen = options?.find(({ id }) => id === option)?.effect;
    const isYes = outcome === "answered" && chosen !== "deny";
    const call = this.callOf(entry.question);
    // Editors without `$/cancel_request` close their buttons when the call goes on.
    const isOwn = entry.question.toolCallId === undefined;
    const said = textContent(settledLine(question.settled, options));
    this.options.updates().call({
      ...call,
      status: isYes ? (isOwn ? "completed" : "in_progress") : "failed",
      content: [...(call.content ?? []), said],
    });
  }

  /** The call that the question is about, with the words of the question. */
  private callOf({ id, title, content, requestId, toolCallId, kind }: ChatQuestion): SentCall {
    const sentId = callId(requestId, toolCallId ?? `question-${id}`);
    const known = this.options.updates().known(sentId);
    const shown = known?.content ?? [];
    const isShown = shown.some((each) => each.type === "content" && each.content.text === content);
    const isSaid = content.trim() === "" || content === title || isShown;
    const all = isSaid ? shown : [...shown, textContent(content)];
    return {
      toolCallId: sentId,
      title: title ?? (kind === "approval" ? "Allow this?" : "Question"),
      kind: "other",
      status: "pending",
      ...known,
      ...(all.length > 0 && { content: all }),
    };
  }

  private async ask(entry: OpenQuestion): Promise<void> {
    const { question, settled } = entry;
    entry.isAsked = true;
    try {
      const answer = await this.put(question, settled.signal);
      if (!answer || settled.signal.aborted) return;
      await this.deliver(entry, answer);
    } catch (error) {
      if (settled.signal.aborted) return;
      if (error instanceof RpcError && error.code === rpcCodes.cancelled) return;
      this.say(question, "The editor cannot show this question.");
    }
  }

  private async deliver(entry: OpenQuestion, answer: ChatAnswer): Promise<void> {
    const { question } = entry;
    try {
      const { status, problem } = await this.options.answer(question.id, { ...answer, via: "acp" });
      if (status === "settled" || status === "already" || status === "unknown") return;
      this.say(question, `Not answered: ${problem ?? status}`);
    } catch (error) {
      // The next connection puts it again.
      entry.isAsked = false;
      this.options.updates().say(`Not answered: ${errorReason(error).message}`);
    }
  }

  /** @returns Undefined if the question stays open. */
  private async put(question: ChatQuestion, signal: AbortSignal): Promise<ChatAnswer | undefined> {
    const { options = [], multiple, kind } = question;
    if (options.length > 0 && !multiple) return this.permission(question, options, signal);
    const isForm = kind === "form" || multiple === true || question.other === true;
    if (isForm && this.options.showsForms()) return this.form(question, signal);
    this.say(question, "");
    return undefined;
  }

  private async permission(
    question: ChatQuestion,
    options: readonly Option[],
    signal: AbortSignal,
  ) {
    const { sessionId, updates, request } = this.options;
    const call = this.callOf(question);
    updates().call(call);
    const result = await request(
      "session/request_permission",
      {
        sessionId,
        toolCall: call,
        options: options.map((option) => ({
          optionId: option.id,
          name: option.label,
          kind: kindOf(option),
        })),
      },
      signal,
    );
    const { outcome } = permissionResult.parse(result);
    // `cancelled` belongs to a stop, which settles the question.
    return outcome.outcome === "selected" ? { option: outcome.optionId } : undefined;
  }

  private async form(question: ChatQuestion, signal: AbortSignal): Promise<ChatAnswer | undefined> {
    const { sessionId, request } = this.options;
    const { title, content } = question;
    const message = [...(title === undefined ? [] : [title]), content].join("\n\n");
    const params = { sessionId, mode: "form", message, requestedSchema: formOf(question) };
    const { action, content: values = {} } = elicitationResult.parse(
      await request("elicitation/create", params, signal),
    );
    if (action === "accept") return toAnswer(question, values);
    return action === "decline" ? { dismiss: true } : undefined;
  }

  /** Shows a question that the editor has no form for. */
  private say({ id, title, content, url }: ChatQuestion, reason: string): void {
    const lines = [reason, title && `**${title}**`, content, url];
    const how = `Answer it in the dashboard, or with \`doorward answer ${id}\`.`;
    this.options.updates().say([...lines.filter(Boolean), how].join("\n\n"));
  }
}
