/** Files that the server stores: their addresses, and what browsers may show of them. @module */
import { base } from "../../live/base.ts";
import type { ShownFile } from "../state/thread.ts";

/** Path of a file in frames and in the history. The server may add its base path. */
const channelPath = /\/pico\/media\/(m_[0-9a-f]{1,64})$/;

/** The client library adds the origin. @returns Undefined for files of other servers. */
function idOf(url: string): string | undefined {
  const origin = globalThis.location?.origin ?? "";
  const isOwn = url.startsWith("/") || url.startsWith(`${origin}/`);
  return isOwn ? channelPath.exec(url)?.[1] : undefined;
}

/** Where this page loads a file of the server. */
export const fileAddress = (id: string): string => `${base()}/api/media/${id}`;

/** A file of a frame or of the history. */
interface WireFile {
  readonly url?: string;
  readonly filename?: string;
  readonly type?: string;
  readonly content_type?: string;
  readonly size?: number;
}

/** @returns The file with the address for pages, since clients use another one. */
export function fileOf({ url, filename, type, content_type, size }: WireFile): ShownFile {
  const id = url === undefined ? undefined : idOf(url);
  const address = id === undefined ? url : fileAddress(id);
  const kind = content_type ?? type;
  return {
    name: filename ?? "",
    ...(address !== undefined && { url: address }),
    ...(kind && { type: kind }),
    ...(size !== undefined && { size }),
    ...(id !== undefined && { id }),
  };
}

const shownTypes = new Map<string, Promise<string>>();
const images = new Set<string>();

/** True if the server has said that the file is an image. */
export const isKnownImage = (id = ""): boolean => images.has(id);

async function ask(id: string): Promise<string> {
  const { status, ok, headers } = await fetch(fileAddress(id), { method: "HEAD" });
  if (status === 404) return "gone";
  if (!ok) throw new Error(String(status));
  const isInline = headers.get("content-disposition")?.startsWith("inline") === true;
  return isInline ? (headers.get("content-type") ?? "download") : "download";
}

/**
 * Asks the server what browsers may show, since it has compared the content with the type that the
 * sender named.
 *
 * @returns A type that browsers show, `download` for others, or `gone` if the file was deleted.
 */
export async function shownTypeOf(id: string): Promise<string> {
  const asked = shownTypes.get(id) ?? ask(id);
  shownTypes.set(id, asked);
  try {
    const type = await asked;
    if (type.startsWith("image/")) images.add(id);
    return type;
  } catch {
    shownTypes.delete(id);
    return "download";
  }
}
