// Removes secrets from complete log lines, by their position (URL, header, field) and by value.
// Works on JSON and plain lines, at any depth and in quoted JSON; a JSON line stays valid. Redacts
// too much rather than too little.

const redactedText = "[redacted]";

/** Words before a secret. `code` and `link` count only in URLs, since errors have codes too. */
const secretWord =
  "(?:tokens?|passw(?:or)?d|passphrase|secrets?|api[_-]?key|private[_-]?key|credentials?)";
/* Prefixes and escapes are bounded, else a crafted line would take quadratic time. */
const secretName = `[\\w.-]{0,40}${secretWord}`;
const headerName =
  "(?:proxy-)?authorization|(?:set-)?cookies?|sec-websocket-protocol|refer(?:r)?er|x-api-key";
const fieldName = `${secretName}|${headerName}`;
const queryName = `(?:${secretName}|code|link|ott|session|key)`;

/** The rest of a JSON string, and of one in quoted JSON (`\1`: the escapes of its quotes). */
const jsonText = '(?:[^"\\\\]|\\\\[^])*("|$)';
const quotedText = '(?:[^"\\\\]|\\\\+(?!["\\\\])|(?!\\1")\\\\+")*(?:\\1"|(?=")|$)';
/** After a comma: a value follows, not a key as in "reason":"invalid_token","ip":"…". */
const notAKey = '(?!\\s*"[\\w.-]*"\\s*:)';
const notAQuotedKey = '(?!\\s*\\1"[\\w.-]*\\1"\\s*:)';
/** Placeholders in instructions; they are not secrets. */
const placeholder = "<(?:token|value|base64url)>(?!\\.?[\\w~+/=-])";
/** The rest of a header line. */
const headerText = '(?=[^\\s"\\\\[])(?:\\\\[^rn]|[^"\\\\\\r\\n])+';

const rules: readonly (readonly [RegExp, string])[] = [
  // Strings in a field or next in a list: "token":"…", ["cookie","…"], \"token\":\"…\".
  [
    new RegExp(`("(?:${fieldName})"(?:\\s*:|\\s*,${notAKey})\\s*")${jsonText}`, "gi"),
    `$1${redactedText}$2`,
  ],
  [
    new RegExp(
      `(\\\\{1,15})"(${fieldName})\\1"(\\s*:\\s*|\\s*,${notAQuotedKey}\\s*)\\1"${quotedText}`,
      "gi",
    ),
    `$1"$2$1"$3$1"${redactedText}$1"`,
  ],
  // Numbers in a field.
  [
    new RegExp(`(\\\\{0,15}")(${secretName})\\1(\\s*:\\s*)-?\\d[\\d.eE+-]*`, "gi"),
    `$1$2$1$3$1${redactedText}$1`,
  ],
  // Query parameters, also of a URL within a URL.
  [
    new RegExp(
      `((?:[?&#;]|%3f|%26|%23)${queryName}(?:=|%3d))(?:(?!%26|%23)[^&#\\s"'\\\\<>])*`,
      "gi",
    ),
    `$1${redactedText}`,
  ],
  [
    new RegExp(
      `((?:^|[^\\w-])(?:${headerName})\\s*[:=]\\s*)(?!Bearer ${placeholder})${headerText}`,
      "gi",
    ),
    `$1${redactedText}`,
  ],
  [
    new RegExp(`\\b(Bearer|Basic)(\\s+|%20)(?!${placeholder})[^\\s"'\\\\,;]{6,}`, "gi"),
    `$1$2${redactedText}`,
  ],
  [
    new RegExp(`(?<![\\w./-])token(64)?\\.(?!${placeholder})[^\\s"'\\\\,;)]+`, "g"),
    `token$1.${redactedText}`,
  ],
  [/\bott_[\w.~+/=-]+/g, `ott_${redactedText}`],
  // name=value, and name: value if the value looks generated.
  [new RegExp(`(${secretWord}=)[^\\s"'\\\\&,;]+`, "gi"), `$1${redactedText}`],
  [new RegExp(`(${secretWord}\\s*:\\s*)[\\w.~+/=-]{16,}`, "gi"), `$1${redactedText}`],
  [/(launcher token \(first run\): )\S+/g, `$1${redactedText}`],
];

/** Every rule needs one of these; almost all lines have none and need only this test. */
const suspicious = new RegExp(
  `${secretWord}|${headerName}|bearer|basic|ott_|[?&#;]|%3f|%26|%23`,
  "i",
);

