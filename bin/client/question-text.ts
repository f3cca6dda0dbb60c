// Writes questions of the application as text for a terminal.
import { sanitize, sanitizeLine } from "./text.ts";

/** The parts of a question that a terminal shows. */
interface ShownQuestion {
  readonly id: string;
  readonly content: string;
  readonly title?: string;
  readonly options?: readonly {
    readonly id: string;
    readonly label: string;
    readonly description?: string;
  }[];
  readonly schema?: unknown;
  readonly url?: string;
}

/** How a question was settled. */
interface ShownSettlement {
  readonly outcome: string;
  readonly option?: string;
  readonly by?: { readonly id: string; readonly name?: string };
  readonly via: string;
}

const propertiesOf = (
  schema: unknown,
): readonly (readonly [string, { readonly type?: unknown }])[] =>
  Object.entries((schema as { properties?: object } | undefined)?.properties ?? {});

/** @returns The fields of a form with the types of their values. */
export const formFields = (schema: unknown): ReadonlyMap<string, unknown> =>
  new Map(propertiesOf(schema).map(([name, { type }]) => [name, type]));

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
export function settledLine(
  settled: ShownSettlement | undefined,
  options?: ShownQuestion["options"],
): string {
  if (!settled) return "settled";
  const { outcome, option, by, via } = settled;
  const label = options?.find(({ id }) => id === option)?.label ?? option;
  const what = label === undefined ? outcome : `${outcome}: ${label}`;
  const who = by === undefined ? "" : ` by ${by.name ?? by.id}`;
  return sanitizeLine(`${what}${who} (${via})`);
}

/** A question that may be settled. */
interface ChangedQuestion extends ShownQuestion {
  readonly state: "open" | "settled";
  readonly settled?: ShownSettlement;
}

/** Shows each open question once, and how it was settled. Their texts are not replies. */
export class ShownQuestions {
  private readonly write: (line: string) => void;
  private readonly shown = new Set<string>();
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

  changed(question: ChangedQuestion): void {
    const { id, state, settled, options } = question;
    const isKnown = this.shown.has(id);
    if (state === "settled") {
      this.open.delete(id);
      if (isKnown) this.write(settledLine(settled, options));
    } else if (!isKnown) {
      this.shown.add(id);
      this.open.add(id);
      for (const line of questionLines(question)) this.write(line);
    }
  }
}
