/**
 * Types of the API without a language: JSON schemas become shapes, in which every object has a name. Equal
 * objects share the name of the first.
 */
import { pascal, singular } from './names.ts';

/** A JSON schema, as far as the API's description uses it. */
export interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly allOf?: readonly JsonSchema[];
  readonly items?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | JsonSchema;
}

/** A type. `literal` has one value of JSON; `named` refers to a `NamedType`. */
export type Shape =
  | { readonly kind: 'plain'; readonly name: PlainName }
  | { readonly kind: 'literal'; readonly value: string | number | boolean }
  | { readonly kind: 'list'; readonly of: Shape }
  | { readonly kind: 'map'; readonly of: Shape }
  | { readonly kind: 'either'; readonly of: readonly Shape[] }
  | { readonly kind: 'named'; readonly name: string };

/** `bytes` is a file of a form. */
export type PlainName = 'string' | 'number' | 'integer' | 'boolean' | 'null' | 'unknown' | 'bytes';

/** A field of an object. */
export interface Field {
  readonly name: string;
  readonly shape: Shape;
  readonly isRequired: boolean;
  readonly description: string;
}

/** An object, or a name for a longer type. */
export type NamedType =
  | { readonly kind: 'object'; readonly name: string; readonly fields: readonly Field[] }
  | { readonly kind: 'alias'; readonly name: string; readonly shape: Shape };

/** A longer enumeration gets a name of its own. */
const MOST_UNNAMED_VALUES = 6;
const UNKNOWN: Shape = { kind: 'plain', name: 'unknown' };

/** The types of an API, collected in the order in which they are asked for. */
export class Shapes {
  readonly types = new Map<string, NamedType>();
  readonly #names = new Map<string, string>();

  /** The shape of a schema. `name` is for it, if it needs one, and begins the names of what is in it. */
  of(schema: JsonSchema, name: string): Shape {
    const options = schema.anyOf ?? schema.oneOf;
    if (options) return this.#either(options, name);
    if (schema.allOf) return this.of(merged(schema.allOf), name);
    if (schema.const !== undefined) return literal(schema.const);
    if (schema.enum) return this.#enumeration(schema.enum, name);
    if (Array.isArray(schema.type))
      return this.#either(
        schema.type.map((type: string) => ({ ...schema, type })),
        name,
      );
    switch (schema.type) {
      case 'object':
        return this.#object(schema, name);
      case 'array':
        return { kind: 'list', of: this.of(schema.items ?? {}, singular(name)) };
      case 'string':
        return { kind: 'plain', name: schema.format === 'binary' ? 'bytes' : 'string' };
      case 'number':
      case 'integer':
      case 'boolean':
      case 'null':
        return { kind: 'plain', name: schema.type };
      default:
        return UNKNOWN;
    }
  }

  /** The fields of an object type; none of any other. */
  fieldsOf(shape: Shape): readonly Field[] {
    const type = shape.kind === 'named' ? this.types.get(shape.name) : undefined;
    return type?.kind === 'object' ? type.fields : [];
  }

  /** Gives a shape a name. */
  alias(name: string, shape: Shape): Shape {
    return this.#declare({ kind: 'alias', name, shape }, JSON.stringify(shape));
  }

  #object(schema: JsonSchema, name: string): Shape {
    const { properties = {}, required = [], additionalProperties } = schema;
    if (Object.keys(properties).length === 0) {
      const values = typeof additionalProperties === 'object' ? additionalProperties : {};
      return { kind: 'map', of: this.of(values, `${name}Value`) };
    }
    const fields = Object.entries(properties).map(([field, type]) => ({
      name: field,
      shape: this.of(type, name + pascal(field)),
      isRequired: required.includes(field),
      description: type.description ?? '',
    }));
    const structure = fields.map(({ description: _description, ...field }) => field);
    return this.#declare({ kind: 'object', name, fields }, JSON.stringify(structure));
  }

  #either(options: readonly JsonSchema[], name: string): Shape {
    const objects = options.filter(({ type }) => type === 'object');
    const shapes = options.map((option) =>
      this.of(option, objects.length > 1 && option.type === 'object' ? name + kindOf(option, objects) : name),
    );
    return either(shapes);
  }

  #enumeration(values: readonly unknown[], name: string): Shape {
    const shape = either(values.map(literal));
    return values.length > MOST_UNNAMED_VALUES ? this.alias(name, shape) : shape;
  }

  #declare(type: NamedType, structure: string): Shape {
    const known = this.#names.get(structure);
    if (known !== undefined) return { kind: 'named', name: known };
    const name = this.#freeName(type.name);
    this.#names.set(structure, name);
    this.types.set(name, { ...type, name });
    return { kind: 'named', name };
  }

  #freeName(name: string): string {
    let number = 1;
    let free = name;
    while (this.types.has(free)) {
      number += 1;
      free = `${name}${number}`;
    }
    return free;
  }
}

/** One of several shapes. */
export function either(shapes: readonly Shape[]): Shape {
  const flat = shapes.flatMap((shape) => (shape.kind === 'either' ? shape.of : [shape]));
  const distinct = [...new Map(flat.map((shape) => [JSON.stringify(shape), shape])).values()];
  if (distinct.some((shape) => shape.kind === 'plain' && shape.name === 'unknown')) return UNKNOWN;
  const [only] = distinct;
  return distinct.length === 1 && only ? only : { kind: 'either', of: distinct };
}

function literal(value: unknown): Shape {
  if (value === null) return { kind: 'plain', name: 'null' };
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? { kind: 'literal', value }
    : UNKNOWN;
}

function merged(parts: readonly JsonSchema[]): JsonSchema {
  return {
    type: 'object',
    properties: Object.assign({}, ...parts.map(({ properties }) => properties ?? {})),
    required: parts.flatMap(({ required }) => required ?? []),
  };
}

/** Tells an object from the others of a union: the value of its constant, or its position. */
function kindOf(option: JsonSchema, objects: readonly JsonSchema[]): string {
  const [constant] = Object.values(option.properties ?? {}).flatMap(({ const: value, enum: values = [] }) =>
    typeof value === 'string' ? [value] : values.length === 1 ? [String(values[0])] : [],
  );
  return constant === undefined ? String(objects.indexOf(option) + 1) : pascal(constant);
}
