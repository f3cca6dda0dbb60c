// Loads the program's files with code that an earlier start compiled.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { Script } from "node:vm";
import { crc32 } from "node:zlib";

/** Compiled code of one file. */
interface CompiledScript {
  /** CRC-32 of the source. V8 compares only the length, and some installers give all files the same
   *  time. */
  readonly source: number;
  readonly data: Uint8Array;
}
export type CompiledFiles = ReadonlyMap<string, CompiledScript>;

/** The function that scripts/bundle.mjs writes to each file of `dist/bin`. `unit` loads another
 *  file synchronously and `load` asynchronously; `foreign` imports a module from outside the
 *  program, which a script cannot do itself. */
type ScriptBody = (
  exports: object,
  module: { exports: object },
  require: NodeJS.Require,
  unit: (name: string) => object,
  load: (name: string) => Promise<object>,
  foreign: (address: string) => Promise<object>,
  url: string,
) => void;

interface LoadedScript {
  readonly module: { exports: object };
  readonly script: Script;
  readonly source: number;
  readonly isNew: boolean;
}

/** Loads the files of the program, each once. Node's own cache (`module.enableCompileCache`, from
 *  Node 22) lacks functions that V8 compiles at their first call, which are most of them. */
export class ScriptLoader {
  readonly #units = new Map<string, LoadedScript>();
  readonly #folder: URL;
  #compiled: CompiledFiles = new Map();
  /** Number of files loaded before `use`. */
  #before = 0;

  constructor(folder: URL) {
    this.#folder = folder;
  }

  /** Uses this code for files loaded from now on, if it fits the file and this Node. */
  use(compiled: CompiledFiles): void {
    this.#compiled = compiled;
    this.#before = this.#units.size;
  }

  /** @returns The exports of the file. */
  unit(name: string): object {
    return (this.#units.get(name) ?? this.#run(name)).module.exports;
  }

  /** @returns Code of the files loaded since `use`, with the functions called so far; undefined if
   *  all of it came from the cache. */
  compiled(): CompiledFiles | undefined {
    this.#compiled = new Map();
    const since = [...this.#units].slice(this.#before);
    if (!since.some(([, { isNew }]) => isNew)) return undefined;
    return new Map(
      since.map(([name, { script, source }]) => [
        name,
        { source, data: script.createCachedData() },
      ]),
    );
  }

  #run(name: string): LoadedScript {
    const url = new URL(name, this.#folder);
    const text = readFileSync(url, "utf8");
    const source = crc32(text);
    const known = this.#compiled.get(name);
    const cachedData = known?.source === source ? known.data : undefined;
    const script = new Script(text, {
      filename: fileURLToPath(url),
      ...(cachedData && { cachedData }),
    });
    const module = { exports: {} };
    const unit = {
      module,
      script,
      source,
      isNew: !cachedData || script.cachedDataRejected === true,
    };
    this.#units.set(name, unit);
    const body = script.runInThisContext() as ScriptBody;
    body(
      module.exports,
      module,
      createRequire(url),
      (name) => this.unit(name),
      async (name) => this.unit(name),
      (address) => import(address),
      url.href,
    );
    return unit;
  }
}
