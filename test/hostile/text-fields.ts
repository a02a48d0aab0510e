/** The text fields of a request body according to the API description. */
import type { JsonSchema } from '#control-plane/platform/http/example-of.ts';
import { USUAL_CHARS } from './tokens.ts';

/** A field that accepts any text. */
export interface TextField {
  readonly path: readonly (string | number)[];
  readonly longest: number;
}

const DEEPEST = 8;

/**
 * Returns all text fields: for a list those of its first entry, for an object with arbitrary keys those of
 * one key.
 */
export function textFieldsOf(schema: JsonSchema, path: TextField['path'] = []): TextField[] {
  if (path.length > DEEPEST || schema.enum || schema.const !== undefined) return [];
  const branches = [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])];
  const within = [
    ...branches.flatMap((branch) => textFieldsOf(branch, path)),
    ...Object.entries(schema.properties ?? {}).flatMap(([name, property]) =>
      textFieldsOf(property, [...path, name]),
    ),
    ...(schema.items ? textFieldsOf(schema.items, [...path, 0]) : []),
    ...(typeof schema.additionalProperties === 'object'
      ? textFieldsOf(schema.additionalProperties, [...path, 'key'])
      : []),
  ];
  const isText = [schema.type ?? []].flat().includes('string');
  const all = isText
    ? [{ path, longest: Math.min(schema.maxLength ?? USUAL_CHARS, 4 * USUAL_CHARS) }, ...within]
    : within;
  return [...new Map(all.map((field) => [field.path.join('.'), field])).values()];
}

/** Copies a body with this text in one field; creates missing parents. */
export function withText(body: unknown, [step, ...rest]: TextField['path'], text: string): unknown {
  if (step === undefined) return text;
  if (typeof step === 'number') {
    const list = Array.isArray(body) ? body : [];
    return [withText(list[0], rest, text), ...list.slice(1)];
  }
  const object = typeof body === 'object' && body !== null && !Array.isArray(body) ? body : {};
  return { ...object, [step]: withText((object as Record<string, unknown>)[step], rest, text) };
}
