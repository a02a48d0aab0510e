/** SIP configuration of an imported number: validation across fields and encryption of its passwords. */

import { EgressRefused } from '#base/egress.ts';
import { isOtherHost } from '#config/credential-host.ts';
import { checkTenantHost } from '#telephony/tenant-hosts.ts';
import type { Context } from '../../platform/context.ts';
import { InvalidRequest, invalidField } from '../../platform/http/problems.ts';
import type { SecretBox } from '../../platform/secrets/secret-box.ts';
import type { NumberSip } from '../../platform/store/models/number-model.ts';
import type { SipConfigInput } from './number-record.ts';
import { tenantGuard } from './tenant-guard.ts';

/**
 * Checks that the host may be dialled and converts the input to its stored form. Throws `InvalidRequest`
 * naming the problem.
 */
export async function checkedSip(
  context: Pick<Context, 'secretBox' | 'egress' | 'settings'>,
  input: SipConfigInput,
  stored: NumberSip | null,
): Promise<NumberSip> {
  const sip = toStoredSip(context.secretBox, input, stored);
  const problem =
    sip.termination_uri === null ? null : await tenantHostProblem(context, `sip:${sip.termination_uri}`);
  if (problem !== null) throw invalidField(['termination_uri'], problem);
  return sip;
}

/** Returns why a tenant's SIP address is not accepted; null when it is. */
export async function tenantHostProblem(
  { egress, settings }: Pick<Context, 'egress' | 'settings'>,
  uri: string,
): Promise<string | null> {
  try {
    await checkTenantHost(uri, { ...tenantGuard({ settings }), egress, random: Math.random });
    return null;
  } catch (error) {
    if (error instanceof EgressRefused) return error.message;
    throw error;
  }
}

/**
 * Converts the input to its stored form. An empty password with a username keeps the stored one; for
 * termination only if the host is unchanged. Throws `InvalidRequest` naming the missing fields.
 */
function toStoredSip(box: SecretBox, input: SipConfigInput, stored: NumberSip | null): NumberSip {
  const terminationUri = input.termination_uri || null;
  const inbound = credentials(
    box,
    input.inbound_auth_username,
    input.inbound_auth_password,
    stored?.inbound_auth_password ?? null,
  );
  const kept = keptForTrunk(stored, terminationUri);
  const termination = credentials(
    box,
    input.termination_auth_username,
    input.termination_auth_password,
    kept.password,
  );
  const problems: [string, string][] = [];
  if (!inbound.isPair) problems.push(['inbound_auth_password', 'username and password come as a pair']);
  if (!termination.isPair) problems.push(['termination_auth_password', kept.problem]);
  if (inbound.username === null && input.inbound_allowed_addresses.length === 0)
    problems.push([
      'inbound_allowed_addresses',
      'at least one inbound factor is required: credentials or allowed addresses',
    ]);
  if (termination.username !== null && terminationUri === null)
    problems.push(['termination_uri', 'is required with termination credentials']);
  if (input.termination_from_domain && terminationUri === null)
    problems.push(['termination_uri', 'is required with a termination_from_domain']);
  if (problems.length > 0)
    throw new InvalidRequest(problems.flatMap(([field, text]) => invalidField([field], text).entries));
  return {
    inbound_auth_username: inbound.username,
    inbound_auth_password: inbound.sealed,
    inbound_allowed_addresses: input.inbound_allowed_addresses,
    termination_uri: terminationUri,
    termination_transport: terminationUri === null ? null : input.termination_transport,
    ...(input.termination_from_domain ? { termination_from_domain: input.termination_from_domain } : {}),
    termination_auth_username: termination.username,
    termination_auth_password: termination.sealed,
    termination_headers: input.termination_headers,
  };
}

/** The stored trunk password is kept only for the same host. */
function keptForTrunk(
  stored: NumberSip | null,
  uri: string | null,
): { readonly password: string | null; readonly problem: string } {
  if (stored === null || !isOtherHost(stored.termination_uri ?? '', uri ?? ''))
    return {
      password: stored?.termination_auth_password ?? null,
      problem: 'username and password come as a pair',
    };
  return { password: null, problem: 'must be given again for another termination_uri' };
}

function credentials(
  box: SecretBox,
  sentUsername: string | null,
  sentPassword: string | null,
  stored: string | null,
) {
  const username = sentUsername || null;
  const sealed = sentPassword ? box.seal(sentPassword) : username === null ? null : stored;
  return { username, sealed, isPair: (username === null) === (sealed === null) };
}