/** Removes secrets recognised by their position. Pure. */
export function redactLine(line: string): string {
  return suspicious.test(line) ? redactSuspicious(line) : line;
}

/** Applies every rule. */
export function redactSuspicious(line: string): string {
  return rules.reduce(
    (text, [pattern, replacement]) => text.replace(pattern, replacement),
    censorNested(line),
  );
}

const nestedSecretPattern = new RegExp(`"(?:${secretName}|${headerName})"\\s*:\\s*(?=[[{])`, "gi");

/** Replaces a list or object in a secret field as a whole. */
function censorNested(line: string): string {
  let result = "";
  let from = 0;
  for (const match of line.matchAll(nestedSecretPattern)) {
    const start = match.index + match[0].length;
    if (start <= from) continue;
    result += `${line.slice(from, start)}"${redactedText}"`;
    from = endOfNested(line, start);
  }
  return result + line.slice(from);
}

function endOfNested(line: string, start: number): number {
  // A string without an end is one match, else each of its quotes would read the rest again.
  const token = /"(?:\\[^]?|[^"\\])*(?:"|$)|[[\]{}]/g;
  token.lastIndex = start;
  let depth = 0;
  for (let match = token.exec(line); match; match = token.exec(line)) {
    if (match[0] === "[" || match[0] === "{") depth++;
    else if (match[0] === "]" || match[0] === "}") depth--;
    if (depth === 0) return token.lastIndex;
  }
  return line.length;
}

export interface Redactor {
  /** Replaces this value from now on, at any position and in every encoding in use. */
  add(value: string): void;
  redact(line: string): string;
}

/** Shorter values are redacted only by position: as values they would match ordinary words. */
const minSecretLength = 4;
/** With more rotations than this, only the newest values are kept. */
const maxSecrets = 100;

/** The level and the time of a line: a token such as `2026-11-28` must not hide when it was. */
const linePrefix = /^\{"level":"?\w{1,10}"?,"time":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"/;

/** Replaces the added values, then applies `redactLine`. */
export function createRedactor(): Redactor {
  const values = new Set<string>();
  let known: RegExp | undefined;
  let knownBytes: RegExp | undefined;
  /** Matches lines that need any replacement: almost all lines need only this test. */
  let unclean = suspicious;
  return {
    add(value) {
      if (value.trim().length < minSecretLength) return;
      values.delete(value);
      values.add(value);
      for (const oldest of values) if (values.size > maxSecrets) values.delete(oldest);
      known = matchAny([...values].flatMap(formsOf));
      knownBytes = matchAny([...values].map(bytesOf));
      unclean = new RegExp(`${suspicious.source}|${known.source}|${knownBytes.source}`, "i");
    },
    redact(line) {
      if (!unclean.test(line)) return line;
      const { 0: prefix } = linePrefix.exec(line) ?? [""];
      const rest = line.slice(prefix.length);
      return redactLine(
        known && knownBytes
          ? prefix + rest.replace(known, redactedText).replace(knownBytes, "[0]")
          : line,
      );
    },
  };
}

/** Returns the value as text, URL-encoded, in base64 and hex; each plain, in JSON, and in JSON
 *  quoted once and twice. */
function formsOf(secret: string): string[] {
  const value = secret.trim();
  const bytes = Buffer.from(value, "utf8");
  const form = new URLSearchParams([["", value]]).toString().slice(1);
  const encoded = [encodeURIComponent(value.toWellFormed()), encodeURI(value.toWellFormed()), form];
  const lower = encoded.map((text) => text.replace(/%../g, (hex) => hex.toLowerCase()));
  const binary = (["base64url", "base64", "hex", "latin1"] as const).map((encoding) =>
    bytes.toString(encoding),
  );
  const plain = [value, ...encoded, ...lower, ...binary];
  return plain.flatMap((text) => [
    escaped(text),
    escaped(escaped(text)),
    escaped(escaped(escaped(text))),
  ]);
}

/** The bytes of the value as a JSON array, as `Buffer` is logged. */
const bytesOf = (value: string) => `[${[...Buffer.from(value.trim(), "utf8")].join(",")}]`;

const escaped = (text: string) => JSON.stringify(text).slice(1, -1);

function matchAny(texts: readonly string[]): RegExp {
  const longestFirst = [...new Set(texts)].sort((left, right) => right.length - left.length);
  return new RegExp(
    longestFirst.map((text) => text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&")).join("|"),
    "g",
  );
}
