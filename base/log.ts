/**
 * Structured logging (pino) with redaction. Levels: `info` for transitions of a call or a process (admitted,
 * joined, turn, ended) and other rare events; `debug` for the rest; `warn` for a problem the program
 * recovered from; `error` for a problem that needs attention. Personal data (transcripts, numbers,
 * digits, prompts, tool values) appears only in the fields listed in `REDACTED`.
 */
import { createRequire } from 'node:module';
import { isatty } from 'node:tty';
import { type DestinationStream, type Logger, pino } from 'pino';

export type { Logger };

const STANDARD_OUTPUT = 1;

/** Names of fields whose values are redacted, at the top level of a line and one level below. */
export const REDACTED = [
  'secret',
  'token',
  'apiKey',
  'api_key',
  'authorization',
  'password',
  'credentials',
  'transcript',
  'text',
  'digits',
  'callerNumber',
  'dialedNumber',
  'caller_number',
  'dialed_number',
  'prompt',
  'toolInput',
  'toolOutput',
] as const;

/**
 * Runs of at least six digits, with or without spaces or hyphens: phone numbers, codes and card numbers,
 * wherever they are in a line. Never parts of ids, IP addresses or RFC 3339 times; a date alone is masked.
 */
const DIGITS = /(?<![\w.-])\+?\d(?:[ -]?\d){5,18}(?![\w-])/g;
/** A JSON string, or a bare number as long as a card number. */
const MAY_HOLD_DIGITS = /"[^"\\]*(?:\\[\s\S][^"\\]*)*"?|(?<=[:,[])\d{14,19}(?=[,}\]])/g;

/** A signed token (RFC 7519) anywhere in a line: LiveKit's errors quote the token they refuse. */
const SIGNED_TOKEN = /(?<![\w-])eyJ[\w-]{8,}\.[\w-]+\.[\w-]+/g;

/**
 * Removes digit sequences and signed tokens from a log line. The line's own numbers, such as its time, are
 * shorter than a card number.
 */
function withoutSecrets(line: string): string {
  return line
    .replace(SIGNED_TOKEN, '[token]')
    .replace(MAY_HOLD_DIGITS, (part) =>
      part.startsWith('"') ? part.replace(DIGITS, '[digits]') : '"[digits]"',
    );
}

/** How lines are written: as JSON, or readable and coloured. `auto`: readable on a terminal, else JSON. */
export type LogFormat = 'auto' | 'pretty' | 'json';

/**
 * Creates the process's logger; `name` distinguishes processes in one stream, which is standard output by
 * default.
 */
export function createLogger(
  options: { readonly level: string; readonly name: string; readonly format?: LogFormat },
  destination?: DestinationStream,
): Logger {
  const paths = REDACTED.flatMap((field) => [field, `*.${field}`]);
  const { format = 'auto' } = options;
  const isPretty = format === 'pretty' || (format === 'auto' && !destination && isatty(STANDARD_OUTPUT));
  return pino(
    {
      name: options.name,
      level: options.level,
      redact: { paths, censor: '[redacted]' },
      base: { name: options.name, pid: process.pid },
      hooks: { streamWrite: withoutSecrets },
    },
    isPretty ? prettyStream(destination) : destination,
  );
}

/** The library is loaded only here: processes without a terminal start without it. */
function prettyStream(destination: DestinationStream = pino.destination(STANDARD_OUTPUT)): DestinationStream {
  const { prettyFactory } = createRequire(import.meta.url)('pino-pretty') as typeof import('pino-pretty');
  const prettify = prettyFactory({
    colorize: isatty(STANDARD_OUTPUT) && !process.env['NO_COLOR'],
    singleLine: true,
    translateTime: 'SYS:HH:MM:ss.l',
  });
  return { write: (line) => destination.write(prettify(line)) };
}
