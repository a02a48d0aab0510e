/**
 * Errors with MongoDB's `code` and `codeName`, so that the driver raises the same error classes as for a real
 * server.
 */

/** A refusal reported to the client. Any other exception is an internal error of the store. */
export class StoreError extends Error {
  readonly code: number;
  readonly codeName: string;
  /** Additional fields of the reply, such as `keyPattern` and `keyValue`. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(kind: ErrorKind, message: string, details: Readonly<Record<string, unknown>> = {}) {
    super(message);
    this.name = 'StoreError';
    this.code = CODES[kind];
    this.codeName = kind;
    this.details = details;
  }
}

/** Error codes used by this server, from MongoDB's `error_codes.yml`. */
const CODES = {
  InternalError: 1,
  BadValue: 2,
  FailedToParse: 9,
  Unauthorized: 13,
  TypeMismatch: 14,
  InvalidLength: 16,
  AuthenticationFailed: 18,
  NamespaceNotFound: 26,
  IndexNotFound: 27,
  PathNotViable: 28,
  ConflictingUpdateOperators: 40,
  CursorNotFound: 43,
  NamespaceExists: 48,
  DollarPrefixedFieldName: 52,
  CommandNotFound: 59,
  ImmutableField: 66,
  CannotCreateIndex: 67,
  IndexOptionsConflict: 85,
  IndexKeySpecsConflict: 86,
  CommandNotSupported: 115,
  QueryPlanKilled: 175,
  IllegalOperation: 20,
  DuplicateKey: 11_000,
  BSONObjectTooLarge: 10_334,
  OutOfDiskSpace: 14_031,
} as const;
type ErrorKind = keyof typeof CODES;

/** Error for a MongoDB feature that this server lacks. */
export function unsupported(what: string): StoreError {
  return new StoreError(
    'CommandNotSupported',
    `${what} is not supported by the embedded database; set MONGODB_URL to use a MongoDB`,
  );
}

/** Converts an error to a reply body. */
export function errorReply(error: unknown): Record<string, unknown> {
  const known = error instanceof StoreError ? error : storageError(error);
  return { ok: 0, code: known.code, codeName: known.codeName, errmsg: known.message, ...known.details };
}

const SQLITE_FULL = 13;

/** Converts a SQLite or internal error to one that can be sent to the client. */
function storageError(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  if (error instanceof Error && 'errcode' in error && (Number(error.errcode) & 0xff) === SQLITE_FULL) {
    return new StoreError(
      'OutOfDiskSpace',
      'the disk is full: the embedded database can be read but not written until there is room',
    );
  }
  return new StoreError(
    'InternalError',
    `embedded database: ${error instanceof Error ? error.message : String(error)}`,
  );
}
