/**
 * Resolves dotted update paths to places in a document: `a.b`, `a.0.b`, `a.$.b`, `a.$[].b`, `a.$[filter].b`.
 */
import { type Document, isDocument, isOperators } from './bson-values.ts';
import { isArrayIndex, ownValue } from './keys.ts';
import { compileCondition, elementMatcher } from './matcher.ts';
import { StoreError } from './store-error.ts';

/** A place in a document that an operator reads and writes. */
export interface Place {
  read(): unknown;
  write(value: unknown): void;
  /** Removes a field; in an array, sets the element to null. */
  remove(): void;
}

/** Resolves the `$` parts of a path. */
export interface PathContext {
  /** Index of the element matched by the query, in the array at this path. */
  readonly matchedAt: (path: string) => number | undefined;
  readonly arrayFilters: ReadonlyMap<string, (element: unknown) => boolean>;
}

/** Maximum nulls that an update may add to pad an array. */
const MAX_PADDING = 10_000;

/**
 * Resolves a path to places. With `creates`, missing documents along the path are created; otherwise missing
 * places are omitted.
 */
export function resolvePath(root: Document, path: string, context: PathContext, creates: boolean): Place[] {
  const segments = path.split('.');
  if (segments.some((segment) => segment === '' || segment === '__proto__'))
    throw new StoreError('BadValue', `invalid update path: ${path}`);
  const places: Place[] = [];
  new PathWalk({ segments, context, creates, places }).visit(root, 0);
  return places;
}

interface Walk {
  readonly segments: readonly string[];
  readonly context: PathContext;
  readonly creates: boolean;
  readonly places: Place[];
}

class PathWalk {
  readonly #walk: Walk;

  constructor(walk: Walk) {
    this.#walk = walk;
  }

  visit(container: unknown, at: number): void {
    const segment = this.#walk.segments[at] ?? '';
    if (Array.isArray(container)) {
      for (const index of this.#elements(container, at)) this.#step(arrayPlace(container, index), at);
    } else if (isDocument(container)) {
      if (/^\$(\[\w*\])?$/.test(segment)) throw this.#notAnArray(at);
      this.#step(fieldPlace(container, segment), at);
    } else if (this.#walk.creates) {
      throw new StoreError(
        'PathNotViable',
        `Cannot create field '${segment}' in element {${this.#walk.segments[at - 1] ?? ''}: ` +
          `${JSON.stringify(container)}}`,
      );
    }
  }

  #step(place: Place & { readonly exists: boolean }, at: number): void {
    const { segments, creates, places } = this.#walk;
    if (!place.exists && !creates) return;
    if (at === segments.length - 1) {
      places.push(place);
      return;
    }
    if (place.read() === undefined) place.write({});
    this.visit(place.read(), at + 1);
  }

  /** Array indexes selected by a path segment. */
  #elements(array: unknown[], at: number): number[] {
    const { segments, context, creates } = this.#walk;
    const segment = segments[at] ?? '';
    if (segment === '$') {
      const index = context.matchedAt(segments.slice(0, at).join('.'));
      if (index === undefined)
        throw new StoreError(
          'BadValue',
          'The positional operator did not find the match needed from the query.',
        );
      return [index];
    }
    if (segment === '$[]') return [...array.keys()];
    const named = /^\$\[(\w+)\]$/.exec(segment)?.[1];
    if (named !== undefined) {
      const filter = context.arrayFilters.get(named);
      if (!filter)
        throw new StoreError(
          'BadValue',
          `No array filter found for identifier '${named}' in path '${segments.join('.')}'`,
        );
      return [...array.keys()].filter((index) => filter(array[index]));
    }
    if (isArrayIndex(segment)) {
      if (creates) padTo(array, Number(segment));
      return [Number(segment)];
    }
    if (!creates) return [];
    throw new StoreError(
      'PathNotViable',
      `Cannot create field '${segment}' in an array at '${segments.slice(0, at).join('.')}'`,
    );
  }

  #notAnArray(at: number): StoreError {
    const path = this.#walk.segments.slice(0, at).join('.');
    return new StoreError(
      'BadValue',
      `The path '${path}' must exist in the document in order to apply array updates.`,
    );
  }
}

function padTo(array: unknown[], index: number): void {
  if (index - array.length > MAX_PADDING) throw new StoreError('BadValue', `array index too large: ${index}`);
  while (array.length < index) array.push(null);
}

function fieldPlace(container: Document, name: string): Place & { readonly exists: boolean } {
  return {
    exists: Object.hasOwn(container, name),
    read: () => ownValue(container, name),
    write: (value) => {
      container[name] = value;
    },
    remove: () => {
      delete container[name];
    },
  };
}

function arrayPlace(container: unknown[], index: number): Place & { readonly exists: boolean } {
  return {
    exists: index < container.length,
    read: () => container[index],
    write: (value) => {
      container[index] = value;
    },
    remove: () => {
      container[index] = null;
    },
  };
}

/** Finds the first array element matched by the query, for `$` in update paths. */
export function matchedPositions(document: Document, filter: Document): (path: string) => number | undefined {
  const positions = new Map<string, number>();
  const gather = (part: Document) => {
    for (const [path, condition] of Object.entries(part)) {
      if (path === '$and' && Array.isArray(condition)) condition.filter(isDocument).forEach(gather);
      else if (!path.startsWith('$')) remember(positions, document, path, condition);
    }
  };
  gather(filter);
  return (path) => positions.get(path);
}

function remember(
  positions: Map<string, number>,
  document: Document,
  path: string,
  condition: unknown,
): void {
  const segments = path.split('.');
  let value: unknown = document;
  for (let at = 0; at <= segments.length; at++) {
    if (Array.isArray(value)) {
      const index = value.findIndex(elementTest(segments.slice(at), condition));
      if (index >= 0) positions.set(segments.slice(0, at).join('.'), index);
      return;
    }
    value = isDocument(value) ? ownValue(value, segments[at] ?? '') : undefined;
  }
}

function elementTest(rest: readonly string[], condition: unknown): (element: unknown) => boolean {
  if (rest.length > 0) return elementMatcher({ [rest.join('.')]: condition });
  if (isOperators(condition) && '$elemMatch' in condition) return elementMatcher(condition['$elemMatch']);
  return compileCondition(condition);
}

/** Compiles `arrayFilters`; the first path segment of each is its identifier. */
export function compileArrayFilters(filters: readonly unknown[]): Map<string, (element: unknown) => boolean> {
  const compiled = new Map<string, (element: unknown) => boolean>();
  for (const filter of filters) {
    if (!isDocument(filter)) throw new StoreError('BadValue', 'an array filter must be an object');
    const [first] = Object.keys(filter);
    const name = first?.split('.')[0];
    if (name === undefined || name.startsWith('$'))
      throw new StoreError('FailedToParse', 'an array filter must name one identifier');
    const tests = Object.entries(filter).map(([path, condition]) => {
      const [identifier, ...rest] = path.split('.');
      if (identifier !== name)
        throw new StoreError(
          'FailedToParse',
          `an array filter names two identifiers: ${name} and ${identifier}`,
        );
      return rest.length > 0 ? elementMatcher({ [rest.join('.')]: condition }) : compileCondition(condition);
    });
    compiled.set(name, (element) => tests.every((test) => test(element)));
  }
  return compiled;
}
