/** Parses request targets and base paths into one normal form. */

const segmentPattern = /^[\w~-][\w.~-]*$|^\.[\w~-][\w.~-]*$/;

/** Accepts "", "/", "/agent", "agent/" and "/a/b". */
export function isBasePath(path: string): boolean {
  const inner = path.replace(/^\//, "").replace(/\/$/, "");
  return inner === ""
    ? path.length <= 1
    : inner.split("/").every((part) => segmentPattern.test(part));
}

/** Returns "" or a path such as "/agent": with a leading slash, without a trailing one. */
export function normaliseBasePath(path: string): string {
  const inner = path.replace(/^\/+|\/+$/g, "");
  return inner === "" ? "" : `/${inner}`;
}

/** Puts the base path before a path. */
export const fullPath = (basePath: string, path: string): string =>
  path === "/" ? basePath || "/" : `${basePath}${path}`;

/** A parsed request target. `host` is set if the target was in absolute form. */
export interface RequestTarget {
  readonly path: string;
  /** With the question mark, as received. */
  readonly search: string;
  readonly host?: string;
}

/** Encodes unsafe characters and decodes needless escapes, so that each path has one form. */
function normaliseEscapes(path: string): string {
  const escape = (sign: string): string => `%${sign.charCodeAt(0).toString(16).padStart(2, "0")}`;
  const encoded = path.replace(/[^\x21-\x7e]|[\\"<>^`{|}#]/g, escape);
  return encoded.replace(/%[0-9a-f]{2}/gi, (escaped) => {
    const sign = String.fromCharCode(Number.parseInt(escaped.slice(1), 16));
    return /[\w.~-]/.test(sign) ? sign : escaped.toUpperCase();
  });
}

function resolveDotSegments(path: string): string {
  const segments: string[] = [];
  const parts = path.split("/").filter((part) => part !== "");
  for (const part of parts) {
    if (part === "..") segments.pop();
    else if (part !== ".") segments.push(part);
  }
  const directory = path.endsWith("/") || parts.at(-1) === "." || parts.at(-1) === "..";
  return segments.length === 0 ? "/" : `/${segments.join("/")}${directory ? "/" : ""}`;
}

/**
 * Parses a request target. The path has no `.`, `..` or empty segments and no needless escapes.
 *
 * @returns Undefined if the target is not valid.
 */
export function parseTarget(target: string): RequestTarget | undefined {
  const plain = /^((?:\/[\w~-]+)+)(\?.*)?$/.exec(target); // most requests: nothing to normalise
  if (plain) return { path: plain[1]!, search: plain[2] ?? "" };
  const absolute = target.match(/^https?:\/\/([^/?#@]+)((?:[/?#].*)?)$/i);
  const [, host, rest = ""] = absolute ?? [];
  const local = absolute ? (rest.startsWith("/") ? rest : `/${rest}`) : target;
  if (!local.startsWith("/")) return undefined;
  const queryStart = local.indexOf("?");
  const path = queryStart < 0 ? local : local.slice(0, queryStart);
  const search = queryStart < 0 ? "" : local.slice(queryStart);
  if (path.includes("#") || /%(?![0-9a-f]{2})/i.test(path)) return undefined;
  const normal = resolveDotSegments(normaliseEscapes(path));
  try {
    decodeURIComponent(normal);
  } catch {
    return undefined;
  }
  return { path: normal, search, ...(host === undefined ? {} : { host }) };
}

/** @returns The path without the base path, or undefined if it is outside the base path. */
export function stripBasePath(basePath: string, path: string): string | undefined {
  if (basePath === "") return path;
  if (path === basePath) return "/";
  return path.startsWith(`${basePath}/`) ? path.slice(basePath.length) : undefined;
}
