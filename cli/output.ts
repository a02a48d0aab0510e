/** Output of commands: tables and lines for people, JSON for scripts. */
import type { Estimate } from '#base/intervals.ts';

/**
 * Prints rows below their titles, each column as wide as its widest cell, the last one unpadded. Says so if
 * there are none.
 */
export function printTable(titles: readonly string[], rows: readonly (readonly unknown[])[]): void {
  if (rows.length === 0) {
    console.log('None');
    return;
  }
  const cells = [titles, ...rows].map((row) => row.map(cellText));
  const widths = titles.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  for (const row of cells) {
    console.log(
      row
        .map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)))
        .join('  ')
        .trimEnd(),
    );
  }
}

/** Prints `name  value` lines. */
export function printFacts(facts: Readonly<Record<string, unknown>>): void {
  const width = Math.max(...Object.keys(facts).map((name) => name.length));
  for (const [name, value] of Object.entries(facts)) console.log(`${name.padEnd(width)}  ${cellText(value)}`);
}

/** Prints a value as one line of JSON, or formats it for people. */
export function show(value: unknown, options: { readonly json?: boolean }, forPeople: () => void): void {
  if (options.json) console.log(JSON.stringify(value));
  else forPeople();
}

/**
 * Shows progress on one line of the terminal that each call replaces; an empty text removes it. Does nothing
 * without a terminal.
 */
export function showProgress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`);
}

/** Prints the warnings in an agent's record, each on a line of standard error. */
export function printWarnings(agent: { readonly warnings?: readonly { readonly message: string }[] }): void {
  for (const { message } of agent.warnings ?? []) console.error(`Warning: ${message}`);
}

/** Formats bytes for people. */
export function mebibytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(1)} MiB`;
}

/** Formats an estimate as `5.0 (3.1 to 7.4)`, or without the interval; `unit` follows the value. */
export function estimateText({ value, low, high }: Estimate, digits: number, unit = ''): string {
  const range = low === null || high === null ? '' : ` (${low.toFixed(digits)} to ${high.toFixed(digits)})`;
  return `${value.toFixed(digits)}${unit}${range}`;
}

/** Formats an estimated share in percent, with its interval. */
export function shareText({ value, low, high }: Estimate): string {
  const percent = (share: number | null) => (share === null ? null : share * 100);
  return estimateText({ value: value * 100, low: percent(low), high: percent(high) }, 1, ' %');
}

/**
 * Names, titles and what callers said come from others: without control characters, which would move the
 * cursor or set the clipboard of a terminal, and without overrides of the direction of text.
 */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, ' ');
}

function cellText(value: unknown): string {
  return value === null || value === undefined || value === '' ? '–' : printable(String(value));
}
