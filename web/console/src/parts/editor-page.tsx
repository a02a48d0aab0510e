/** The page of one thing that agents use, such as a tool: its fields, saving and deleting. */
import { Button } from '@mantine/core';
import type { ReactNode } from 'react';
import { useLocation } from 'wouter';
import { call } from '../api/client.ts';
import { useChange } from '../api/queries.ts';
import { ConfirmButton } from './confirm-button.tsx';
import { Id } from './copy.tsx';
import { Page } from './page.tsx';

interface EditorPageProps {
  readonly name: string;
  readonly id: string;
  /** Names the id for screen readers. */
  readonly idLabel: string;
  /** Its list: the address in the API, and the page. */
  readonly list: { readonly api: string; readonly page: string };
  /** The changed fields; null if there are none to save. */
  readonly patch: object | null;
  readonly children: ReactNode;
}

export function EditorPage({ name, id, idLabel, list, patch, children }: EditorPageProps) {
  const [, navigate] = useLocation();
  const path = `${list.api}/${id}`;
  const save = useChange(() => call('PATCH', path, patch ?? {}), {
    touches: [list.api, '/v1/agent/agents'],
    done: 'Saved. Agents use it once they are published again.',
  });
  const remove = useChange(() => call('DELETE', path), {
    touches: [list.api],
    done: 'Deleted',
    onDone: () => navigate(list.page),
  });
  return (
    <Page
      title={name}
      intro={<Id value={id} label={idLabel} />}
      actions={
        <>
          <ConfirmButton
            title={`Delete ${name}?`}
            text="It must not be attached to any agent."
            onConfirm={() => remove.mutate()}
          >
            Delete
          </ConfirmButton>
          <Button disabled={patch === null} loading={save.isPending} onClick={() => save.mutate()}>
            Save
          </Button>
        </>
      }
    >
      {children}
    </Page>
  );
}
