/** The hosts of tenants that calls may be sent to. */
import type { CallPlan } from '#protocol/call-plan.ts';
import type { Context } from '../../platform/context.ts';

type Guard = NonNullable<Extract<CallPlan['transport'], { type: 'sip_outbound' }>['guard']>;

/** What every host that a tenant has named is held to when it is dialled. */
export function tenantGuard({ settings }: Pick<Context, 'settings'>): Guard {
  return { trunk: settings.SIP_TRUNK_URI ?? '', trusted: settings.SIP_TRUSTED };
}
