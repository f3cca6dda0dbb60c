// Builds HTML text from templates and escapes every value.
const safe = Symbol("safe markup");

/** Markup that needs no escaping. Only `html` creates it, so untrusted data cannot. */
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
 * Template tag that escapes every value except `Html`. It joins lists and omits `null`, `undefined`
 * and `false`. The template must quote attribute values and must not use values inside `<script>`.
 */
export function html(strings: TemplateStringsArray, ...values: HtmlPart[]): Html {
  const text = strings.reduce((before, after, index) => before + render(values[index - 1]) + after);
  return { [safe]: text };
}

/** Returns the markup as text. */
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
