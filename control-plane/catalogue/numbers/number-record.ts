/** A phone number: request fields and API representation. Passwords are never returned. */
import { z } from 'zod';
import { streamVendor } from '#protocol/media-streams.ts';
import { VOICE_PATH } from '#telephony/carriers/carrier.ts';
import { isE164 } from '#telephony/e164.ts';
import { readHostPort } from '#telephony/sip-address.ts';
import type { NumberDocument } from '../../platform/store/models/number-model.ts';

export const e164 = z.string().max(32).refine(isE164, 'must be an E.164 number such as +14155550123');
export const label = z.string().max(120);
const credential = z.string().max(128);
export const agentId = z.string().max(64).nullable();
const addresses = z.array(z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()])).max(32);

/** A host name, without a port. */
const domain = z
  .string()
  .max(253)
  .regex(/^[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?$/);

const terminationHeaders = z
  .record(
    z.string().regex(/^X-[A-Za-z0-9-]{1,126}$/i),
    z
      .string()
      .min(1)
      .max(1_024)
      .regex(/^[\x20-\x7e]+$/),
  )
  .refine((headers) => Object.keys(headers).length <= 20, 'at most 20 headers')
  .refine(
    (headers) =>
      new Set(Object.keys(headers).map((name) => name.toLowerCase())).size === Object.keys(headers).length,
    'names must be unique',
  )
  .refine(
    (headers) => !Object.keys(headers).some((name) => name.toLowerCase().startsWith('x-service-')),
    'names must not start with X-Service-',
  );

const sipFields = {
  inbound_auth_username: credential.nullable().default(null),
  inbound_auth_password: credential.nullable().default(null),
  inbound_allowed_addresses: addresses.default([]),
  termination_uri: z
    .string()
    .max(256)
    .regex(/^([A-Za-z0-9._-]+(:\d{1,5})?|\[[0-9A-Fa-f:.]+\](:\d{1,5})?)?$/)
    .refine(
      (value) => value === '' || readHostPort(value) !== null,
      'must be host or host:port with a port from 1 to 65535',
    )
    .nullable()
    .default(null),
  termination_transport: z.enum(['auto', 'udp', 'tcp', 'tls']).default('auto'),
  termination_from_domain: domain.nullable().optional(),
  termination_auth_username: credential.nullable().default(null),
  termination_auth_password: credential.nullable().default(null),
  termination_headers: terminationHeaders.default({}),
};

/** Body of `PUT …/sip-config`, which always replaces all fields. */
export const sipConfig = z.strictObject(sipFields);
export type SipConfigInput = z.output<typeof sipConfig>;

const shared = { phone_number: e164, label: label.default(''), agent_id: agentId.default(null) };

/** Body of a purchase or an import. */
export const numberCreate = z.discriminatedUnion('provider', [
  z.strictObject({ provider: z.literal('managed'), ...shared }),
  z.strictObject({ provider: z.literal('sip'), ...shared, ...sipFields }),
]);

/** The agent that answers text messages; null: none. */
const smsInput = z.strictObject({
  agent_id: z.string().max(64),
  continue_minutes: z.number().int().min(0).max(10_080).default(1_440),
  /** Not stored. */
  replace: z.boolean().default(false),
});

/** Body of an update; a null `agent_id` unbinds the number. */
export const numberPatch = z
  .strictObject({
    label,
    agent_id: agentId,
    transfer_caller_id: z.enum(['agent_number', 'original_caller']),
    retry_caller_id_sync: z.boolean(),
    sms: smsInput.nullable(),
  })
  .partial();

/** The phone number record. */
export const numberRecord = z.object({
  phone_number_id: z.string(),
  workspace_id: z.string(),
  phone_number: z.string(),
  provider: z.enum(['managed', 'sip']),
  label: z.string(),
  agent_id: z.string().nullable(),
  status: z.enum(['provisioning', 'active', 'error', 'released']),
  status_detail: z.string(),
  supports_outbound: z.boolean(),
  transfer_caller_id: z.enum(['agent_number', 'original_caller']),
  caller_id_sync_status: z.enum(['synced', 'pending', 'error', 'carrier_managed']),
  caller_id_sync_error: z.string(),
  inbound_auth_username: z.string().nullable(),
  inbound_allowed_addresses: z.array(z.string()),
  termination_uri: z.string().nullable(),
  termination_transport: z.enum(['auto', 'udp', 'tcp', 'tls']).nullable(),
  /** Absent until set. */
  termination_from_domain: z.string().optional(),
  termination_auth_username: z.string().nullable(),
  termination_headers: z.record(z.string(), z.string()),
  /** Absent until set. */
  sms: z.object({ agent_id: z.string(), continue_minutes: z.number().int() }).optional(),
  /** Its calls come as media streams of this account; absent unless it is connected. */
  media_stream: z.object({ vendor: streamVendor, account: z.string(), voice_url: z.string() }).optional(),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
});

/** Where a vendor asks about the calls of a number. */
export function voiceUrl(publicUrl: string, numberId: string): string {
  return `${publicUrl}${VOICE_PATH}/${numberId}`;
}

/** Converts a number to its record. `isRegistered`: a registration at a PBX belongs to it. */
export function toNumberRecord(
  number: NumberDocument,
  { isRegistered, publicUrl }: { readonly isRegistered: boolean; readonly publicUrl: string },
): z.output<typeof numberRecord> {
  const { sip, media_stream } = number;
  return {
    phone_number_id: number._id,
    workspace_id: number.workspace_id,
    phone_number: number.phone_number,
    provider: number.provider,
    label: number.label,
    agent_id: number.agent_id,
    status: number.status,
    status_detail: number.status_detail,
    // Managed numbers call out through the platform's trunk, imported ones through their own if they have
    // one, or under their registration.
    supports_outbound: number.provider === 'managed' || Boolean(sip?.termination_uri) || isRegistered,
    transfer_caller_id: number.transfer_caller_id,
    caller_id_sync_status: number.provider === 'managed' ? 'synced' : 'carrier_managed',
    caller_id_sync_error: '',
    inbound_auth_username: sip?.inbound_auth_username ?? null,
    inbound_allowed_addresses: sip?.inbound_allowed_addresses ?? [],
    termination_uri: sip?.termination_uri ?? null,
    termination_transport: sip?.termination_transport ?? null,
    ...(sip?.termination_from_domain ? { termination_from_domain: sip.termination_from_domain } : {}),
    termination_auth_username: sip?.termination_auth_username ?? null,
    termination_headers: sip?.termination_headers ?? {},
    ...(number.sms ? { sms: number.sms } : {}),
    ...(media_stream && {
      media_stream: {
        vendor: media_stream.vendor,
        account: media_stream.account,
        voice_url: voiceUrl(publicUrl, number._id),
      },
    }),
    created_at: number.created_at.toISOString(),
    updated_at: number.updated_at.toISOString(),
  };
}
