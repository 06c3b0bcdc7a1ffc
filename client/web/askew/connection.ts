// Calls to a server, at public moments and with nothing private while one is open.
//
// The moment of the next connection is fixed when one ends, before its reply is opened: so what the
// device does in between, which depends on what is private, does not move it. Who asks later, by
// their own doing, asks a whole number of intervals later.

import { AskewError, malformed, type Code } from "./errors.js";

export type Observer = (what: "private" | "connection", begins: boolean) => void;

const MAX_REPLY = 1 << 22; // bytes
const CODES: Readonly<Record<string, readonly [Code, string]>> = {
  invalid_argument: ["malformed", "the server did not understand the question"],
  out_of_range: ["range", "the number of results or the noise is beyond this server's limits"],
  failed_precondition: ["stale", "this server has changed: connect again"],
  not_found: ["not_found", "this server has no such collection"],
  resource_exhausted: ["busy", "the server is too busy: ask again later"],
  unavailable: ["busy", "the server is not ready: ask again later"],
  deadline_exceeded: ["slow", "the server did not answer in time"],
};

export class Connection {
  private moment = -Infinity; // of the next one, by the clock of performance.now
  private last: Promise<unknown> = Promise.resolve();
  private readonly open = { private: 0, connection: 0 };

  constructor(
    private readonly server: string,
    private readonly interval: number,
    private readonly timeout: number,
    private readonly observe: Observer,
  ) {}

  // All of one question, alone. Its moment is fixed here, before anything private.
  turn<T>(work: () => Promise<T>): Promise<T> {
    const alone = this.last.then(() => {
      const late = performance.now() - this.moment;
      if (Number.isFinite(late) && late > 0)
        this.moment += Math.ceil((late + this.interval) / this.interval) * this.interval;
      return work();
    });
    this.last = alone.catch(() => undefined);
    return alone;
  }

  // Work on what is private. Throws where a connection is open: that would be a fault of ours.
  async private<T>(work: () => T | Promise<T>): Promise<T> {
    return this.during("private", work);
  }

  // The reply to one call, when it has ended.
  async call(method: string, request: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
    if (Number.isFinite(this.moment)) {
      const wait = this.moment - performance.now();
      if (wait < 0) throw new AskewError("late", "this device was not ready in time, and sent nothing: ask again");
      await new Promise((done) => setTimeout(done, wait));
    }
    return this.during("connection", async () => {
      try {
        return await this.answer(method, request);
      } catch (error) {
        throw error instanceof AskewError ? error : failure(error);
      } finally {
        this.moment = performance.now() + this.interval;
      }
    });
  }

  private async during<T>(what: "private" | "connection", work: () => T | Promise<T>): Promise<T> {
    const other = what === "private" ? "connection" : "private";
    if (this.open[other]) throw new AskewError("failed", "private work and a connection would overlap");
    this.open[what] += 1;
    this.observe(what, true);
    try {
      return await work();
    } finally {
      this.open[what] -= 1;
      this.observe(what, false);
    }
  }

  private async answer(method: string, request: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
    const response = await fetch(new URL(`/askew.wire.v1.Retrieval/${method}`, this.server), {
      method: "POST",
      headers: { "content-type": "application/proto", "connect-protocol-version": "1" },
      body: request,
      cache: "no-store",
      credentials: "omit",
      redirect: "error",
      referrerPolicy: "no-referrer",
      signal: AbortSignal.timeout(this.timeout),
    });
    const body = await bytesOf(response);
    if (response.ok && response.headers.get("content-type") === "application/proto") return body;
    throw refusal(response, body);
  }
}

async function bytesOf(response: Response): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let size = 0;
  const reader = response.body?.getReader();
  for (let part = await reader?.read(); part?.value; part = await reader?.read()) {
    size += part.value.length;
    if (size > MAX_REPLY) {
      await reader?.cancel();
      throw malformed("it is too long");
    }
    parts.push(part.value);
  }
  const whole = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
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
    ? new AskewError("slow", "the server did not answer in time")
    : new AskewError("unreachable", "no connection to the server");
}
