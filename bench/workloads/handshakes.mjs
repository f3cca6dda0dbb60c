import { compare, withPairs } from "../rounds.mjs";
import { comparison, rateTarget } from "../report.mjs";

/** Opens connections with the token until they are ready and closes them, 16 in parallel.
 * @param {import("../rounds.mjs").Size} size */
export const measureHandshakes = (size) =>
  withPairs(
    ["doorward", "ws", "socket.io", "hocuspocus", "gorilla", "bun"],
    size,
    async (pairs) => {
      const load = { concurrency: 16, seconds: size.seconds, atMost: 60_000 };
      const found = await compare(pairs, size, ({ generator }) =>
        generator.ask("handshakes", load),
      );
      console.log(comparison("handshakes, opened and closed", "connections/s", "ws", found));
      return [rateTarget("handshakes, of bare ws", 0.9, found, "doorward", "ws")];
    },
  );
