// The load generator. It runs in a process of its own, so that it takes no time from whom it measures, and speaks
// through plain sockets with bytes prepared once, so that it is never the slower side.
import { spawn } from "node:child_process";
import { connect } from "node:net";
import process from "node:process";
import { fileURLToPath } from "node:url";

/**
 * @typedef {object} Load
 * @property {number} port
 * @property {string} head the bytes of every request
 * @property {number} connections how many are busy at a time
 * @property {number} seconds
 * @property {number} [atMost] ends the run early: each closed connection holds an address and port for a minute
 */

/** Requests or handshakes per second.
 * @param {"requests" | "handshakes"} kind @param {Load} load @returns {Promise<number>} */
export async function generate(kind, load) {
  const args = [fileURLToPath(import.meta.url), kind, JSON.stringify(load)];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  let answer = "";
  for await (const text of child.stdout.setEncoding("utf8")) answer += text;
  const { done, seconds, failure } = JSON.parse(answer || '{"failure":"the load generator ended without an answer"}');
  if (failure) throw new Error(failure);
  return done / seconds;
}

/** Kept-alive connections with one request each on its way. @param {Load} load @param {Tally} tally */
function requests({ port, head, connections }, tally) {
  const bytes = Buffer.from(head);
  for (let at = 0; at < connections; at++) {
    const socket = connect(port, "127.0.0.1").setNoDelay(true);
    let left = "";
    socket.on("connect", () => socket.write(bytes));
    socket.on("data", (chunk) => {
      left += chunk.toString("latin1");
      const end = left.indexOf("\r\n\r\n");
      if (end < 0) return;
      const length = Number(/\r\ncontent-length: *(\d+)/i.exec(left.slice(0, end))?.[1] ?? 0);
      if (left.length < end + 4 + length) return;
      if (!left.startsWith("HTTP/1.1 200 ")) return tally.fail(`answered ${left.slice(0, 200)}`);
      left = "";
      if (tally.count()) socket.write(bytes);
    });
    socket.on("error", (error) => tally.fail(error.message));
    socket.on("close", () => tally.fail("the server closed a connection"));
  }
}

/** A new connection each time, from 250 addresses, since each keeps its port for a minute; a polite close once it is
 * answered. @param {Load} load @param {Tally} tally */
function handshakes({ port, head, connections }, tally) {
  const bytes = Buffer.from(head);
  const close = Buffer.from([0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe8]); // masked with zeros, code 1000
  let opened = 0;
  function open() {
    const localAddress = `127.0.0.${2 + (opened++ % 250)}`;
    const socket = connect({ port, host: "127.0.0.1", localAddress }).setNoDelay(true);
    let seen = "";
    let answered = false;
    socket.on("connect", () => socket.write(bytes));
    socket.on("data", (chunk) => {
      if (answered) return;
      seen += chunk.toString("latin1");
      if (!seen.includes("\r\n\r\n")) return;
      answered = true;
      if (!seen.startsWith("HTTP/1.1 101 ")) return tally.fail(`answered ${seen.slice(0, 200)}`);
      socket.end(close);
    });
    socket.on("close", () => {
      if (!answered) return tally.fail("closed before it was answered");
      if (tally.count()) open();
    });
    socket.on("error", (error) => tally.fail(error.message));
  }
  for (let at = 0; at < connections; at++) open();
}

/**
 * @typedef {object} Tally
 * @property {() => boolean} count one is done; true: go on
 * @property {(why: string) => void} fail
 */

/** @param {Load} load @returns {Tally} */
function createTally({ seconds, atMost = Number.POSITIVE_INFINITY }) {
  const began = performance.now();
  let done = 0;
  const answer = (/** @type {object} */ result) => process.stdout.write(JSON.stringify(result), () => process.exit());
  let over = false;
  const finish = (/** @type {object} */ result) => {
    if (!over) answer(result);
    over = true;
  };
  setTimeout(() => finish({ failure: `only ${done} were done in ${seconds * 3} s` }), seconds * 3_000).unref();
  return {
    count() {
      done += 1;
      const elapsed = (performance.now() - began) / 1_000;
      if (elapsed < seconds && done < atMost) return !over;
      finish({ done, seconds: elapsed });
      return false;
    },
    fail: (why) => finish({ failure: why }),
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [, , kind, text = "{}"] = process.argv;
  /** @type {Load} */
  const load = JSON.parse(text);
  (kind === "requests" ? requests : handshakes)(load, createTally(load));
}
