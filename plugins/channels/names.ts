const idBytes = 16;
/** Few, since a name that lives on keeps the text it was cut from. */
const idsPerBatch = 16;
/** Random bytes are drawn ahead: asking the system costs far more than the bytes do. */
const randomBlockBytes = 4_096;

/** Names of messages: 16 random bytes each, as hexadecimal digits, written out some at a time. */
export function createIdGenerator(random: (bytes: number) => Uint8Array): () => string {
  let drawn = Buffer.alloc(0);
  let used = 0;
  let ahead = "";
  let at = 0;

  function writeOut(): void {
    if (used === drawn.length) {
      drawn = Buffer.from(random(randomBlockBytes));
      used = 0;
    }
    ahead = drawn.toString("hex", used, (used += idBytes * idsPerBatch));
    at = 0;
  }

  return () => {
    if (at === ahead.length) writeOut();
    return ahead.slice(at, (at += 2 * idBytes));
  };
}
