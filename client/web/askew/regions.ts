// The table regions.json: countries, and the plane of each.

import type { Region } from "./noise.js";

type Row = readonly [string, string, number, number, number, number, number];

// The rows of regions.json, as JSON reads them.
export function regionsOf(rows: readonly Row[]): Region[] {
  return rows.map(([code, name, south, west, north, east, cosine]) => ({
    code,
    name,
    south,
    west,
    north,
    east,
    cosine,
  }));
}
