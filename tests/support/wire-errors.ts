import { WireError } from "../../lib/pico-wire/index.ts";

/** Returns the error that decoding throws. */
export function errorOf(run: () => unknown): WireError {
  try {
    run();
  } catch (error) {
    if (error instanceof WireError) return error;
    throw error;
  }
  throw new Error("nothing was rejected");
}
