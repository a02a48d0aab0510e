/** A SIP registration: request fields and API representation. The password is never returned. */
import { z } from 'zod';
import { readHostPort } from '#telephony/sip-address.ts';
import type { SipRegistrationDocument } from '../../platform/store/models/sip-registration-model.ts';

const place = z
  .string()
  .max(256)
  .regex(/^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/)
  .refine((value) => readHostPort(value) !== null, 'must be host or host:port with a port from 1 to 65535');
/** Of a SIP URI, without escapes (RFC 3261 §25.1). */
const username = z
  .string()
  .min(1)
  .max(64)
  .regex(/^[A-Za-z0-9._~!*'+$&=-]+$/);
/** Without the signs that end a line. */
const credential = z
  .string()
  .min(1)
  .max(128)
  .regex(/^[^\r\n\0]+$/);

const fields = {
  label: z.string().max(120),
  password: credential,
  auth_username: credential.nullable(),
  outbound_proxy: place.nullable(),
  transport: z.enum(['auto', 'udp', 'tcp', 'tls']),
  expires_seconds: z.number().int().min(60).max(86_400),
  keep_alive_seconds: z.union([z.literal(0), z.number().int().min(10).max(600)]),
  phone_number_id: z.string().max(64).nullable(),
};

/** Body of a creation. */
export const registrationCreate = z.strictObject({
  registrar: place,
  username,
  password: fields.password,
  label: fields.label.default(''),
  auth_username: fields.auth_username.default(null),
  outbound_proxy: fields.outbound_proxy.default(null),
  transport: fields.transport.default('auto'),
  expires_seconds: fields.expires_seconds.default(600),
  keep_alive_seconds: fields.keep_alive_seconds.default(30),
  phone_number_id: fields.phone_number_id.default(null),
});
export type RegistrationInput = z.output<typeof registrationCreate>;

/**
 * Body of an update. Registrar and username are what is registered: another pair is another registration.
 */
export const registrationPatch = z.strictObject(fields).partial();
export type RegistrationPatch = z.output<typeof registrationPatch>;

/** The record. */
export const registrationRecord = z.object({
  sip_registration_id: z.string(),
  workspace_id: z.string(),
  label: z.string(),
  registrar: z.string(),
  username: z.string(),
  auth_username: z.string().nullable(),
  outbound_proxy: z.string().nullable(),
  transport: fields.transport,
  expires_seconds: z.number().int(),
  keep_alive_seconds: z.number().int(),
  phone_number_id: z.string().nullable(),
  state: z.enum(['registering', 'registered', 'retrying', 'refused']),
  registered_until: z.iso.datetime().nullable(),
  next_attempt_at: z.iso.datetime(),
  contact: z.string().nullable(),
  last_error: z
    .object({ message: z.string(), sip_status: z.number().int().nullable(), at: z.iso.datetime() })
    .nullable(),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
});

/** Converts a registration to its record at a wall time. */
export function toRegistrationRecord(
  registration: SipRegistrationDocument,
  nowMs: number,
): z.output<typeof registrationRecord> {
  const { state } = registration;
  const untilMs = state.registeredUntilMs;
  const isCurrent = untilMs !== null && untilMs > nowMs;
  return {
    sip_registration_id: registration._id,
    workspace_id: registration.workspace_id,
    label: registration.label,
    registrar: registration.registrar,
    username: registration.username,
    auth_username: registration.auth_username,
    outbound_proxy: registration.outbound_proxy,
    transport: registration.transport,
    expires_seconds: registration.expires_seconds,
    keep_alive_seconds: registration.keep_alive_seconds,
    phone_number_id: registration.phone_number_id,
    // It ran out without an attempt: no signalling was there.
    state: state.status === 'registered' && !isCurrent ? 'retrying' : state.status,
    registered_until: isCurrent ? new Date(untilMs).toISOString() : null,
    next_attempt_at: registration.due_at.toISOString(),
    contact: state.contact,
    last_error: state.error && {
      message: state.error.text,
      sip_status: state.error.status,
      at: new Date(state.error.atMs).toISOString(),
    },
    created_at: registration.created_at.toISOString(),
    updated_at: registration.updated_at.toISOString(),
  };
}
