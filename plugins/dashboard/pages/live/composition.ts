/** Keys of input methods, for example for Japanese. @module */

/** Code of a key that an input method uses. Safari ends the composition before the key. */
const usedByInputMethod = 229;

/** True if the key belongs to the input of a character, such as the Enter that ends it. */
export const isComposing = (event: KeyboardEvent): boolean =>
  event.isComposing || event.keyCode === usedByInputMethod;
