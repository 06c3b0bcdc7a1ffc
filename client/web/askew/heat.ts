// What a server can know of a place from its signal: for a map, drawn by this device alone.

import type { Position } from "./noise.js";

export const HALF = 1.6783469900166603; // the depth above which half of the law lies
export const MOST = 3.8897201698674286; // the same for nine tenths
const GAUGE = 1.1545;

// Positions around a signal that are as deep as this. epsilon: per kilometer.
export function outline(
  signal: Position,
  epsilon: number,
  cosine: number,
  depth = HALF,
): Position[] {
  const corners = 24;
  return Array.from({ length: corners }, (_, n) => {
    const [x, y] = [Math.cos((2 * Math.PI * n) / corners), Math.sin((2 * Math.PI * n) / corners)];
    const t = (15 * y) / 13;
    const reach =
      (depth * GAUGE) / epsilon / Math.max(Math.abs(x + t / 2), Math.abs(t), Math.abs(x - t / 2));
    return {
      latitude: signal.latitude + (reach * y) / 110.57,
      longitude: signal.longitude + ((reach * x) / 111.31 / cosine) * 65_536,
    };
  });
}
