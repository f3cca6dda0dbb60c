// Names of keys and channels, and the keys derived from the secret that all nodes share.
import { createCipheriv, createDecipheriv, createHmac } from "node:crypto";
import { BoundedMap, keyOf } from "../../lib/util.ts";

/** Keys of one session, in the order that all session scripts expect, with its channel last. */
type SessionKeys = readonly string[];

/** One session in the store. */
export interface SessionPlace {
  /** Digest of channel and session: keys do not contain names that clients choose. */
  readonly sk: string;
  readonly keys: SessionKeys;
}

/** Sessions whose names are kept, because their digest takes longer than everything else. */
const maxPlaces = 10_000;

const digestBytes = 16;
const ivBytes = 12;
const tagBytes = 16;

/** The key space of one group of nodes. */
export class KeySpace {
  /** Begins the names of all keys. */
  readonly base: string;
  /** Channel that all nodes listen to. */
  readonly all: string;
  /** Begins the channel of a single node. */
  readonly nodes: string;
  readonly fingerprintKey: string;
  readonly lineage: string;
  readonly tokens: string;
  readonly index: string;
  /** Hash of open questions and undelivered answers. */
  readonly questions: string;
  /** Sorted set of the sessions with lost questions, by the time of the latest one. */
  readonly lost: string;
  /** Sorted set of ids of deleted messages. */
  readonly deleted: string;
  /** Begins the names of the records of plugins. */
  readonly records: string;
  private readonly secret: string;
  private readonly deletedKey: Buffer;
  private readonly places = new BoundedMap<string, SessionPlace>(maxPlaces);

  constructor(prefix: string, secret: string) {
    this.base = `${prefix}:1:`;
    this.all = `${this.base}n`;
    this.nodes = `${this.base}x:`;
    this.fingerprintKey = `${this.base}k`;
    this.lineage = `${this.base}g`;
    this.tokens = `${this.base}t`;
    this.index = `${this.base}z`;
    this.questions = `${this.base}q`;
    this.lost = `${this.base}lost`;
    this.deleted = `${this.base}d`;
    this.records = `${this.base}r`;
    this.deletedKey = createHmac("sha256", secret).update("doorward deleted ids").digest();
    this.secret = secret;
  }

  place(channel: string, session: string): SessionPlace {
    const name = `${channel}\0${session}`;
    const known = this.places.get(name);
    if (known) return known;
    const digest = createHmac("sha256", this.secret).update(name).digest();
    const place = this.placeOf(digest.subarray(0, digestBytes).toString("base64url"));
    this.places.set(name, place);
    return place;
  }

  placeOf(sk: string): SessionPlace {
    const own = `${this.base}{${sk}}:`;
    const { lineage, index } = this;
    const keys = [`${own}m`, `${own}h`, `${own}w`, `${own}i`, lineage, index, `${own}l`];
    return { sk, keys };
  }

  /** Proves that two nodes have the same secret, without revealing it. */
  fingerprint(): string {
    return this.derive("fingerprint").toString("base64url");
  }

  /** Identifies a deleted message without revealing its id. */
  deletedId(sk: string, id: string): string {
    return createHmac("sha256", this.deletedKey).update(keyOf(sk, id)).digest("base64url");
  }

  /** Identifies a token, the settings or the secret of a connection without revealing it. */
  digest(kind: "token" | "settings" | "connection", text: string): string {
    const key = this.derive(`${kind} digest`);
    return createHmac("sha256", key).update(text).digest("base64url");
  }

  /** Encrypts a token or a record. `name` says which: another name cannot unseal it. */
  seal(name: string, value: string, random: (bytes: number) => Uint8Array): string {
    const iv = random(ivBytes);
    const cipher = createCipheriv("aes-256-gcm", this.derive("token seal"), iv);
    cipher.setAAD(Buffer.from(name));
    const sealed = [cipher.update(value, "utf8"), cipher.final()];
    return Buffer.concat([iv, ...sealed, cipher.getAuthTag()]).toString("base64url");
  }

  /** @throws Error if the value was sealed with another secret or for another name. */
  unseal(name: string, text: string): string {
    const sealed = Buffer.from(text, "base64url");
    const key = this.derive("token seal");
    const decipher = createDecipheriv("aes-256-gcm", key, sealed.subarray(0, ivBytes), {
      authTagLength: tagBytes,
    });
    decipher.setAAD(Buffer.from(name));
    decipher.setAuthTag(sealed.subarray(-tagBytes));
    const plain = decipher.update(sealed.subarray(ivBytes, -tagBytes));
    return Buffer.concat([plain, decipher.final()]).toString("utf8");
  }

  private derive(purpose: string): Buffer {
    return createHmac("sha256", this.secret).update(`doorward ${purpose}`).digest();
  }
}
