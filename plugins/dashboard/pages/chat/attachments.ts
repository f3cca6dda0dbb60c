/** Reads the files that a message may carry. @module */
import { formatBytes } from "../../shared/format.ts";
import { acceptedTypes } from "./image-types.ts";
import type { ShownFile } from "./state/thread.ts";

/** Bytes of one image: the limit of the channel. */
const maxBytes = 20 * 1024 * 1024;
/** Images of one message: the limit of the channel. */
const maxFiles = 64;

/** An accepted file, or the sentence that says why it is not. */
type ReadFile = { readonly file: ShownFile } | { readonly problem: string };

/** Reads a chosen, dropped or pasted file. */
async function readFile(file: File): Promise<ReadFile> {
  const name = file.name || "Pasted image";
  if (!acceptedTypes.includes(file.type))
    return {
      problem: `${name} can't be attached. Supported: PNG, JPEG, GIF, WebP and BMP images.`,
    };
  if (file.size > maxBytes) return { problem: `${name} is larger than ${formatBytes(maxBytes)}.` };
  try {
    return { file: { name, type: file.type, url: await toDataUrl(file) } };
  } catch {
    return { problem: `${name} can't be read.` };
  }
}

/** Reads files, which are added up to the limit of a message. */
export async function readFiles(chosen: readonly File[]) {
  const read = await Promise.all(chosen.map(readFile));
  const added = read.flatMap((one) => ("file" in one ? [one.file] : []));
  return {
    addTo: (files: readonly ShownFile[]) => [...files, ...added].slice(0, maxFiles),
    problem: read.flatMap((one) => ("problem" in one ? [one.problem] : [])).join(" "),
  };
}

/** Bytes of a `data:` URL, decoded. */
export const sizeOf = ({ url = "" }: ShownFile): number =>
  Math.floor(((url.length - url.indexOf(",") - 1) * 3) / 4);

function toDataUrl(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => resolve(String(reader.result)));
    reader.addEventListener("error", () => reject(reader.error ?? new Error("unreadable")));
    reader.readAsDataURL(file);
  });
}
