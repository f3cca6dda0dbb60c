// Reads tables of labels with names from outside.
/** Looks up an untrusted name. Reads own properties only, so `__proto__` finds nothing. */
export const lookUp = (table: Readonly<Record<string, string>>, name: string): string | undefined =>
  Object.hasOwn(table, name) ? table[name] : undefined;
