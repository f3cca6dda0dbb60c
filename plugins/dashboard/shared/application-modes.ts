/** Finds modes in which an application acts without asking. @module */

interface Mode {
  readonly id: string;
  readonly name?: string;
  readonly unguarded?: boolean | undefined;
}

/** Words that coding agents use for such modes. */
const words = /bypass|yolo|full|auto|don['’]?t[ _-]?ask/i;

/** True if the application says so, or the id or the name of the mode does. */
export const actsWithoutAsking = ({ id, name = "", unguarded }: Mode): boolean =>
  unguarded === true || words.test(id) || words.test(name);
