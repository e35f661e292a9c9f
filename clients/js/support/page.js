// A page of a site, simulated in node: the parts of a browser that the self-starting script uses. HTTP is real, on the
// loopback interface.
import { createServer } from "node:http";
import { readFileSync } from "node:fs";
import { createHash, webcrypto } from "node:crypto";

/** @param {string} name */
const built = (name) => readFileSync(new URL(`../dist/${name}`, import.meta.url), "utf8");

export const SCRIPT = built("hubbub.js");
export const RELAY = built("hubbub-relay.js");
export const DAY = 864e5;

/** A browser's memory of one site: storage, locks and a clock. */
export class Site {
  storage = /** @type {any} */ ({});
  /** What a tab keeps for a visit. */
  session = /** @type {any} */ ({});
  now = Date.UTC(2030, 0, 1);
  /** How long the script wanted to wait, each time; it never has to. @type {number[]} */
  waits = [];
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
    const { source = SCRIPT, src = "http://127.0.0.1:1/hubbub.js", referrer = "", navigator = {}, ...globals } = changes;
    const requests = /** @type {{ url: string, options: any }[]} */ ([]);
    const seen = {
      document: { currentScript: { dataset, src }, referrer },
      location: { host: "site.example" },
      navigator: navigator && { locks: this.locks, ...navigator },
      localStorage: this.storage,
      sessionStorage: this.session,
      crypto: webcrypto,
      Date: { now: () => this.now, parse: Date.parse },
      fetch: (/** @type {string} */ url, /** @type {any} */ options) => {
        requests.push({ url, options });
        return fetch(url, options);
      },
      setTimeout: (/** @type {() => void} */ work, /** @type {number} */ wait) => (this.waits.push(wait), setTimeout(work, 0)),
      addEventListener: () => {},
      window: /** @type {any} */ ({}),
      ...globals,
    };
    new Function(...Object.keys(seen), source)(...Object.values(seen));
    await this.settled();
    return { hubbub: seen.window.hubbub, requests };
  }

  /** Wait until no work is under way. */
  async settled() {
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
      const [, wanted] = request.url?.split("/v1/keys/") ?? [];
      if (wanted) return response.writeHead(this.keys.has(wanted) ? 200 : 404).end(this.keys.get(wanted));
      if (request.method === "GET") {
        const document = this.surveys.get(/** @type {string} */ (request.url).slice(-69, -5)); // …/<id>/open
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
