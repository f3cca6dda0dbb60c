// Reads a rejection, and checks its form.
import { expect } from "vitest";
import { refusals as shared } from "../../../../plugins/protocols/errors.ts";
import { refusals as own } from "../../../../plugins/protocols/openai/errors.ts";

export interface ErrorBody {
  readonly error: Readonly<Record<"message" | "type" | "code" | "param", string | null>>;
}

const refusals = { ...shared, ...own };
const types: Readonly<Record<number, string>> = { 4: "invalid_request_error", 5: "server_error" };

/** Reads the status and the code, and checks the form of the body. */
export async function rejection(sent: Promise<Response>): Promise<[number, string | null]> {
  const response = await sent;
  const { status } = response;
  const { error } = (await response.json()) as ErrorBody;
  expect(Object.keys(error).toSorted()).toEqual(["code", "message", "param", "type"]);
  const [expected] = refusals[error.code as keyof typeof refusals];
  const type = status === 429 ? "rate_limit_error" : types[Math.floor(status / 100)];
  expect([status, error.type]).toEqual([expected, type]);
  return [status, error.code];
}
