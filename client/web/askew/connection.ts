// Calls to a server, at public moments and with nothing private while one is open.
//
// The moment of the next connection is fixed when one ends, before its reply is opened: so what the
// device does in between, which depends on what is private, does not move it. Who asks later, by
// their own doing, asks a whole number of intervals later.

import { AskewError, malformed, type Code } from "./errors.js";
import { STALE } from "./wire.js";

export type Observer = (what: "private" | "connection", begins: boolean) => void;

const PROTO = "application/proto";
const CLOSING = 150; // milliseconds from the end of a reply to the first private work
const pause = (time: number) => new Promise((done) => setTimeout(done, time));
const MAX_REPLY = 1 << 22; // bytes
const BUSY = "the server is too busy: ask again later";
const SLOW = "the server did not answer in time";
const CODES: Readonly<Record<string, readonly [Code, string]>> = {
  invalid_argument: ["malformed", "the server refused the question"],
  out_of_range: ["range", "this is beyond the server's limits"],
  failed_precondition: ["stale", STALE],
  not_found: ["not_found", "this server has no such collection"],
  resource_exhausted: ["busy", BUSY],
  unavailable: ["busy", BUSY],
  deadline_exceeded: ["slow", SLOW],
};

export class Connection {
  private _moment = -Infinity; // of the next one, by the clock of performance.now
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
    const alone = this._last.then(() => {
      const late = performance.now() - this._moment;
      if (Number.isFinite(late) && late > 0)
        this._moment += Math.ceil((late + this._interval) / this._interval) * this._interval;
      return work();
    });
    this._last = alone.catch(() => undefined);
    return alone;
  }

  // Work on what is private. Throws where a connection is open: that would be a fault of ours.
  async private<T>(work: () => T | Promise<T>): Promise<T> {
    return this._during("private", work);
  }

  // The reply to one call, when it has ended.
  async call(method: string, request: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
    if (Number.isFinite(this._moment)) {
      const wait = this._moment - performance.now();
      if (wait < 0)
        throw new AskewError("late", "this was late: nothing was sent");
      await pause(wait);
    }
    return this._during("connection", async () => {
      try {
        return await this._answer(method, request);
      } catch (error) {
        throw error instanceof AskewError ? error : failure(error);
      } finally {
        // A page is not told when the browser has closed: up to 21 ms after the reply, as measured.
        await pause(CLOSING);
        this._moment = performance.now() + this._interval;
      }
    });
  }

  // Throws while the other of the two is under way.
  check(other: "private" | "connection"): void {
    if (this._open[other]) throw new AskewError("late", "work overlaps a connection");
  }

  private async _during<T>(what: "private" | "connection", work: () => T | Promise<T>): Promise<T> {
    this.check(what === "private" ? "connection" : "private");
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
      cache: "no-store",
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
    code = (JSON.parse(new TextDecoder().decode(body)) as { code?: unknown } | null)?.code;
  } catch {
    code = response.status === 429 || response.status === 503 ? "unavailable" : undefined;
  }
  const found = typeof code === "string" && Object.hasOwn(CODES, code) ? CODES[code] : undefined;
  return new AskewError(...(found ?? (["failed", "the server failed"] as const)));
}

function failure(error: unknown): AskewError {
  const isSlow = error instanceof DOMException && error.name === "TimeoutError";
  return isSlow
    ? new AskewError("slow", SLOW)
    : new AskewError("unreachable", "no connection to the server");
}
