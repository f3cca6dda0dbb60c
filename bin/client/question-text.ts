// Writes questions of the application as text for a terminal.
import type { ChatQuestion } from "../../lib/pico-link/index.ts";
import { countChanges, diffBlocks } from "../../lib/file-diff.ts";
import type { StepDetail } from "../../lib/step-details.ts";
import { sanitize, sanitizeLine } from "./text.ts";

/** The parts of a question that a terminal shows. */
type ShownQuestion = Pick<ChatQuestion, "id" | "content" | "title" | "options" | "schema" | "url">;
type Settlement = ChatQuestion["settled"];

/** A tool call in the form of a program or of OpenAI. */
interface CallForm {
  readonly id?: unknown;
  readonly name?: unknown;
  readonly arguments?: unknown;
  readonly title?: unknown;
  readonly locations?: unknown;
  readonly details?: unknown;
  readonly function?: { readonly name?: unknown; readonly arguments?: unknown };
}

type Change = Extract<StepDetail, { type: "diff" }>;

interface Place {
  readonly path: string;
  readonly line?: number;
}

const listOf = <T>(value: unknown): readonly T[] => (Array.isArray(value) ? value : []);
/** One line, with its indentation. */
const sanitizeLineEnd = (text: string): string => sanitize(text).replaceAll("\n", " ");

/** Lines of a change that a terminal shows. */
const maxShown = 200;

function changeLines({ path, old = "", new: after, cut }: Change): string[] {
  const blocks = cut === true ? undefined : diffBlocks(old, after);
  if (!blocks) return [`Change of ${sanitizeLine(path)}: too large to show here`];
  const rows = blocks.flatMap((block) =>
    block.kind === "shown"
      ? block.lines.map(({ sign, text }) => `  ${sign} ${sanitizeLineEnd(text)}`)
      : [`  … ${block.lines.length} unchanged`],
  );
  const { added, removed } = countChanges(blocks);
  const rest = rows.length - maxShown;
  return [
    `Change of ${sanitizeLine(path)}: +${added} -${removed}`,
    ...rows.slice(0, maxShown),
    ...(rest > 0 ? [`  … ${rest} more lines`] : []),
  ];
}

/** @returns What the application shows of a step: its title, its places and its changes. */
function stepLines({ title, locations, details }: CallForm): string[] {
  const places = listOf<Place>(locations).map(({ path, line }) =>
    sanitizeLine(line === undefined ? path : `${path}:${line}`),
  );
  return [
    ...(typeof title === "string" ? [sanitizeLine(title)] : []),
    ...(places.length > 0 ? [`  in ${places.join(", ")}`] : []),
    ...listOf<Partial<Change> & { readonly type?: unknown }>(details).flatMap((detail) =>
      detail.type === "diff" ? changeLines(detail as Change) : [],
    ),
  ];
}

/** @returns The lines of the call that a question is about: its name, and all of its arguments. */
function callLines(call: unknown): string[] {
  const given = (call ?? {}) as CallForm;
  const name = given.name ?? given.function?.name;
  const input = given.arguments ?? given.function?.arguments;
  if (typeof name !== "string") return [];
  const text = typeof input === "string" ? input : (JSON.stringify(input, null, 2) ?? "");
  const lines = sanitize(text)
    .split("\n")
    .map((line) => `  | ${line}`);
  return [...stepLines(given), `Arguments of ${sanitizeLine(name)}:`, ...lines];
}

const effects: Readonly<Record<string, string>> = { allow: "Allow", deny: "Deny" };
/** @returns The label, with the word of the effect unless it begins with that. */
function labelText({ label, effect }: NonNullable<ShownQuestion["options"]>[number]): string {
  const text = sanitizeLine(label);
  const word = effects[effect ?? ""];
  const begins = word !== undefined && text.toLowerCase().startsWith(word.toLowerCase());
  return word === undefined || begins ? text : `${word} · ${text}`;
}

/** @returns The fields of a form with the types of their values. */
export function formFields(schema: unknown): ReadonlyMap<string, unknown> {
  const { properties = {} } = (schema ?? {}) as { properties?: Record<string, { type?: unknown }> };
  return new Map(Object.entries(properties).map(([name, { type }]) => [name, type]));
}

/**
 * @param number - Number of the first option; absent: options have no numbers.
 * @param call - The tool call that the question is about. Its arguments precede the words.
 * @returns The lines of a question, with the ways to answer.
 */
export function questionLines(
  { id, content, title, options = [], schema, url }: ShownQuestion,
  number?: number,
  call?: unknown,
): string[] {
  const rows = options.map((each, index) => {
    const { id: option, description } = each;
    const how = number === undefined ? sanitizeLine(option) : `/${number + index}`;
    const more = description === undefined ? "" : `: ${sanitizeLine(description)}`;
    return `  ${how}  ${labelText(each)}${more}`;
  });
  const fields = [...formFields(schema)].map(
    ([name, type]) => `  -set ${sanitizeLine(name)}=VALUE  (${sanitizeLine(String(type))})`,
  );
  const subject = title === undefined ? [] : [sanitizeLine(title)];
  const address = url === undefined ? [] : [sanitizeLine(url)];
  const choice = options.length > 0 ? " OPTION" : fields.length > 0 ? " -set NAME=VALUE" : "";
  return [
    ...subject,
    ...callLines(call),
    ...sanitize(content).split("\n"),
    ...address,
    ...rows,
    ...fields,
    `  doorward answer ${sanitizeLine(id)}${choice}`,
  ];
}

/** @returns One line that says how a question was settled, and by whom. */
export function settledLine(settled: Settlement, options?: ShownQuestion["options"]): string {
  if (!settled) return "settled";
  const { outcome, option, by, via } = settled;
  const label = options?.find(({ id }) => id === option)?.label ?? option;
  const what = label === undefined ? outcome : `${outcome}: ${label}`;
  const who = by === undefined ? "" : ` by ${by.name ?? by.id}`;
  return sanitizeLine(`${what}${who} (${via})`);
}

/** Tool calls that are kept for questions about them. */
const maxCalls = 256;

/** Shows each open question once, and how it was settled. Their texts are not replies. */
export class ShownQuestions {
  protected readonly write: (line: string) => void;
  private readonly shown = new Map<string, ChatQuestion>();
  private readonly open = new Set<string>();
  /** The newest tool calls by id. */
  private readonly calls = new Map<string, unknown>();

  constructor(write: (line: string) => void) {
    this.write = write;
  }

  /** True if the message with this id is a question that was shown. */
  has(id: string): boolean {
    return this.shown.has(id);
  }

  /** Keeps the calls of a message, because a question may be about one. */
  learn(calls: readonly { readonly id: string }[]): void {
    for (const call of calls) {
      this.calls.delete(call.id);
      this.calls.set(call.id, call);
      if (this.calls.size > maxCalls) this.calls.delete(this.calls.keys().next().value!);
    }
  }

  /** True while a shown question is open. */
  areOpen(): boolean {
    return this.open.size > 0;
  }

  /** @returns The number of the first option of this question. Absent: options have no numbers. */
  protected numberOf(_question: ChatQuestion): number | undefined {
    return undefined;
  }

  readonly changed = (question: ChatQuestion): void => {
    const { id, state, settled } = question;
    const known = this.shown.get(id);
    if (state === "settled") {
      this.open.delete(id);
      if (known) this.write(settledLine(settled, known.options));
    } else if (!known) {
      this.shown.set(id, question);
      this.open.add(id);
      const call = this.calls.get(question.toolCallId ?? "");
      for (const line of questionLines(question, this.numberOf(question), call)) this.write(line);
    }
  };
}
