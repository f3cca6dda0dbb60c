import { compare, withPairs } from "../rounds.mjs";
import { comparison, rateTarget } from "../report.mjs";

/**
 * Handshakes that each server has done before the first round. V8 compiles their code with all
 * optimizations only after some thousand of them, and a warm-up of equal time favours the fastest.
 */
const warmUpHandshakes = 16_000;
/** Limits the time of the warm-up, and ports that closed connections occupy. */
const atMost = { warmUpSeconds: 30, perRound: 60_000 };

/** Opens connections with the token until they are ready and closes them, 16 in parallel.
 * @param {import("../rounds.mjs").Size} size */
export const measureHandshakes = (size) =>
  withPairs(
    ["doorward", "ws", "socket.io", "hocuspocus", "gorilla", "bun"],
    size,
    async (pairs) => {
      const load = { concurrency: 16, seconds: size.seconds, atMost: atMost.perRound };
      const warmUp = size.rounds > 1 ? warmUpHandshakes : size.count(warmUpHandshakes);
      for (const { generator } of pairs)
        await generator.ask("handshakes", {
          ...load,
          seconds: atMost.warmUpSeconds,
          atMost: warmUp,
        });
      const found = await compare(pairs, size, ({ generator }) =>
        generator.ask("handshakes", load),
      );
      console.log(comparison("handshakes, opened and closed", "connections/s", "ws", found));
      return [rateTarget("handshakes, of bare ws", 0.9, found, "doorward", "ws")];
    },
  );
