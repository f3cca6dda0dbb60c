/** Reads the files that a message may carry. @module */
import { formatBytes } from "../../../shared/format.ts";
import type { DraftFile } from "../state/drafts.ts";
import type { ShownFile } from "../state/thread.ts";

/** Types of images that the channel accepts. */
export const acceptedTypes = ["image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp"];
/** Bytes of one image inside a message: the limit of the channel. */
const maxImageBytes = 20 * 1024 * 1024;
/** Files of one message: the limit of the channel. */
const maxFiles = 64;

/** An accepted file, or the sentence that says why it is not. */
type ReadFile = { readonly file: DraftFile } | { readonly problem: string };

/** Reads an image that becomes a part of the message. */
async function readImage(file: File): Promise<ReadFile> {
  const name = file.name || "Pasted image";
  if (!acceptedTypes.includes(file.type))
    return {
      problem: `${name} can't be attached. Supported: PNG, JPEG, GIF, WebP and BMP images.`,
    };
  if (file.size > maxImageBytes)
    return { problem: `${name} is larger than ${formatBytes(maxImageBytes)}.` };
  try {
    return { file: { state: "ready", name, type: file.type, url: await toDataUrl(file) } };
  } catch {
    return { problem: `${name} can't be read.` };
  }
}

/** Accepts a file for an upload. */
function accept(file: File, maxBytes: number): ReadFile {
  const { name, type, size } = file;
  if (size > maxBytes)
    return { problem: `${name} is larger than ${formatBytes(maxBytes)}, the limit of the server.` };
  return { file: { state: "chosen", name: name || "file", type, size, blob: file } };
}

/**
 * Reads files, which are added up to the limit of a message.
 *
 * @param maxBytes - Bytes of one upload; undefined if the server stores no files.
 */
export async function readFiles(chosen: readonly File[], maxBytes: number | undefined) {
  const read =
    maxBytes === undefined
      ? await Promise.all(chosen.map(readImage))
      : chosen.map((file) => accept(file, maxBytes));
  const added = read.flatMap((one) => ("file" in one ? [one.file] : []));
  const problems = read.flatMap((one) => ("problem" in one ? [one.problem] : []));
  return (files: readonly DraftFile[]) => {
    const all = [...files, ...added];
    const tooMany = all.length > maxFiles ? [`A message has at most ${maxFiles} files.`] : [];
    return { files: all.slice(0, maxFiles), problem: [...problems, ...tooMany].join(" ") };
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
