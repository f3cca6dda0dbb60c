// Stores the names of recent conversations in this browser.
const key = "doorward-conversations";
const maxNames = 30;

/** Returns the conversations opened in this browser, latest first. Names are not secret. */
export function knownNames(): readonly string[] {
  try {
    const names: unknown = JSON.parse(localStorage.getItem(key) ?? "[]");
    return Array.isArray(names)
      ? names.filter((name) => typeof name === "string").slice(0, maxNames)
      : [];
  } catch {
    return [];
  }
}

export function rememberName(name: string): void {
  try {
    localStorage.setItem(
      key,
      JSON.stringify([name, ...knownNames().filter((known) => known !== name)].slice(0, maxNames)),
    );
  } catch {
    // Without local storage, the names are lost with the page.
  }
}

/** Deletes the names at sign-out, so that the next user of this browser does not see them. */
export function forgetNames(): void {
  try {
    localStorage.removeItem(key);
  } catch {
    // Without local storage, there is nothing to delete.
  }
}

export function createName(): string {
  const [random = 0] = crypto.getRandomValues(new Uint32Array(1));
  return `chat-${random.toString(16).padStart(8, "0")}`;
}

const encoder = new TextEncoder();

/** Applies the limits of the channel: up to 256 bytes, no control characters. */
export function isConversationName(name: string): boolean {
  return name !== "" && encoder.encode(name).length <= 256 && !/\p{Cc}/u.test(name);
}
