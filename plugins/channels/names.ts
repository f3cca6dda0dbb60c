const nameBytes = 16;
/** Few, since a name that lives on keeps the text it was cut from. */
const atOnce = 16;

/** Names of messages: 16 random bytes each, as hexadecimal digits, written out some at a time. */
export function createNames(random: (bytes: number) => Uint8Array): () => string {
  let ahead = "";
  let at = 0;
  return () => {
    if (at === ahead.length) {
      ahead = Buffer.from(random(nameBytes * atOnce)).toString("hex");
      at = 0;
    }
    return ahead.slice(at, (at += 2 * nameBytes));
  };
}
