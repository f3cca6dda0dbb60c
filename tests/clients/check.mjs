// Shared by the cases for Node: the address, comparisons, and the list of things that work.
import { isDeepStrictEqual } from "node:util";

export const { BASE_URL: baseURL, TOKEN: token } = process.env;
export const headers = { Authorization: `Bearer ${token}` };

const works = [];

/** Records that something works. */
export function equal(what, actual, expected) {
  if (!isDeepStrictEqual(actual, expected))
    throw new Error(`${what}: ${JSON.stringify(actual)} instead of ${JSON.stringify(expected)}`);
  if (!works.includes(what)) works.push(what);
}

/** Records that a call fails with the words of the program. */
export async function fails(what, call) {
  const error = await call().then(
    () => undefined,
    (reason) => reason,
  );
  equal(what, String(error?.message ?? error).includes("The kettle is broken."), true);
}

/** Ends the case. */
export function done() {
  console.log(JSON.stringify({ works }));
  process.exit(0);
}

/** Asks the program, through plain HTTP, whether the latest slow reply was stopped. */
export async function isStopped() {
  for (let attempt = 0; attempt < 50; attempt += 1) {
    const answer = await fetch(new URL("/test/stopped", process.env.CONTROL_URL));
    if ((await answer.text()) === "stopped") return true;
  }
  return false;
}
