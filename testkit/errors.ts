// Errors of the test kit.
import { errorTable } from "../kernel/index.ts";

export const testingErrors = errorTable({
  TEST_WAITED: (what: string, ms: number) => `Waited ${ms} ms for ${what}.`,
  TEST_CLOSED: (what: string, code: number) =>
    `The connection was closed (${code}) before ${what} arrived.`,
  TEST_REFUSED: (status: number) => `The handshake was rejected with status ${status}.`,
  TEST_NOT_A_PEER: (wrong: readonly string[]) =>
    "join() must return { session, say(text), next(), leave() }, as the type Peer says. " +
    `Wrong or missing: ${wrong.join(", ")}.`,
  CHANNEL_NOT_CONFORMING: (channel: string, broken: readonly string[]) =>
    `The channel "${channel}" does not conform (${broken.length}): ${broken.join("; ")}.`,
});
