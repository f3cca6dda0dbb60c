// Explains requests to addresses that the protocol does not have.
import type { Refusal } from "../refusal.ts";
import { toErrorBody } from "./errors.ts";

/** Paths of clients whose base URL lacks /v1, and of clients of Ollama, with their methods. */
export const mistakes = [
  ["POST", "/chat/completions"],
  ["POST", "/completions"],
  ["POST", "/embeddings"],
  ["POST", "/responses"],
  ["GET", "/models"],
  ["POST", "/api/chat"],
  ["POST", "/api/embed"],
  ["POST", "/api/embeddings"],
  ["POST", "/api/generate"],
  ["POST", "/api/show"],
  ["GET", "/api/ps"],
  ["GET", "/api/tags"],
  ["GET", "/api/version"],
] as const;

const served =
  "Doorward serves GET /v1/models, GET /v1/models/NAME, GET /v1/health, " +
  "POST /v1/chat/completions and POST /v1/responses, and /v1/files with the plugin media.";

const isOllama = (path: string): boolean => path.startsWith("/api/");
const hasBase = (path: string): boolean => /^\/v1(?!\/v1(?:\/|$))/.test(path);

/** @param address - The base URL. */
export function explainAddress(path: string, address: string): string {
  const base = `The base URL ends in /v1: ${address}`;
  if (isOllama(path)) return `Set the client to an OpenAI API, not to Ollama. ${base}`;
  if (!hasBase(path)) return base;
  if (path === "/v1/embeddings") return `Embeddings are not offered. ${served}`;
  if (path !== "/v1/completions") return `There is nothing at this address. ${base}. ${served}`;
  return (
    "Completions of plain text are not offered. Let the client use chat: in LlamaIndex " +
    `OpenAILike(is_chat_model=True), in editors a chat model without autocompletion. ${served}`
  );
}

/** Clients of Ollama read a text. */
export const toBody = (refusal: Refusal, path: string): object =>
  isOllama(path) ? { error: refusal.message } : toErrorBody(refusal);
