/** One tool server: its address and credentials, a test of the connection, and its tools. */
import { Button, NumberInput, PasswordInput, Stack, Switch, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useLocation, useParams } from 'wouter';
import { call } from '../api/client.ts';
import { useChange, useRead } from '../api/queries.ts';
import type { ToolServer } from '../api/types.ts';
import { ConfirmButton } from '../parts/confirm-button.tsx';
import { Id } from '../parts/copy.tsx';
import { Page, Section } from '../parts/page.tsx';
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
  const [, navigate] = useLocation();
  // A reading changes the tools only: what is being typed stays.
  const form = edited?.of === saved.updated_at ? edited.form : formOf(saved);
  const set = (patch: Partial<ServerForm>) =>
    setEdited({ of: saved.updated_at, form: { ...form, ...patch } });
  const patch = serverPatch(saved, form);
  const path = `/v1/agent/tool-servers/${saved.tool_server_id}`;
  const save = useChange(() => call('PATCH', path, patch ?? {}), {
    touches: ['/v1/agent/tool-servers', '/v1/agent/agents'],
    done: 'Saved. Agents use it once they are published again.',
  });
  const remove = useChange(() => call('DELETE', path), {
    touches: ['/v1/agent/tool-servers'],
    done: 'Deleted',
    onDone: () => navigate('/tool-servers'),
  });
  return (
    <Page
      title={saved.name}
      intro={<Id value={saved.tool_server_id} label="the server’s id" />}
      actions={
        <>
          <ConfirmButton
            title={`Delete ${saved.name}?`}
            text="It must not be attached to any agent."
            onConfirm={() => remove.mutate()}
          >
            Delete
          </ConfirmButton>
          <Button
            disabled={patch === null || lacksOauth(saved, form)}
            loading={save.isPending}
            onClick={() => save.mutate()}
          >
            Save
          </Button>
        </>
      }
    >
      <Address form={form} set={set} />
      <Credentials saved={saved} form={form} set={set} />
      <ConnectionTest saved={saved} isDirty={patch !== null} />
      <ServerTools saved={saved} form={form} set={set} />
    </Page>
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
