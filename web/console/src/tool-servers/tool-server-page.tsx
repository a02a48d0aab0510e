/** One tool server: its address and credentials, a test of the connection, and its tools. */
import { NumberInput, PasswordInput, Stack, Switch, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useParams } from 'wouter';
import { useRead } from '../api/queries.ts';
import type { ToolServer } from '../api/types.ts';
import { EditorPage } from '../parts/editor-page.tsx';
import { Section } from '../parts/page.tsx';
import { LoadedPage } from '../parts/states.tsx';
import { Headers } from '../tools/headers.tsx';
import { formOf, lacksOauth, type OauthInput, type ServerForm, serverPatch } from './server-form.ts';
import { ConnectionTest, ServerTools } from './server-tools.tsx';

const NO_OAUTH: OauthInput = { issuer: '', client_id: '', client_secret: '', scope: '' };

export default function ToolServerPage() {
  const { serverId = '' } = useParams<{ serverId: string }>();
  const server = useRead<ToolServer>(`/v1/agent/tool-servers/${serverId}`);
  return (
    <LoadedPage query={server} kind="tool server" all={['/tool-servers', 'All tool servers']}>
      {(saved) => <ServerEditor saved={saved} />}
    </LoadedPage>
  );
}

function ServerEditor({ saved }: { saved: ToolServer }) {
  const [edited, setEdited] = useState<{ readonly of: string; readonly form: ServerForm } | null>(null);
  // A reading changes the tools only: what is being typed stays.
  const form = edited?.of === saved.updated_at ? edited.form : formOf(saved);
  const set = (patch: Partial<ServerForm>) =>
    setEdited({ of: saved.updated_at, form: { ...form, ...patch } });
  const patch = serverPatch(saved, form);
  return (
    <EditorPage
      name={saved.name}
      id={saved.tool_server_id}
      idLabel="the server’s id"
      list={{ api: '/v1/agent/tool-servers', page: '/tool-servers' }}
      patch={lacksOauth(saved, form) ? null : patch}
    >
      <Address form={form} set={set} />
      <Credentials saved={saved} form={form} set={set} />
      <ConnectionTest saved={saved} isDirty={patch !== null} />
      <ServerTools saved={saved} form={form} set={set} />
    </EditorPage>
  );
}

interface PartProps {
  readonly form: ServerForm;
  set(patch: Partial<ServerForm>): void;
}

function Address({ form, set }: PartProps) {
  return (
    <Section title="Server">
      <Stack>
        <TextInput
          label="Name"
          description="Its first 20 characters are put before the names of its tools."
          maxLength={120}
          value={form.name}
          onChange={(event) => set({ name: event.currentTarget.value })}
        />
        <TextInput
          label="Address"
          description="Another host is another server: it deletes the credentials and the tools."
          type="url"
          value={form.url}
          onChange={(event) => set({ url: event.currentTarget.value })}
        />
        <NumberInput
          label="Timeout"
          description="For an answer, or the next progress."
          suffix=" s"
          min={1}
          max={120}
          maw={220}
          value={form.timeout_seconds}
          onChange={(value) => typeof value === 'number' && set({ timeout_seconds: value })}
        />
      </Stack>
    </Section>
  );
}

function Credentials({ saved, form, set }: PartProps & { saved: ToolServer }) {
  const { oauth } = form;
  const isStored = saved.oauth?.has_secret === true;
  const setOauth = (patch: Partial<OauthInput>) => set({ oauth: { ...(oauth ?? NO_OAUTH), ...patch } });
  return (
    <Section title="Credentials">
      <Stack>
        <Headers list={form.headers} onChange={(headers) => set({ headers })} />
        <Switch
          label="OAuth with client credentials"
          checked={oauth !== null}
          onChange={(event) => set({ oauth: event.currentTarget.checked ? NO_OAUTH : null })}
        />
        {oauth && (
          <>
            <TextInput
              label="Issuer"
              description="The only authorisation server that gets the secret."
              type="url"
              required
              placeholder="https://login.example.com"
              value={oauth.issuer}
              onChange={(event) => setOauth({ issuer: event.currentTarget.value })}
            />
            <TextInput
              label="Client id"
              required
              value={oauth.client_id}
              onChange={(event) => setOauth({ client_id: event.currentTarget.value })}
            />
            <PasswordInput
              label="Client secret"
              required
              autoComplete="off"
              placeholder={isStored ? 'Stored; enter it again to change these fields' : ''}
              value={oauth.client_secret}
              onChange={(event) => setOauth({ client_secret: event.currentTarget.value })}
            />
            <TextInput
              label="Scopes"
              description="Separated by spaces; may be empty."
              value={oauth.scope}
              onChange={(event) => setOauth({ scope: event.currentTarget.value })}
            />
            {lacksOauth(saved, form) && (
              <Text size="sm" c="dimmed">
                To save, enter issuer, client id and client secret.
              </Text>
            )}
          </>
        )}
      </Stack>
    </Section>
  );
}
