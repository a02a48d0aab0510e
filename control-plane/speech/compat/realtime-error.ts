/** Errors as events of the realtime protocol. */
import { compatFault, generalError } from './compat-errors.ts';

/** An error of the protocol itself, identified by its code. */
export class ProtocolError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** An error as an event. */
export function errorFields(error: unknown): { type: string; code: string; message: string } {
  if (error instanceof ProtocolError)
    return { type: 'invalid_request_error', code: error.code, message: error.message };
  const problem = compatFault(error);
  return { type: generalError(problem).error.type, code: problem.code, message: problem.message };
}
