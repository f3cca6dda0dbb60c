import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { Script } from "node:vm";
import { crc32 } from "node:zlib";

/** What V8 made of a file of the program. */
export interface CompiledScript {
  /** CRC-32 of the file it was made of: V8 itself compares only the length, and some installers give all files
   *  one time. */
  readonly source: number;
  readonly data: Uint8Array;
}
export type CompiledFiles = ReadonlyMap<string, CompiledScript>;

/** A file of `dist/bin` is one function, as scripts/bundle.mjs writes it. `unit` and `load`: another file, at once or
 *  later; `foreign`: a module that is no part of the program, since a script cannot import by itself. */
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
  readonly isCompiledAnew: boolean;
}

/** Loads the files of the program, each once. Node's own loader could not take what an earlier start compiled: its
 *  cache (`module.enableCompileCache`, from Node 22) holds what is compiled at once and none of the functions that are
 *  compiled when they are called, which are most. */
export class ScriptLoader {
  readonly #units = new Map<string, LoadedScript>();
  readonly #folder: URL;
  #compiled: CompiledFiles = new Map();
  /** So many files were loaded before anything of earlier starts was at hand. */
  #before = 0;

  constructor(folder: URL) {
    this.#folder = folder;
  }

  /** For the files loaded from now on. What does not fit this Node or this file is left aside. */
  use(compiled: CompiledFiles): void {
    this.#compiled = compiled;
    this.#before = this.#units.size;
  }

  /** What the file exports. */
  unit(name: string): object {
    return (this.#units.get(name) ?? this.#run(name)).module.exports;
  }

  /** The files loaded since `use`, functions that were called included; undefined when all had been compiled before. */
  compiled(): CompiledFiles | undefined {
    this.#compiled = new Map();
    const since = [...this.#units].slice(this.#before);
    if (!since.some(([, { isCompiledAnew }]) => isCompiledAnew)) return undefined;
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
      isCompiledAnew: !cachedData || script.cachedDataRejected === true,
    };
    this.#units.set(name, unit);
    const body = script.runInThisContext() as ScriptBody;
    body(
      module.exports,
      module,
      createRequire(url),
      (other) => this.unit(other),
      async (other) => this.unit(other),
      (address) => import(address),
      url.href,
    );
    return unit;
  }
}
