// A page of a site, simulated in node: the parts of a browser that the self-starting script uses. HTTP is real, on the
// loopback interface.
import { createServer } from "node:http";
import { readFileSync } from "node:fs";
import { createHash, webcrypto } from "node:crypto";

/** @param {string} name */
const built = (name) => readFileSync(new URL(`../dist/${name}`, import.meta.url), "utf8");
export const SCRIPT = built("hubbub.js");
export const RELAY = built("hubbub-relay.js");
const PARTS = { more: built("hubbub-more.js"), debug: built("hubbub-debug.js") };
export const DAY = 864e5;

/** Run a script that sees some globals. @param {string} source @param {any} seen */
const run = (source, seen) => new Function(...Object.keys(seen), source)(...Object.values(seen));

/** A browser's memory of one site: storage, locks and a clock. */
export class Site {
  storage = /** @type {any} */ ({});
  /** What a tab keeps for a visit. */
  session = /** @type {any} */ ({});
  now = Date.UTC(2030, 0, 1);
  /** How long the script wanted to wait, each time; it never has to. @type {number[]} */
  waits = [];
  /** What the second part of the script waits for. */
  loading = Promise.resolve();
  /** @type {Promise<unknown>} */
  #last = Promise.resolve();

  locks = {
    /** @param {string} _ @param {() => Promise<unknown>} work */
    request: (_, work) => {
      const result = this.#last.then(work);
      this.#last = result.catch(() => {});
      return result;
    },
  };

  /** The ledger, as it is stored. @returns {Record<string, import("../src/ledger.js").Entry>} */
  get ledger() {
    return JSON.parse(this.storage.hubbub ?? "{}");
  }

  /**
   * A page view: run the script, with some attributes, and wait until it is done or waits for the page.
   *
   * @param {Record<string, string>} dataset
   * @param {any} [changes] of what the script sees: names of globals, with their values
   */
  async view(dataset, changes = {}) {
    const { source = SCRIPT, src = "http://127.0.0.1:1/hubbub.js", referrer = "", navigator = {}, page = {}, ...globals } = changes;
    const requests = /** @type {{ url: string, options: any }[]} */ ([]);
    const parts = /** @type {any[]} */ ([]);
    const said = /** @type {string[]} */ ([]);
    const head = {
      // The elements of parts run later, as in a browser.
      append: async (/** @type {any} */ part) => {
        parts.push(part);
        await this.loading;
        const name = /** @type {"more" | "debug"} */ (/hubbub-(more|debug)/.exec(part.src)?.[1]);
        run(PARTS[name], { ...seen, document: Object.create(document, { currentScript: { value: part } }) });
      },
    };
    const createElement = (/** @type {string} */ name) => ({ name });
    const document = Object.defineProperties(
      { currentScript: { dataset, src, nonce: "n" }, referrer, createElement, head },
      Object.getOwnPropertyDescriptors(page),
    );
    const seen = {
      document,
      location: new URL("https://site.example/"),
      isSecureContext: true,
      console: { info: (/** @type {string} */ text) => said.push(text) },
      navigator: navigator && { locks: this.locks, ...navigator },
      localStorage: this.storage,
      sessionStorage: this.session,
      crypto: webcrypto,
      Date: Object.assign(class extends Date {}, { now: () => this.now }),
      fetch: (/** @type {string} */ url, /** @type {any} */ options) => {
        requests.push({ url, options });
        return fetch(url, options);
      },
      setTimeout: (/** @type {() => void} */ work, /** @type {number} */ wait) => (this.waits.push(wait), setTimeout(work, 0)),
      addEventListener: () => {},
      window: /** @type {any} */ ({}),
      ...globals,
    };
    run(source, seen);
    await this.settled();
    return { hubbub: seen.window.hubbub, requests, parts, said };
  }

  /** Wait until no work is under way. */
  async settled() {
    await new Promise((resolve) => setTimeout(resolve, 5));
    for (let last; last !== this.#last; ) {
      last = this.#last;
      await last;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
}

/** A collector whose replies can be made to fail. */
export class Collector {
  /** @type {Map<string, string>} */
  surveys = new Map();
  /** Public keys, by their SHA-256. @type {Map<string, Uint8Array>} */
  keys = new Map();
  /** What is served for a site, by its key. @type {Map<string, string>} */
  sites = new Map();
  /** The next replies to uploads, instead of the usual ones: a status, or text that is sent with 200. @type {(number | string)[]} */
  faults = [];
  /** @type {Buffer[]} */
  posted = [];
  /** @type {import("node:http").IncomingHttpHeaders[]} */
  headers = [];
  /** @type {string[]} */
  requests = [];
  onPost = () => {};

  server = createServer((request, response) => {
    this.requests.push(`${request.method} ${request.url}`);
    this.headers.push(request.headers);
    const parts = /** @type {Buffer[]} */ ([]);
    request.on("data", (part) => parts.push(part));
    request.on("end", () => {
      const [, wanted] = `${request.url}`.split("/v1/keys/");
      if (wanted) {
        response.writeHead(this.keys.has(wanted) ? 200 : 404).end(this.keys.get(wanted));
        return;
      }
      if (request.method === "GET") {
        const [, site, id] = /** @type {string[]} */ (/v1\/(?:sites\/(.*)|surveys\/(.*)\/open)/.exec(`${request.url}`) ?? []);
        const document = site ? this.sites.get(site) : this.surveys.get(id);
        response.writeHead(document ? 200 : 204).end(document);
        return;
      }
      this.onPost();
      this.posted.push(Buffer.concat(parts));
      const fault = this.faults.shift();
      if (fault === 0) request.socket.destroy();
      else if (typeof fault === "number") response.writeHead(fault).end("{}");
      else response.end(fault ?? '{"accepted":1,"duplicate":0,"invalid":0,"statuses":["accepted"]}');
    });
  });

  async start() {
    this.server.keepAliveTimeout = 0; // a connection that the server closes just when it is used again would be a fault
    await new Promise((resolve) => this.server.listen(0, "127.0.0.1", () => resolve(undefined)));
    const address = /** @type {import("node:net").AddressInfo} */ (this.server.address());
    this.src = `http://127.0.0.1:${address.port}/hubbub.js`;
    return this;
  }

  stop() {
    this.server.closeAllConnections();
    this.server.close();
  }

  /** Serve a survey; returns its id. @param {string} document */
  add(document) {
    const id = createHash("sha256").update(document).digest("hex");
    this.surveys.set(id, document);
    return id;
  }
}

/** A survey's JSON with other fields, in canonical form. @param {string} document @param {Record<string, unknown>} fields */
export function changed(document, fields) {
  const data = { ...JSON.parse(document), ...fields };
  return JSON.stringify(Object.fromEntries(Object.keys(data).sort().map((name) => [name, data[name]])));
}
