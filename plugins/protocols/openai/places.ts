// Encodes the name of a session into the ids that leave, so that every process and every node finds
// the session of an id that a client sends back.

/** Longer ids of tool calls do not fit into the databases of some clients. */
const maxCallPlace = 34;
/** Names that Doorward makes: 32 hexadecimal digits, and perhaps 16 for a further request. */
const made = /^([0-9a-f]{32})(?:~([0-9a-f]{16}))?$/;

/** Returns the name in letters, digits, `_` and `-`. */
function toPlace(name: string): string {
  const [, root, more = ""] = made.exec(name) ?? [];
  if (root === undefined) return `t${Buffer.from(name, "utf8").toString("base64url")}`;
  return `h${Buffer.from(root + more, "hex").toString("base64url")}`;
}

/** @returns The name; undefined for another text. */
export function fromPlace(place: string): string | undefined {
  const bytes = Buffer.from(place.slice(1), "base64url");
  const hex = bytes.toString("hex");
  const more = hex.slice(32);
  const name = place.startsWith("t")
    ? bytes.toString("utf8")
    : `${hex.slice(0, 32)}${more === "" ? "" : `~${more}`}`;
  return name !== "" && toPlace(name) === place ? name : undefined;
}

/** Returns the place for ids of tool calls; undefined if the name is too long for them. */
export function toCallPlace(name: string): string | undefined {
  const place = toPlace(name);
  return place.length <= maxCallPlace ? place : undefined;
}

const responsePattern = /^resp_[0-9a-f]{32}_([\w-]{1,400})$/;

/** @param key - 32 hexadecimal digits. */
export const toResponseId = (key: string, name: string): string => `resp_${key}_${toPlace(name)}`;

/** @returns The name of the session of a response; undefined if the id is none of a response. */
export function nameOfResponse(id: string): string | undefined {
  const [, place] = responsePattern.exec(id) ?? [];
  return place === undefined ? undefined : fromPlace(place);
}

/** Returns the id of an item that asks for an approval. It leads to the session of the question. */
export const toApprovalId = (question: string, name: string): string =>
  `mcpr_${question}_${toPlace(name)}`;

/** The question of the id of an item, and the name of its session if the id has one. */
export function questionOfApproval(id: string): {
  readonly question: string;
  readonly name?: string | undefined;
} {
  const [, question, place] = /^mcpr_([0-9a-f]{32})_([\w-]{1,400})$/.exec(id) ?? [];
  return question === undefined ? { question: id } : { question, name: fromPlace(place!) };
}
