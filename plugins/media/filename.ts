// Reads and writes the file name in `Content-Disposition` (RFC 6266), and cleans names.
const maxNameBytes = 255;
const defaultName = "file";
/** Controls, and marks that reverse the direction of text and so disguise an extension. */
const unsafe = /[\p{Cc}\p{Zl}\p{Zp}\u200E\u200F\u202A-\u202E\u2066-\u2069]/gu;
const maxExtension = 32;

/** Cuts the start of a name so that it and its extension fit. No character is divided. */
function cutName(name: string): string {
  if (Buffer.byteLength(name) <= maxNameBytes) return name;
  const dot = name.lastIndexOf(".");
  const extension = dot > 0 && name.length - dot <= maxExtension ? name.slice(dot) : "";
  let room = maxNameBytes - Buffer.byteLength(extension);
  let start = "";
  for (const character of name) {
    room -= Buffer.byteLength(character);
    if (room < 0) break;
    start += character;
  }
  return start + extension;
}

/** @returns A name for users: no path, no control characters, at most 255 bytes, never empty. */
export function cleanFilename(name: string | undefined): string {
  // A name that no user would send: the rest is not read.
  const given = (name ?? "").slice(0, 16_384).toWellFormed();
  const last = given.replace(unsafe, "").split(/[\\/]/).at(-1)!.trim();
  return last === "" || last === "." || last === ".." ? defaultName : cutName(last);
}

function decodeExtended(value: string): string | undefined {
  const encoded = /^utf-8'[^']*'(.*)$/i.exec(value)?.[1];
  if (encoded === undefined) return undefined;
  try {
    return decodeURIComponent(encoded);
  } catch {
    return undefined;
  }
}

/** @returns The cleaned name of a `Content-Disposition`; `filename*` overrides `filename`. */
export function parseDisposition(header: string | undefined): string | undefined {
  if (header === undefined || header.length > 16_384) return undefined;
  const extended = /;[ \t]*filename\*[ \t]*=[ \t]*([^;\s]+)/i.exec(header)?.[1];
  const decoded = extended === undefined ? undefined : decodeExtended(extended);
  if (decoded !== undefined) return cleanFilename(decoded);
  const quoted = /;[ \t]*filename[ \t]*=[ \t]*"((?:[^"\\]|\\.)*)"/i.exec(header)?.[1];
  const plain = quoted ?? /;[ \t]*filename[ \t]*=[ \t]*([^;"\s]+)/i.exec(header)?.[1];
  // Node reads header bytes as Latin-1; browsers and curl write UTF-8.
  return plain === undefined
    ? undefined
    : cleanFilename(Buffer.from(plain.replace(/\\(.)/g, "$1"), "latin1").toString("utf8"));
}

const encodeExtended = (name: string): string =>
  encodeURIComponent(name).replace(/['()*!]/g, (sign) => {
    return `%${sign.charCodeAt(0).toString(16).toUpperCase()}`;
  });

/** @returns The value of `Content-Disposition`, with a name in ASCII for old clients. */
export function formatDisposition(kind: "inline" | "attachment", name: string): string {
  const ascii = name.replace(/[^\x20-\x7e]|["\\%]/gu, "_");
  const extended = ascii === name ? "" : `; filename*=UTF-8''${encodeExtended(name)}`;
  return `${kind}; filename="${ascii}"${extended}`;
}
