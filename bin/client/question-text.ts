// Writes questions of the application as text for a terminal.
import type { ChatQuestion } from "../../lib/pico-link/index.ts";
import { sanitize, sanitizeLine } from "./text.ts";

/** The parts of a question that a terminal shows. */
type ShownQuestion = Pick<ChatQuestion, "id" | "content" | "title" | "options" | "schema" | "url">;
type Settlement = ChatQuestion["settled"];

/** @returns The fields of a form with the types of their values. */
export function formFields(schema: unknown): ReadonlyMap<string, unknown> {
  const { properties = {} } = (schema ?? {}) as { properties?: Record<string, { type?: unknown }> };
  return new Map(Object.entries(properties).map(([name, { type }]) => [name, type]));
}

/**
 * @param number - Number of the first option; absent: options have no numbers.
 * @returns The lines of a question, with the ways to answer.
 */
export function questionLines(
  { id, content, title, options = [], schema, url }: ShownQuestion,
  number?: number,
): string[] {
  const rows = options.map(({ id: option, label, description }, index) => {
    const how = number === undefined ? sanitizeLine(option) : `/${number + index}`;
    const more = description === undefined ? "" : `: ${sanitizeLine(description)}`;
    return `  ${how}  ${sanitizeLine(label)}${more}`;
  });
  const fields = [...formFields(schema)].map(
    ([name, type]) => `  -set ${sanitizeLine(name)}=VALUE  (${sanitizeLine(String(type))})`,
  );
  const subject = title === undefined ? [] : [sanitizeLine(title)];
  const address = url === undefined ? [] : [sanitizeLine(url)];
  const choice = options.length > 0 ? " OPTION" : fields.length > 0 ? " -set NAME=VALUE" : "";
  return [
    ...subject,
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

/** Shows each open question once, and how it was settled. Their texts are not replies. */
export class ShownQuestions {
  protected readonly write: (line: string) => void;
  private readonly shown = new Map<string, ChatQuestion>();
  private readonly open = new Set<string>();

  constructor(write: (line: string) => void) {
    this.write = write;
  }

  /** True if the message with this id is a question that was shown. */
  has(id: string): boolean {
    return this.shown.has(id);
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
      for (const line of questionLines(question, this.numberOf(question))) this.write(line);
    }
  };
}
