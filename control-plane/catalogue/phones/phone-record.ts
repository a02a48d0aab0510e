/** A phone: request fields and API representation. Its password is in the answer that creates it only. */
import { z } from 'zod';
import { liveBindings } from '#telephony/registration/phone-bindings.ts';
import type { SipPhoneDocument } from '../../platform/store/models/sip-phone-model.ts';
import { extension } from './extensions.ts';

const fields = {
  extension,
  display_name: z.string().max(120),
  may_call_agents: z.boolean(),
};

/** Body of a creation. */
export const phoneCreate = z.strictObject({
  extension,
  display_name: fields.display_name.default(''),
  may_call_agents: fields.may_call_agents.default(true),
});
export type PhoneInput = z.output<typeof phoneCreate>;

/** Body of an update. */
export const phonePatch = z.strictObject(fields).partial();
export type PhonePatch = z.output<typeof phonePatch>;

const registeredPlace = z.object({
  contact: z.string(),
  source_address: z.string(),
  transport: z.enum(['udp', 'tcp', 'tls']),
  user_agent: z.string(),
  registered_until: z.iso.datetime(),
});

/** The record. */
export const phoneRecord = z.object({
  sip_phone_id: z.string(),
  workspace_id: z.string(),
  extension: z.string(),
  display_name: z.string(),
  username: z.string(),
  may_call_agents: z.boolean(),
  registrations: z.array(registeredPlace),
  last_refused: z.object({ at: z.iso.datetime(), source_address: z.string() }).nullable(),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
});

/** The record with the password, which is shown once. */
export const phoneWithPassword = phoneRecord.extend({ password: z.string() });

/** Converts a phone to its record at a wall time. */
export function toPhoneRecord(phone: SipPhoneDocument, nowMs: number): z.output<typeof phoneRecord> {
  const { last_refused: refused } = phone;
  return {
    sip_phone_id: phone._id,
    workspace_id: phone.workspace_id,
    extension: phone.extension,
    display_name: phone.display_name,
    username: phone.username,
    may_call_agents: phone.may_call_agents,
    registrations: liveBindings(phone.bindings, nowMs).map((binding) => ({
      contact: binding.contact,
      source_address: binding.address,
      transport: binding.transport,
      user_agent: binding.userAgent,
      registered_until: new Date(binding.untilMs).toISOString(),
    })),
    last_refused: refused ? { at: refused.at.toISOString(), source_address: refused.address } : null,
    created_at: phone.created_at.toISOString(),
    updated_at: phone.updated_at.toISOString(),
  };
}
