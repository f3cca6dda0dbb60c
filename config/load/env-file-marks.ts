// Finds values of environment variables that contain quotation marks or a comment of an env file.

const isQuoted = (value: string): boolean => /^(["']).*\1$/s.test(value) && value.length > 1;

/**
 * Names the variables whose value is in quotation marks, or has a comment at its end, tokens first.
 * `docker run --env-file` keeps both as part of the value (moby/moby#46773), and `set` of Windows
 * keeps quotation marks. The value is used as it is, because it may be meant.
 *
 * @param brand - Prefix of the variables, in lower case.
 * @returns One sentence per variable, without its value.
 */
export function envFileMarks(
  env: Readonly<Record<string, string | undefined>>,
  brand: string,
): string[] {
  const prefix = `${brand.toUpperCase()}_`;
  const names = Object.keys(env).filter((name) => name.startsWith(prefix));
  const isToken = (name: string): boolean => name.endsWith("_TOKEN");
  return [...names.filter(isToken), ...names.filter((name) => !isToken(name))].flatMap((name) => {
    const value = env[name]?.trim() ?? "";
    if (isQuoted(value)) {
      const fix = "remove them, since docker run --env-file does not";
      return [`the quotation marks around the value of ${name} are part of it; ${fix}`];
    }
    if (!/\s#/.test(value)) return [];
    const fix = "remove a comment, since docker run --env-file does not";
    return [`the text after " #" in the value of ${name} is part of it; ${fix}`];
  });
}

/** @returns What a variable must be, for a value that quotation marks make invalid. */
export const expectedOf = (expected: string, value: string): string =>
  isQuoted(value) ? `${expected} without quotation marks` : expected;
