/** Finds the sentence of an error that a host wrote for the sender of a message. */
import { codeOf } from "../../kernel/index.ts";
import { channelsErrors } from "./errors.ts";

const maxLength = 1_000;
/** Codes of Doorward whose sentences are for the host. Those of stores name paths. */
const ownCodes: ReadonlySet<string> = new Set([
  ...Object.keys(channelsErrors),
  "internal",
  "unsupported",
  "bad_answer",
]);
const isOwn = (code: string): boolean => ownCodes.has(code) || /^([A-Z]|store_)/.test(code);

/**
 * Reads an error of a handler: one of an `errorTable` with codes in lower case, or one with
 * `expose: true`, as libraries for HTTP make.
 *
 * @returns The sentence; undefined for errors of Doorward, of the system, and of other code.
 */
export function sentenceForSender(error: unknown): string | undefined {
  const { expose, message } = Object(error) as { expose?: unknown; message?: unknown };
  if (expose !== true && isOwn(codeOf(error))) return undefined;
  return plainSentence(message);
}

/** Control characters would reach terminals. */
function plainSentence(message: unknown): string | undefined {
  if (typeof message !== "string") return undefined;
  const sentence = message.replaceAll(/\p{Cc}+/gu, " ").trim();
  return sentence === "" ? undefined : sentence.slice(0, maxLength).toWellFormed();
}

/** @returns The sentence that the history may have; undefined without one. */
export function sentenceForReaders(error: unknown): string | undefined {
  const { message } = Object(error) as { message?: unknown };
  return codeOf(error) === "bad_answer" ? plainSentence(message) : sentenceForSender(error);
}
