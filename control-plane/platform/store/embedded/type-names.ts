/** `$type`: MongoDB's names and numbers for BSON types. */
import { bsonType, isDocument, isNumeric } from './bson-values.ts';
import { StoreError } from './store-error.ts';

const INT32_MAX = 2 ** 31 - 1;
const isInt32 = (value: unknown) =>
  typeof value === 'number' && Number.isInteger(value) && Math.abs(value) <= INT32_MAX;

const TYPES: readonly {
  readonly name: string;
  readonly number: number;
  readonly is: (value: unknown) => boolean;
}[] = [
  // Decoding loses the BSON type of whole numbers: small ones count as int, others as double.
  { name: 'double', number: 1, is: (value) => typeof value === 'number' && !isInt32(value) },
  { name: 'string', number: 2, is: (value) => typeof value === 'string' },
  { name: 'object', number: 3, is: isDocument },
  { name: 'array', number: 4, is: Array.isArray },
  { name: 'binData', number: 5, is: (value) => bsonType(value) === 'Binary' },
  { name: 'objectId', number: 7, is: (value) => bsonType(value) === 'ObjectId' },
  { name: 'bool', number: 8, is: (value) => typeof value === 'boolean' },
  { name: 'date', number: 9, is: (value) => value instanceof Date },
  { name: 'null', number: 10, is: (value) => value === null },
  { name: 'regex', number: 11, is: (value) => value instanceof RegExp },
  { name: 'int', number: 16, is: isInt32 },
  { name: 'timestamp', number: 17, is: (value) => bsonType(value) === 'Timestamp' },
  { name: 'long', number: 18, is: (value) => bsonType(value) === 'Long' },
  { name: 'decimal', number: 19, is: (value) => bsonType(value) === 'Decimal128' },
];

/**
 * Compiles the operand of `$type`: a name, a number, or a list of these. Throws `BadValue` for an unknown
 * type.
 */
export function typePredicate(operand: unknown): (value: unknown) => boolean {
  const wanted = (Array.isArray(operand) ? operand : [operand]).map((type) => {
    if (type === 'number') return isNumeric;
    const known = TYPES.find((candidate) => candidate.name === type || candidate.number === type);
    if (!known) throw new StoreError('BadValue', `unknown type in $type: ${String(type)}`);
    return known.is;
  });
  return (value) => wanted.some((is) => is(value));
}
