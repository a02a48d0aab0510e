/** Exports of the package `parley-api`. */
// biome-ignore-start lint/performance/noBarrelFile: this file is the published package's surface, not an internal short cut.
export type { Clock } from './clock.ts';
export {
  ApiConnectionError,
  ApiError,
  ApiTimeoutError,
  AuthenticationError,
  BadRequestError,
  ConflictError,
  type FieldProblem,
  ForbiddenError,
  InvalidRequestError,
  NotFoundError,
  OutOfCreditError,
  ParleyError,
  ServerError,
  TooManyRequestsError,
  WebhookError,
} from './errors.ts';
export type { ErrorReason } from './generated/reasons.ts';
export type * from './generated/types.ts';
export { List } from './list.ts';
export { Parley, type ParleyOptions } from './parley.ts';
export type { ServerEvent } from './server-events.ts';
export type { RequestOptions } from './transport.ts';
export { type ReceivedWebhook, SIGNATURE_HEADER, type VerifyOptions, verifyWebhook } from './webhooks.ts';
// biome-ignore-end lint/performance/noBarrelFile: see above
