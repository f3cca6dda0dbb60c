/** Reads and draws markdown. Loaded with the first message. @module */
import { createBlockLexer, type BlockLexer } from "./blocks.ts";
import { lexBounded } from "./lexer.ts";

export { drawToken } from "./tokens.tsx";

/** Creates a reader for one growing text. */
export const createReader = (): BlockLexer => createBlockLexer(lexBounded);
