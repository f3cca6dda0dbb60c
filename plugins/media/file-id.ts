// Ids of files and the documents that describe them. An id begins with the hash of its session, so
// that a file is found without an index.
import { createHash } from "node:crypto";
import * as z from "zod";
import type { Address } from "../conversations/contract.ts";
import type { ResumableUpload, StoredFile } from "./contract.ts";

const idPattern = /^m_[0-9a-f]{48}$/;
const keyDigits = 16;

export const isFileId = (id: string): boolean => idPattern.test(id);

/** @returns The name of a session in ids and paths: 16 hexadecimal digits. */
export const sessionKey = ({ channel, session }: Address): string =>
  createHash("sha256").update(`${channel}\0${session}`).digest("hex").slice(0, keyDigits);

export const sessionKeyOf = (id: string): string => id.slice(2, 2 + keyDigits);

export const createFileId = (address: Address, random: (bytes: number) => Uint8Array): string =>
  `m_${sessionKey(address)}${Buffer.from(random(16)).toString("hex")}`;

const record = z.object({
  channel: z.string(),
  session: z.string(),
  id: z.string().regex(idPattern),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  size: z.int().min(0),
  contentType: z.string(),
  filename: z.string(),
  inline: z.string().exactOptional(),
  sender: z.string(),
  at: z.number(),
  usedAt: z.number().exactOptional(),
  agedAt: z.number().exactOptional(),
  conversation: z.string().exactOptional(),
});

const upload = z.object({
  channel: z.string(),
  session: z.string(),
  id: z.string().regex(idPattern),
  size: z.int().min(0),
  sender: z.string(),
  node: z.string(),
  agedAt: z.number(),
  ranMs: z.number(),
  contentType: z.string().exactOptional(),
  filename: z.string().exactOptional(),
  sha256: z.string().exactOptional(),
});

function parse<T extends Address & { readonly id: string }>(
  schema: z.ZodType<T>,
  text: string,
  id: string,
): T | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  const parsed = schema.safeParse(value);
  return parsed.success && parsed.data.id === id && sessionKey(parsed.data) === sessionKeyOf(id)
    ? parsed.data
    : undefined;
}

/** @returns Undefined if the text does not describe the file with this id. */
export const parseRecord = (text: string, id: string): StoredFile | undefined =>
  parse<StoredFile>(record, text, id);

/** @returns Undefined if the text does not describe the upload with this id. */
export const parseUpload = (text: string, id: string): ResumableUpload | undefined =>
  parse<ResumableUpload>(upload, text, id);
