/** Reads and draws markdown. Loaded with the first message. @module */
import { lexer } from "marked";
import { createBlockLexer, type BlockLexer } from "./blocks.ts";

export { drawToken } from "./tokens.tsx";

/** Creates a reader for one growing text. */
export const createReader = (): BlockLexer => createBlockLexer((text) => lexer(text));
