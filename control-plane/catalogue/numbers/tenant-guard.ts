/** Restrictions on SIP hosts named by tenants. */
import type { CallPlan } from '#protocol/call-plan.ts';
import type { Context } from '../../platform/context.ts';

type Guard = NonNullable<Extract<CallPlan['transport'], { type: 'sip_outbound' }>['guard']>;

/** The restrictions that apply whenever a tenant's host is dialled. */
export function tenantGuard({ settings }: Pick<Context, 'settings'>): Guard {
  return { trunk: settings.SIP_TRUNK_URI ?? '', trusted: settings.SIP_TRUSTED };
}
