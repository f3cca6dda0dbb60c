// Escapes text for XML files of service managers.

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
};

export const escapeXml = (text: string): string =>
  text.replace(/[&<>"]/g, (character) => entities[character]!);
