const safe = Symbol("safe markup");

/** Markup that needs no escaping. Only `html` and `built` make it, so nothing parsed from outside can pass for it. */
export interface Html {
  readonly [safe]: string;
}

export type HtmlPart = Html | string | number | null | undefined | false | readonly HtmlPart[];

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/**
 * Template tag. Every value is escaped, except what `html` itself made; lists are joined; `null`, `undefined` and
 * `false` are nothing. Attribute values must be quoted in the template, and no value may stand inside `<script>`.
 */
export function html(strings: TemplateStringsArray, ...values: HtmlPart[]): Html {
  const text = strings.reduce((before, after, index) => before + render(values[index - 1]) + after);
  return { [safe]: text };
}

/** Markup that our own build has made from our own files; nothing from outside may come this way. */
export const built = (markup: string): Html => ({ [safe]: markup });

/** The finished text of a piece of markup. */
export function toText(markup: Html): string {
  return markup[safe];
}

function render(part: HtmlPart): string {
  if (part === null || part === undefined || part === false) return "";
  if (typeof part === "object") return isHtml(part) ? part[safe] : part.map(render).join("");
  return String(part).replace(/[&<>"']/g, (character) => entities[character] ?? "");
}

function isHtml(part: Html | readonly HtmlPart[]): part is Html {
  return safe in part;
}
