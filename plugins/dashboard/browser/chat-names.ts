const key = "doorward-conversations";
const most = 30;

/** Names of the conversations this browser opened, the latest first. Names are no secret. */
export function knownNames(): readonly string[] {
  try {
    const names: unknown = JSON.parse(localStorage.getItem(key) ?? "[]");
    return Array.isArray(names)
      ? names.filter((name) => typeof name === "string").slice(0, most)
      : [];
  } catch {
    return [];
  }
}

export function remember(name: string): void {
  try {
    localStorage.setItem(
      key,
      JSON.stringify([name, ...knownNames().filter((known) => known !== name)].slice(0, most)),
    );
  } catch {
    // A browser that stores nothing forgets the names with the page.
  }
}

/** At sign-out: the next user of this browser need not see them. */
export function forgetNames(): void {
  try {
    localStorage.removeItem(key);
  } catch {
    // Nothing is stored.
  }
}

export function newName(): string {
  const [random = 0] = crypto.getRandomValues(new Uint32Array(1));
  return `chat-${random.toString(16).padStart(8, "0")}`;
}

const encoder = new TextEncoder();

/** As the channel takes it: up to 256 bytes, no control characters. */
export function isName(name: string): boolean {
  return name !== "" && encoder.encode(name).length <= 256 && !/\p{Cc}/u.test(name);
}
