// Errors of the setting `handler`.
import { errorTable } from "../../kernel/index.ts";

export const handlerErrors = errorTable({
  PROGRAM_NOT_FOUND: (word: string, where: string) =>
    `The program "${word}" cannot be run: ${where}.`,
});
