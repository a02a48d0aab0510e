/**
 * A tool server as it is edited, and the changes to send. The API never returns credentials: headers and
 * client credentials are sent only if they were typed again.
 */
import type { ToolServer } from '../api/types.ts';
import { editableHeaders, type HeaderInput, sentHeader } from '../tools/headers.tsx';

/** Client credentials in editable form; a stored secret is empty. */
export interface OauthInput {
  readonly issuer: string;
  readonly client_id: string;
  readonly client_secret: string;
  readonly scope: string;
}

/** Fields edited on the page. */
export interface ServerForm
  extends Pick<ToolServer, 'name' | 'url' | 'allowed_tools' | 'background_tools' | 'timeout_seconds'> {
  readonly headers: readonly HeaderInput[];
  readonly oauth: OauthInput | null;
}

/** The form of a saved server. */
export function formOf(server: ToolServer): ServerForm {
  const { name, url, allowed_tools, background_tools, timeout_seconds, oauth } = server;
  return {
    name,
    url,
    allowed_tools,
    background_tools,
    timeout_seconds,
    headers: editableHeaders(server.headers),
    oauth: oauth && {
      issuer: oauth.issuer,
      client_id: oauth.client_id,
      client_secret: '',
      scope: oauth.scope,
    },
  };
}

/** The fields that differ, as the body of a PATCH; null if none does. */
export function serverPatch(saved: ToolServer, form: ServerForm): Record<string, unknown> | null {
  const before = formOf(saved);
  const names = (Object.keys(form) as (keyof ServerForm)[]).filter(
    (name) => JSON.stringify(form[name]) !== JSON.stringify(before[name]),
  );
  if (names.length === 0) return null;
  return Object.fromEntries(
    names.map((name) => [name, name === 'headers' ? form.headers.map(sentHeader) : form[name]]),
  );
}

/** Whether client credentials were changed, and lack what the API needs. */
export function lacksOauth(saved: ToolServer, { oauth }: ServerForm): boolean {
  if (!oauth || JSON.stringify(oauth) === JSON.stringify(formOf(saved).oauth)) return false;
  return oauth.issuer === '' || oauth.client_id === '' || oauth.client_secret === '';
}
