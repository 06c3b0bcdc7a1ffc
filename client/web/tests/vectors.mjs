// The vectors that the core made, and the tapes of random bytes that they name.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

export const vectors = JSON.parse(
  readFileSync(new URL("../../../tests/protocol/vectors.json", import.meta.url), "utf8"),
);

export const regions = vectors.regions.map(([code, name, south, west, north, east, cosine]) => ({
  code,
  name,
  south,
  west,
  north,
  east,
  cosine,
}));

export const fromHex = (text) => Uint8Array.from(Buffer.from(text, "hex"));
export const toHex = (bytes) => Buffer.from(bytes).toString("hex");

// The bytes of SHA-256 of "askew SEED 0", "askew SEED 1", and so on, with patches [place, hex] on
// them; `read` is how many were used.
export function tape(seed, patches = []) {
  let [bytes, block] = [Buffer.alloc(0), 0];
  const bits = (count) => {
    while (bytes.length < bits.read + count) {
      bytes = Buffer.concat([
        bytes,
        createHash("sha256").update(`askew ${seed} ${block}`).digest(),
      ]);
      block += 1;
    }
    const found = Uint8Array.from(bytes.subarray(bits.read, bits.read + count));
    for (const [place, patch] of patches)
      fromHex(patch).forEach((byte, n) => {
        const at = place + n - bits.read;
        if (at >= 0 && at < count) found[at] = byte;
      });
    bits.read += count;
    return found;
  };
  bits.read = 0;
  return bits;
}
