/** Projections of `find` and `findAndModify`: included or excluded fields, `$slice`, `$elemMatch`. */
import { type Document, isDocument } from './bson-values.ts';
import { elementMatcher } from './matcher.ts';
import { StoreError, unsupported } from './store-error.ts';

/** Returns the projected document. */
export type Projector = (document: Document) => Document;

/** Fields by name; a leaf defines what happens to the value. */
type Tree = Map<string, Tree | Leaf>;
type Leaf = 'in' | 'out' | ((value: unknown) => unknown);

/** Compiles a projection; null if there is nothing to project. Throws if it is mixed or unsupported. */
export function compileProjection(projection: Document): Projector | null {
  const entries = Object.entries(projection);
  if (entries.length === 0) return null;
  const leaves = entries.map(([path, value]) => ({ path, leaf: leafOf(path, value) }));
  const plain = leaves.filter(({ path, leaf }) => path !== '_id' && typeof leaf === 'string');
  const isInclusion =
    plain.some(({ leaf }) => leaf === 'in') ||
    (plain.length === 0 && leaves.some(({ path, leaf }) => path === '_id' && leaf === 'in'));
  if (isInclusion && plain.some(({ leaf }) => leaf === 'out'))
    throw new StoreError('BadValue', 'a projection cannot both include and exclude fields');
  const tree: Tree = new Map();
  if (isInclusion) grow(tree, '_id', 'in');
  for (const { path, leaf } of leaves) grow(tree, path, leaf);
  return (document) => projectDocument(document, tree, isInclusion);
}

function leafOf(path: string, value: unknown): Leaf {
  if (path.includes('$')) throw unsupported('a positional projection');
  if (typeof value === 'number' || typeof value === 'boolean') return value ? 'in' : 'out';
  if (isDocument(value) && Object.keys(value).length === 1) {
    if ('$slice' in value) return slicer(value['$slice']);
    if ('$elemMatch' in value) {
      const matches = elementMatcher(value['$elemMatch']);
      return (found) => (Array.isArray(found) ? firstOf(found.find(matches)) : undefined);
    }
  }
  throw unsupported('a computed projection in find');
}

function firstOf(element: unknown): unknown[] | undefined {
  return element === undefined ? undefined : [element];
}

function slicer(argument: unknown): (value: unknown) => unknown {
  const [skip, limit] = Array.isArray(argument) ? argument.map(Number) : [null, Number(argument)];
  if (limit === undefined || Number.isNaN(limit))
    throw new StoreError('BadValue', '$slice needs a number or [skip, limit]');
  return (value) => {
    if (!Array.isArray(value)) return value;
    if (skip === null || skip === undefined) return limit < 0 ? value.slice(limit) : value.slice(0, limit);
    const start = skip < 0 ? Math.max(0, value.length + skip) : skip;
    return value.slice(start, start + limit);
  };
}

function grow(tree: Tree, path: string, leaf: Leaf): void {
  const segments = path.split('.');
  const last = segments.pop() ?? '';
  let node = tree;
  for (const segment of segments) {
    let next = node.get(segment);
    if (!(next instanceof Map)) {
      next = new Map();
      node.set(segment, next);
    }
    node = next;
  }
  if (typeof leaf === 'string' || !(node.get(last) instanceof Map)) node.set(last, leaf);
}

function projectDocument(document: Document, tree: Tree, isInclusion: boolean): Document {
  const result: Document = {};
  for (const [name, value] of Object.entries(document)) {
    const projected = projectValue(value, tree.get(name), isInclusion);
    if (projected !== undefined) result[name] = projected;
  }
  return result;
}

function projectValue(value: unknown, node: Tree | Leaf | undefined, isInclusion: boolean): unknown {
  if (node === undefined) return isInclusion ? undefined : value;
  if (node === 'in') return value;
  if (node === 'out') return undefined;
  if (typeof node === 'function') return node(value);
  if (isDocument(value)) return projectDocument(value, node, isInclusion);
  if (Array.isArray(value))
    return value
      .map((element) => projectValue(element, node, isInclusion))
      .filter((element) => element !== undefined);
  return isInclusion ? undefined : value;
}
