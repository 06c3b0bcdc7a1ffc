export {
  openDevice,
  Device,
  type Answer,
  type Options,
  type Place,
  type Quote,
  type Result,
  type Settings,
} from "./device.js";
export { AskewError, type Code } from "./errors.js";
export { CAPS, type Account, type Caps, type Entry, type Price } from "./ledger.js";
export { contains, LEVELS, type Level, type Position, type Region } from "./noise.js";
export { NO_PREFERENCES, preferencesOf, type Preferences } from "./rank.js";
export { number, type Rational } from "./rational.js";
export { regionsOf } from "./regions.js";
export { ALL, type Attribute, type Card, type Collection, type Value } from "./wire.js";
