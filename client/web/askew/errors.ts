// The one error of this library. Its message is ours, and never a server's text or a private value.

export type Code =
  | "budget" // a charge would pass a cap; nothing was drawn
  | "quote" // what the person was shown no longer holds; nothing was drawn
  | "place" // a position or a name that makes no place
  | "clock" // the clock jumped: nothing is spent until the person accepts it
  | "preference" // preferences that cannot be read
  | "storage" // this browser does not keep, or no longer has, what it must
  | "late" // private work was not done by its moment: nothing was sent
  | "malformed" // the answer breaks the protocol
  | "stale" // the server has changed: connect again
  | "range" // beyond what the server answers
  | "not_found"
  | "busy"
  | "unreachable"
  | "slow"
  | "failed";

export class AskewError extends Error {
  constructor(
    readonly code: Code,
    message: string,
  ) {
    super(message);
    this.name = "AskewError";
  }
}

export const malformed = () =>
  new AskewError("malformed", "the answer breaks the protocol");
