export type Environment = Readonly<Record<string, string | undefined>>;

/** What a program may know of our environment: nothing that is ours, whatever it is called. */
export function programEnvironment(
  env: Environment,
  prefix: string,
  more: Environment = {},
): Record<string, string> {
  const isOurs = (name: string): boolean =>
    name.toUpperCase().startsWith(`${prefix.toUpperCase()}_`);
  const kept = Object.entries(env).filter(([name]) => !isOurs(name));
  const all = [...kept, ...Object.entries(more)];
  return Object.fromEntries(
    all.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}
