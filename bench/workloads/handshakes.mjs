import { compare, withPairs } from "../compare.mjs";
import { comparison, rateTarget } from "../report.mjs";

/** Connections that are opened with the token until they can be used, and closed again, sixteen at a time.
 * @param {import("../compare.mjs").Size} size */
export const measureHandshakes = (size) =>
  withPairs(["doorward", "ws", "socket.io", "hocuspocus", "gorilla"], size, async (pairs) => {
    const load = { busy: 16, seconds: size.seconds, atMost: 60_000 };
    const found = await compare(pairs, size, ({ generator }) => generator.ask("handshakes", load));
    console.log(comparison("handshakes, opened and closed", "connections/s", "ws", found));
    return [rateTarget("handshakes, of bare ws", 1, found, "doorward", "ws")];
  });
