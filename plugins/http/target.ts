const segmentPattern = /^[\w~-][\w.~-]*$|^\.[\w~-][\w.~-]*$/;

/** "", "/", "/door", "door/", "/a/b". */
export function isBasePath(path: string): boolean {
  const inner = path.replace(/^\//, "").replace(/\/$/, "");
  return inner === ""
    ? path.length <= 1
    : inner.split("/").every((part) => segmentPattern.test(part));
}

/** "" or "/door": a leading slash, no trailing one. */
export function normaliseBasePath(path: string): string {
  const inner = path.replace(/^\/+|\/+$/g, "");
  return inner === "" ? "" : `/${inner}`;
}

/** A request target, taken apart. `host` is there when the target was in absolute form. */
export interface RequestTarget {
  readonly path: string;
  /** With its question mark; as it was sent. */
  readonly search: string;
  readonly host?: string;
}

/** Percent-encodes what was sent raw, decodes what needs no encoding, so that one path has one spelling. */
function normaliseEscapes(path: string): string {
  const escape = (sign: string): string => `%${sign.charCodeAt(0).toString(16).padStart(2, "0")}`;
  const encoded = path.replace(/[^\x21-\x7e]|[\\"<>^`{|}#]/g, escape);
  return encoded.replace(/%[0-9a-f]{2}/gi, (escaped) => {
    const sign = String.fromCharCode(Number.parseInt(escaped.slice(1), 16));
    return /[\w.~-]/.test(sign) ? sign : escaped.toUpperCase();
  });
}

function resolveDotSegments(path: string): string {
  const kept: string[] = [];
  const parts = path.split("/").filter((part) => part !== "");
  for (const part of parts) {
    if (part === "..") kept.pop();
    else if (part !== ".") kept.push(part);
  }
  const directory = path.endsWith("/") || parts.at(-1) === "." || parts.at(-1) === "..";
  return kept.length === 0 ? "/" : `/${kept.join("/")}${directory ? "/" : ""}`;
}

/** The path in its one normal spelling: no `.`, `..` or empty segments, no needless escapes. `undefined`: not valid. */
export function parseTarget(target: string): RequestTarget | undefined {
  const plain = /^((?:\/[\w~-]+)+)(\?.*)?$/.exec(target); // most requests: nothing to normalise
  if (plain) return { path: plain[1]!, search: plain[2] ?? "" };
  const absolute = target.match(/^https?:\/\/([^/?#@]+)((?:[/?#].*)?)$/i);
  const [, host, rest = ""] = absolute ?? [];
  const local = absolute ? (rest.startsWith("/") ? rest : `/${rest}`) : target;
  if (!local.startsWith("/")) return undefined;
  const at = local.indexOf("?");
  const path = at < 0 ? local : local.slice(0, at);
  const search = at < 0 ? "" : local.slice(at);
  if (path.includes("#") || /%(?![0-9a-f]{2})/i.test(path)) return undefined;
  const normal = resolveDotSegments(normaliseEscapes(path));
  try {
    decodeURIComponent(normal);
  } catch {
    return undefined;
  }
  return { path: normal, search, ...(host === undefined ? {} : { host }) };
}

/** The path without the base path before it; `undefined` when it lies outside. */
export function stripBasePath(basePath: string, path: string): string | undefined {
  if (basePath === "") return path;
  if (path === basePath) return "/";
  return path.startsWith(`${basePath}/`) ? path.slice(basePath.length) : undefined;
}
