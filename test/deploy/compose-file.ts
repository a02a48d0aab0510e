/** The compose file as Compose reads it: with the values of `.env` put in (compose-spec, "Interpolation"). */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

const FILE = join(import.meta.dirname, '../../docker-compose.yml');

/** A service of the file. */
export interface Service {
  readonly image: string;
  readonly build?: unknown;
  readonly restart?: string;
  readonly command: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

/** The file. */
export interface ComposeFile {
  readonly services: Readonly<Record<string, Service>>;
  readonly configs: Readonly<Record<string, { readonly content: string }>>;
}

/** Reads the file. Throws the message of the first variable that is demanded and missing. */
export function readComposeFile(variables: Readonly<Record<string, string>>): ComposeFile {
  return JSON.parse(JSON.stringify(parse(readFileSync(FILE, 'utf8'), { merge: true })), (_key, value) =>
    typeof value === 'string' ? interpolate(value, variables) : value,
  );
}

/** Replaces `${NAME}`, `${NAME:-default}`, `${NAME:+replacement}` and `${NAME:?message}`, also nested. */
function interpolate(text: string, variables: Readonly<Record<string, string>>): string {
  const start = text.indexOf('${');
  if (start === -1) return text;
  const end = closing(text, start + 2);
  const put = substitute(text.slice(start + 2, end), variables);
  return text.slice(0, start) + put + interpolate(text.slice(end + 1), variables);
}

/** The value of what is between the braces. */
function substitute(expression: string, variables: Readonly<Record<string, string>>): string {
  const [name = '', rule = ''] = expression.split(/:(.*)/s);
  const value = variables[name] ?? '';
  const operand = rule.slice(1);
  if (rule.startsWith('?') && value === '') throw new Error(operand);
  if (rule.startsWith('+')) return value === '' ? '' : interpolate(operand, variables);
  return rule.startsWith('-') && value === '' ? interpolate(operand, variables) : value;
}

/** Index of the brace that closes the one before `from`. */
function closing(text: string, from: number): number {
  let depth = 1;
  for (let index = from; index < text.length; index++) {
    if (text.startsWith('${', index)) depth++;
    else if (text[index] === '}') depth--;
    if (depth === 0) return index;
  }
  throw new Error(`unclosed variable: ${text.slice(from, from + 40)}`);
}
