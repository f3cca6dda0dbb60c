// Finds out whether a form asks for a secret. Its answer would be stored in the conversation.
import { foldLookAlikes } from "../../lib/look-alikes.ts";
import type { FormProperty, FormSchema } from "./contract.ts";

/** Added to the description of a field that seems to ask for a secret. */
const storedHint = "The answer is stored. Do not enter a password.";

const fold = (words: string): ReadonlySet<string> => new Set(words.split(" ").map(foldLookAlikes));

/** Each word means a secret; two words may be written as one. */
const secretWords = fold(
  "password passwords passwd pass pwd pw passphrase passcode secret secrets credential " +
    "credentials apikey apitoken accesskey privatekey secretkey signingkey pincode pin otp totp " +
    "cvv cvc passwort kennwort contraseña senha пароль 密码 密碼 パスワード 비밀번호",
);
/** Words that end a longer one, such as `dbpassword` or `accesstoken`. */
const secretEnds = ["password", "passwd", "passphrase", "secret", "apikey"].map(foldLookAlikes);
/** A token next to one of these is a piece of text, as language models count them. */
const countWords = fold(
  "max maximum min minimum per num number count counts limit limits budget usage used length " +
    "size total price cost rate input output prompt completion",
);
/** These words make a plural of tokens a secret. */
const accessWords = fold("access auth api bearer refresh bot session");
const isToken = (word: string): boolean => word === "token" || word.endsWith("token");

/** @returns The words of a name or a title: `userPassWord2` has four. */
function wordsOf(text: string): readonly string[] {
  return text
    .normalize("NFKC")
    .replace(/(?=\P{White_Space})[\p{Default_Ignorable_Code_Point}\p{Cf}]/gu, "")
    .replace(/(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/gu, " ")
    .split(/[^\p{L}\p{M}\p{N}]+/u)
    .flatMap((word) => {
      const whole = foldLookAlikes(word);
      const parts = word.split(/\p{N}+/u).map(foldLookAlikes);
      return parts.length > 1 && !secretWords.has(whole) ? parts : [whole];
    })
    .filter((word) => word !== "");
}

/** @returns Whether a name, a title or a description means a secret. */
function namesSecret(text: string): boolean {
  const words = wordsOf(text);
  return words.some((word, at) => {
    const [before = "", after = ""] = [words[at - 1], words[at + 1]];
    if (secretWords.has(word) || secretWords.has(word + after)) return true;
    if (secretEnds.some((end) => word.endsWith(end))) return true;
    if (word === "tokens") return accessWords.has(before);
    return isToken(word) && !countWords.has(before) && !countWords.has(after);
  });
}

/** Only in these a person can type a secret. */
const isTyped = ({ type, enum: texts, oneOf }: FormProperty): boolean =>
  type === "number" || type === "integer" || (type === "string" && !texts && !oneOf);

/** @returns The name of a field that asks for a secret. */
export const secretField = ({ properties }: FormSchema): string | undefined =>
  Object.entries(properties).find(
    ([name, property]) =>
      isTyped(property) && (namesSecret(name) || namesSecret(property.title ?? "")),
  )?.[0];

/**
 * @param texts - Texts around the form.
 * @returns The form, with a hint in each field if its description or one of the texts may ask for
 *   a secret.
 */
export function withStoredHints(form: FormSchema, texts: readonly string[]): FormSchema {
  const isAround = texts.some(namesSecret);
  const complete = (property: FormProperty): FormProperty => {
    const { description = "" } = property;
    if (!isTyped(property) || !(isAround || namesSecret(description))) return property;
    return { ...property, description: description ? `${description} ${storedHint}` : storedHint };
  };
  const fields = Object.entries(form.properties).map(
    ([name, property]) => [name, complete(property)] as const,
  );
  return { ...form, properties: Object.fromEntries(fields) };
}
