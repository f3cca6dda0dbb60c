/** Addresses and character references in markdown. @module */

/** An image inside a text. It is shown without a request. */
export const inlineImage = /^data:image\/(png|jpeg|gif|webp|bmp);base64,[A-Za-z0-9+/=]*$/;

const safeProtocols = new Set(["http:", "https:", "mailto:"]);

/** @returns The address if a link may lead there: http, https, mailto, or relative. */
export function safeHref(href: string): string | undefined {
  try {
    const { protocol } = new URL(href, "https://relative.invalid/");
    return safeProtocols.has(protocol) ? href : undefined;
  } catch {
    return undefined;
  }
}

const named: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: "\u00a0",
  copy: "©",
  hellip: "…",
  mdash: "—",
  ndash: "–",
  times: "×",
  deg: "°",
  euro: "€",
};

const reference = /&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]{2,8}));/gi;

/** Replaces character references such as `&amp;`. The lexer leaves them in the text. */
export function decodeReferences(text: string): string {
  if (!text.includes("&")) return text;
  return text.replace(reference, (whole, decimal?: string, hex?: string, name?: string) => {
    if (name !== undefined) return named[name] ?? whole;
    const code = decimal === undefined ? parseInt(hex ?? "", 16) : Number(decimal);
    const isCharacter = code > 0 && code <= 0x10_ff_ff && (code < 0xd800 || code > 0xdfff);
    return isCharacter ? String.fromCodePoint(code) : "\ufffd";
  });
}
