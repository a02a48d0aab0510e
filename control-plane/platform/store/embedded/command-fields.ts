/**
 * Typed access to command fields. A field of the wrong type raises `TypeMismatch`; unsupported fields are
 * refused, not ignored.
 */
import { type Document, isDocument, isNumeric } from './bson-values.ts';
import type { Sort } from './planner.ts';
import { StoreError, unsupported } from './store-error.ts';

/** A command as received; the first field is the command's name. */
export type Command = Document;

/** Reads a document; empty if absent. */
export function documentField(command: Command, name: string): Document {
  const value = command[name];
  if (value === undefined || value === null) return {};
  if (!isDocument(value)) throw new StoreError('TypeMismatch', `${name} must be an object`);
  return value;
}

/** Reads a list of documents; empty if absent. */
export function documentsField(command: Command, name: string): Document[] {
  const value = command[name] ?? [];
  if (!Array.isArray(value) || !value.every(isDocument))
    throw new StoreError('TypeMismatch', `${name} must be an array of objects`);
  return value;
}

/** Reads a list; empty if absent. */
export function listField(command: Command, name: string): unknown[] {
  const value = command[name] ?? [];
  if (!Array.isArray(value)) throw new StoreError('TypeMismatch', `${name} must be an array`);
  return value;
}

/** Reads a number; `fallback` if absent. */
export function numberField(command: Command, name: string, fallback: number): number {
  const value = command[name];
  if (value === undefined || value === null) return fallback;
  if (!isNumeric(value)) throw new StoreError('TypeMismatch', `${name} must be a number`);
  return Number(String(value));
}

/** Reads a string. */
export function stringField(command: Command, name: string): string {
  const value = command[name];
  if (typeof value !== 'string') throw new StoreError('TypeMismatch', `${name} must be a string`);
  return value;
}

/** Reads a sort, 1 or −1 by path; empty if absent. */
export function sortField(command: Command, name: string): Sort {
  const sort = documentField(command, name);
  for (const direction of Object.values(sort)) {
    if (!isNumeric(direction)) throw unsupported('a sort by anything but 1 and -1');
  }
  return Object.fromEntries(
    Object.entries(sort).map(([path, direction]) => [path, Number(String(direction)) < 0 ? -1 : 1]),
  );
}

/** A command's name: its first field. */
export function commandName(command: Command): string {
  return Object.keys(command)[0] ?? '';
}

/** `<database>.<collection>` of a command whose first field is the collection. */
export function namespaceOf(command: Command): string {
  return `${databaseOf(command)}.${stringField(command, commandName(command))}`;
}

/** The database a command addresses. */
export function databaseOf(command: Command): string {
  return typeof command['$db'] === 'string' ? command['$db'] : 'admin';
}

const UNSUPPORTED_FIELDS = [
  'collation',
  'let',
  'min',
  'max',
  'returnKey',
  'showRecordId',
  'tailable',
  'awaitData',
  'resumeAfter',
];

/** Refuses unsupported fields that would change a command's meaning. */
export function refuseUnsupported(command: Command): void {
  for (const name of UNSUPPORTED_FIELDS) {
    const value = command[name];
    const isSet = isDocument(value) ? Object.keys(value).length > 0 : Boolean(value);
    if (isSet) throw unsupported(name);
  }
}
