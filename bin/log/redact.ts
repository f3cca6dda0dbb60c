/* What no log may hold, found by where it stands: in a URL, a header, a field. Works on finished lines, JSON or not, at
 * any depth and also inside JSON that is itself quoted; a JSON line stays one. Too much is accepted, a leak is not. */

const redactedText = "[redacted]";

/** Words that make the value after them a secret. `code` and `link` are so in a URL only: errors have codes too. */
const secretWord =
  "(?:tokens?|passw(?:or)?d|passphrase|secrets?|api[_-]?key|private[_-]?key|credentials?)";
/* Prefixes and escapes are bounded: a line made for the purpose would take quadratic time. */
const secretName = `[\\w.-]{0,40}${secretWord}`;
const headerName =
  "(?:proxy-)?authorization|(?:set-)?cookies?|sec-websocket-protocol|refer(?:r)?er|x-api-key";
const fieldName = `${secretName}|${headerName}`;
const queryName = `(?:${secretName}|code|link|ott|session|key)`;

/** The rest of a text in JSON, and of a text in JSON that is itself quoted (`\1`: the escapes of its quotes). */
const jsonText = '(?:[^"\\\\]|\\\\[^])*("|$)';
const quotedText = '(?:[^"\\\\]|\\\\+(?!["\\\\])|(?!\\1")\\\\+")*(?:\\1"|(?=")|$)';
/** After a comma: what comes is no name of a field, as in "reason":"invalid_token","ip":"…". */
const notAKey = '(?!\\s*"[\\w.-]*"\\s*:)';
const notAQuotedKey = '(?!\\s*\\1"[\\w.-]*\\1"\\s*:)';
/** What stands for a secret in sentences that say where one belongs. */
const placeholder = "<(?:token|value|base64url)>(?!\\.?[\\w~+/=-])";
/** The rest of a header line in a text. */
const headerText = '(?=[^\\s"\\\\[])(?:\\\\[^rn]|[^"\\\\\\r\\n])+';

const rules: readonly (readonly [RegExp, string])[] = [
  // Text in a field or the next element of a list: "token":"…", ["cookie","…"], \"token\":\"…\".
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
  // A number in a field.
  [
    new RegExp(`(\\\\{0,15}")(${secretName})\\1(\\s*:\\s*)-?\\d[\\d.eE+-]*`, "gi"),
    `$1$2$1$3$1${redactedText}$1`,
  ],
  // Query parameters, also of a URL inside a URL.
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
  // name=value, and name: value when the value looks generated.
  [new RegExp(`(${secretWord}=)[^\\s"'\\\\&,;]+`, "gi"), `$1${redactedText}`],
  [new RegExp(`(${secretWord}\\s*:\\s*)[\\w.~+/=-]{16,}`, "gi"), `$1${redactedText}`],
  [/(launcher token \(first run\): )\S+/g, `$1${redactedText}`],
];

/** Of these every rule needs one: nearly all lines hold none of them and are done after one look. */
const suspicious = new RegExp(
  `${secretWord}|${headerName}|bearer|basic|ott_|[?&#;]|%3f|%26|%23`,
  "i",
);

/** A line without what its position shows to be secret. Pure. */
export function redactLine(line: string): string {
  return suspicious.test(line) ? redactSuspicious(line) : line;
}

/** Every rule, whether it can find something or not. */
export function redactSuspicious(line: string): string {
  return rules.reduce(
    (text, [pattern, replacement]) => text.replace(pattern, replacement),
    censorNested(line),
  );
}

const nestedSecretPattern = new RegExp(`"(?:${secretName}|${headerName})"\\s*:\\s*(?=[[{])`, "gi");

/** A list or an object in a secret field is replaced as a whole. */
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
  const token = /"(?:\\.|[^"\\])*"|[[\]{}]/g;
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
  /** From now on this value is replaced wherever it stands, in every form in which it travels. */
  add(value: string): void;
  redact(line: string): string;
}

/** Values shorter than this are left to their position: they would blot out ordinary words. */
const minSecretLength = 4;
/** Of a process that rotates for ever, the newest values count. */
const maxSecrets = 100;

/** `redactLine` and, before it, the exact values it was told. */
export function createRedactor(): Redactor {
  const values = new Set<string>();
  let known: RegExp | undefined;
  let knownBytes: RegExp | undefined;
  return {
    add(value) {
      if (value.trim().length < minSecretLength) return;
      values.delete(value);
      values.add(value);
      for (const oldest of values) if (values.size > maxSecrets) values.delete(oldest);
      known = matchAny([...values].flatMap(formsOf));
      knownBytes = matchAny([...values].map(bytesOf));
    },
    redact: (line) =>
      redactLine(
        known && knownBytes ? line.replace(known, redactedText).replace(knownBytes, "[0]") : line,
      ),
  };
}

/** The value as text, in URLs and in base64; each as it looks in JSON and in JSON quoted once and twice. */
function formsOf(given: string): string[] {
  const value = given.trim();
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

/** A buffer of it in JSON. */
const bytesOf = (value: string) => `[${[...Buffer.from(value.trim(), "utf8")].join(",")}]`;

const escaped = (text: string) => JSON.stringify(text).slice(1, -1);

function matchAny(texts: readonly string[]): RegExp {
  const longestFirst = [...new Set(texts)].sort((left, right) => right.length - left.length);
  return new RegExp(
    longestFirst.map((text) => text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&")).join("|"),
    "g",
  );
}
