/**
 * What signalling asks the control plane about a new INVITE, and the answer: `POST /internal/sip/admit`, `Authorization: Bearer <WORKER_TOKEN>`.
 * The answer is in the form of drachtio-server's HTTP request handlers, so that the embedded signalling and drachtio-server ask the same question.
 */
import { z } from 'zod';

const headerValue = z.string().max(2_048);

/** A new INVITE outside any dialog. */
export const admissionRequest = z.object({
  call_id: z.string().min(1).max(512),
  /** User part of the From URI, decoded: what the carrier wrote, `anonymous` too; empty where there is none. */
  from_user: z.string().max(256),
  /** User part of the Request-URI, decoded. */
  to_user: z.string().max(256),
  source_address: z.union([z.ipv4(), z.ipv6()]),
  source_port: z.number().int().min(0).max(65_535),
  transport: z.enum(['udp', 'tcp', 'tls']),
  /** Lower-case name → value of: authorization, proxy-authorization, p-asserted-identity, privacy, diversion, and every x- header. */
  headers: z.record(z.string().max(128), headerValue),
  /** False where signalling sees that the offer has no codec of ours; absent where it cannot tell: the worker then refuses the call. */
  is_answerable: z.boolean().optional(),
});
export type AdmissionRequest = z.infer<typeof admissionRequest>;

/** Who takes the INVITE, or what it is refused with. */
export const admissionAnswer = z.discriminatedUnion('action', [
  /** Hand it to the application connected under this tag. */
  z.object({ action: z.literal('route'), data: z.object({ tag: z.string().min(1) }) }),
  z.object({
    action: z.literal('reject'),
    data: z.object({ status: z.number().int().min(300).max(699), reason: z.string(), headers: z.record(z.string(), z.string()).optional() }),
  }),
]);
export type AdmissionAnswer = z.infer<typeof admissionAnswer>;
