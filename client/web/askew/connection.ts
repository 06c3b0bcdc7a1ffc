// Calls to a server, at public moments and with nothing private while one is open.
//
// The moment of the next connection is fixed when one ends, before its reply is opened: so what the
// device does in between, which depends on what is private, does not move it. Who asks later, by
// their own doing, asks a whole number of intervals later.

import { AskewError, malformed, type Code } from "./errors.js";
import { NO_COLLECTION, STALE } from "./wire.js";

export type Observer = (what: "private" | "connection", begins: boolean) => void;

const PROTO = "application/proto";
const CLOSING = 150; // milliseconds from the end of a reply to the first private work
const pause = (time: number) => new Promise((done) => setTimeout(done, time));
const MAX_REPLY = 1 << 22; // bytes
const BUSY = "the server is busy: ask later";
const SLOW = "the server is too slow";
const CODES: Readonly<Record<string, readonly [Code, string]>> = {
  invalid_argument: ["malformed", "the server refused the question"],
  out_of_range: ["range", "beyond the server's limits"],
  failed_precondition: ["stale", STALE],
  not_found: ["not_found", NO_COLLECTION],
  resource_exhausted: ["busy", BUSY],
  unavailable: ["busy", BUSY],
  deadline_exceeded: ["slow", SLOW],
};

// Tabs of one origin share the moments, and what one of them does in private never overlaps another's
// connection.
const MOMENT = "askew";
const LONGEST = 60_000; // milliseconds; a moment beyond is a clock's that was put back
// Neither is there in every page, nor outside of one.
const { navigator, localStorage, location } = globalThis as Partial<typeof globalThis>;
const clock = () => performance.timeOrigin + performance.now();

async function oneTab<T>(work: () => Promise<T>): Promise<T> {
  return navigator?.locks ? navigator.locks.request(MOMENT, work) : work();
}

export class Connection {
  private _moment = 0; // of the next one
  private _turns = false; // a question is under way
  private _last: Promise<unknown> = Promise.resolve();
  private readonly _open = { private: 0, connection: 0 };

  constructor(
    private readonly _server: string,
    private readonly _interval: number,
    private readonly _timeout: number,
    private readonly _observe: Observer,
  ) {}

  // All of one question, alone. Its moment is fixed here, before anything private.
  turn<T>(work: () => Promise<T>): Promise<T> {
    const alone = this._last.then(() =>
      oneTab(async () => {
        this._turns = true;
        const [now, other] = [clock(), Number(localStorage?.getItem(MOMENT))];
        if (other < now + LONGEST) this._moment = Math.max(this._moment, other);
        const late = now - this._moment;
        if (this._moment && late > 0)
          this._moment += Math.ceil((late + this._interval) / this._interval) * this._interval;
        return work();
      }).finally(() => (this._turns = false)),
    );
    this._last = alone.catch(() => undefined);
    return alone;
  }

  // Work on what is private. Throws where a connection is open: that would be a fault of ours.
  async private<T>(work: () => T | Promise<T>): Promise<T> {
    const alone = () => this._during("private", work);
    return this._turns ? alone() : oneTab(alone);
  }

  // The reply to one call, when it has ended.
  async call(method: string, request: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
    if (this._moment) {
      const wait = this._moment - clock();
      if (wait < 0)
        throw new AskewError("late", "too late: nothing was sent");
      await pause(wait);
    }
    return this._during("connection", async () => {
      try {
        return await this._answer(method, request);
      } catch (error) {
        throw error instanceof AskewError ? error : failure(error, this._server);
      } finally {
        // A page is not told when the browser has closed: up to 21 ms after the reply, as measured.
        await pause(CLOSING);
        this._moment = clock() + this._interval;
        localStorage?.setItem(MOMENT, `${this._moment}`);
      }
    });
  }

  private async _during<T>(what: "private" | "connection", work: () => T | Promise<T>): Promise<T> {
    if (this._open[what === "private" ? "connection" : "private"])
      throw new AskewError("late", "a connection is open");
    this._open[what] += 1;
    this._observe(what, true);
    try {
      return await work();
    } finally {
      this._open[what] -= 1;
      this._observe(what, false);
    }
  }

  private async _answer(method: string, request: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
    const response = await fetch(new URL(`/askew.wire.v1.Retrieval/${method}`, this._server), {
      method: "POST",
      headers: { "content-type": PROTO, "connect-protocol-version": "1" },
      body: request,
      credentials: "omit",
      redirect: "error",
      referrerPolicy: "no-referrer",
      signal: AbortSignal.timeout(this._timeout),
    });
    const body = await bytesOf(response);
    if (response.ok && response.headers.get("content-type") === PROTO) return body;
    throw refusal(response, body);
  }
}

// The body, of which no more is held than an answer takes.
async function bytesOf(response: Response): Promise<Uint8Array> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let left = MAX_REPLY;
  const reader = response.body?.getReader();
  for (let part = await reader?.read(); part?.value; part = await reader?.read()) {
    left -= part.value.length;
    if (left < 0) {
      await reader?.cancel();
      throw malformed();
    }
    parts.push(part.value);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

// By the server's code alone: its own text is never shown.
function refusal(response: Response, body: Uint8Array): AskewError {
  let code: unknown;
  try {
    ({ code } = JSON.parse(new TextDecoder().decode(body)) as { code?: unknown });
  } catch {
    code = [429, 503].includes(response.status) && "unavailable";
  }
  for (const [name, said] of Object.entries(CODES)) if (name === code) return new AskewError(...said);
  return new AskewError("failed", "the server fails");
}

// A browser does not tell a page whether nobody replied, or somebody whose reply it may not read. From its
// own origin it may read all.
function failure(error: unknown, server: string): AskewError {
  if ((error as Error).name === "TimeoutError") return new AskewError("slow", SLOW);
  const own = server === location?.origin;
  return new AskewError("unreachable", own ? "no reply" : "no reply that this page may read: check its address and http.origins");
}
