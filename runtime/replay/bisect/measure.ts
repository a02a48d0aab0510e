/**
 * Measures of one moment of a call, by which a version is good or bad: named ones, and expressions such as
 * `wait_ms > 1500 at turn 3`.
 */

/** Longest expression, in characters. */
const MOST_CHARS = 200;

/** What is measured, and what a person reads about it. A quantity without a unit is 1 when it holds, or 0. */
export const QUANTITIES = {
  /** From the caller's end of speech until the turn is taken. */
  wait_ms: { unit: 'ms', at: 'pause', says: 'the wait before the turn was taken' },
  /** As `wait_ms`, and on to the first sound; engines are assumed to take as long as they did. */
  reply_ms: { unit: 'ms', at: 'pause', says: 'the silence before the agent was heard' },
  cut_off: { unit: null, at: 'pause', says: 'the caller was cut off' },
  hold_line: { unit: null, at: 'pause', says: 'a hold line was spoken' },
  stopped: { unit: null, at: 'overlap', says: 'a sound of the caller stopped the agent' },
  spoke_on: { unit: null, at: 'overlap', says: 'the agent spoke on over the caller' },
} as const satisfies Record<string, QuantityRow>;

interface QuantityRow {
  readonly unit: 'ms' | null;
  /** Moments at which it is measured: pauses of the caller, or their voice over the agent's. */
  readonly at: 'pause' | 'overlap';
  readonly says: string;
}

export type Quantity = keyof typeof QUANTITIES;

/** Where in the call: at a turn of the caller, or at a time from its beginning; null: anywhere. */
export type Place = { readonly turn: number } | { readonly atMs: number } | null;

/** A quantity with the values that are bad. */
export interface Measure {
  readonly quantity: Quantity;
  readonly operator: Operator;
  /** In the quantity's unit. */
  readonly limit: number;
  readonly place: Place;
}

type Operator = '<' | '<=' | '>' | '>=';

/** The named measures, each with its expression. */
export const NAMED_MEASURES: ReadonlyMap<string, string> = new Map([
  ['silence', 'reply_ms > 2500'],
  ['wait', 'wait_ms > 1500'],
  ['cut-off', 'cut_off'],
  ['hold-line', 'hold_line'],
  ['stopped', 'stopped'],
  ['not-interrupted', 'spoke_on'],
]);

/** How to write a measure, for the message about one that cannot be read. */
const GRAMMAR =
  `write <quantity> [<|<=|>|>= <number>[ms|s]] [at turn <n> | at <m:ss> | at <seconds>s], such as ` +
  `“wait_ms > 1500 at turn 3”; quantities: ${Object.keys(QUANTITIES).join(', ')}`;

/** Reads a named measure or an expression. Throws an error that says how to write one. */
export function parseMeasure(text: string): Measure {
  if (text.length > MOST_CHARS) throw new Error(`a measure has at most ${MOST_CHARS} characters`);
  const [first = '', ...rest] = text.trim().split(/\s+/);
  const whole = [NAMED_MEASURES.get(first) ?? first, ...rest].join(' ');
  const reader = new TokenReader(whole.match(/[a-z_]+|\d+(?:\.\d+)?|[<>]=?|\S/g) ?? []);
  const measure = readMeasure(reader);
  if (!measure || !reader.isAtEnd) throw new Error(`“${text}” is no measure: ${GRAMMAR}`);
  return measure;
}

/** Takes tokens one by one. */
class TokenReader {
  readonly #tokens: readonly string[];
  #next = 0;

  constructor(tokens: readonly string[]) {
    this.#tokens = tokens;
  }

  get isAtEnd(): boolean {
    return this.#next >= this.#tokens.length;
  }

  /** The next token if it is one of these. */
  take<Token extends string>(...expected: readonly Token[]): Token | null {
    const token = this.#tokens[this.#next] as Token;
    if (!expected.includes(token)) return null;
    this.#next += 1;
    return token;
  }

  number(): number | null {
    const value = Number(this.#tokens[this.#next] ?? Number.NaN);
    if (!Number.isFinite(value)) return null;
    this.#next += 1;
    return value;
  }
}

function readMeasure(reader: TokenReader): Measure | null {
  const quantity = reader.take(...(Object.keys(QUANTITIES) as Quantity[]));
  if (quantity === null) return null;
  const { unit } = QUANTITIES[quantity];
  const operator = reader.take('<', '<=', '>', '>=');
  const limit = operator === null ? null : readMs(reader, 'ms');
  // A time needs a limit, and what holds or not needs none.
  if ((unit === null) !== (operator === null) || (operator !== null && limit === null)) return null;
  if (reader.isAtEnd) return { quantity, operator: operator ?? '>', limit: limit ?? 0, place: null };
  const place = reader.take('at') === null ? null : readPlace(reader);
  return place === null ? null : { quantity, operator: operator ?? '>', limit: limit ?? 0, place };
}

/** Reads a number with a unit, in ms; without one it is in `unit`. */
function readMs(reader: TokenReader, unit: 'ms' | 's'): number | null {
  const value = reader.number();
  if (value === null) return null;
  return (reader.take('ms', 's') ?? unit) === 's' ? value * 1_000 : value;
}

function readPlace(reader: TokenReader): Place {
  if (reader.take('turn') !== null) {
    const turn = reader.number();
    return turn === null || !Number.isInteger(turn) ? null : { turn };
  }
  const minutes = reader.number();
  if (minutes === null) return null;
  if (reader.take(':') === null) {
    const isMs = reader.take('ms', 's') === 'ms';
    return { atMs: isMs ? minutes : minutes * 1_000 };
  }
  const seconds = reader.number();
  return seconds === null ? null : { atMs: (minutes * 60 + seconds) * 1_000 };
}

/** True if a value of the measure's quantity is bad. */
export function isBad({ operator, limit }: Measure, value: number): boolean {
  switch (operator) {
    case '<':
      return value < limit;
    case '<=':
      return value <= limit;
    case '>':
      return value > limit;
    case '>=':
      return value >= limit;
    default:
      return operator satisfies never;
  }
}

/** A value as a person reads it. */
export function valueText(quantity: Quantity, value: number): string {
  if (QUANTITIES[quantity].unit === 'ms') return `${Math.round(value)} ms`;
  return value > 0 ? 'yes' : 'no';
}
