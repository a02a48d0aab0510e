/** The form that creates a named object, then opens the object's page. */
import { Button, Stack, TextInput } from '@mantine/core';
import { type FormEvent, type ReactNode, useState } from 'react';
import { useLocation } from 'wouter';
import { call } from '../api/client.ts';
import { useChange } from '../api/queries.ts';

/** Posts `fields` and the name to `path`; `children` are the inputs of `fields`. */
export function CreateForm<Created>({
  path,
  fields,
  pageOf,
  children,
}: {
  path: string;
  fields: Readonly<Record<string, unknown>>;
  pageOf: (created: Created) => string;
  children: ReactNode;
}) {
  const [name, setName] = useState('');
  const [, navigate] = useLocation();
  const create = useChange(() => call<Created>('POST', path, { name: name.trim(), ...fields }), {
    touches: [path],
    onDone: (created) => navigate(pageOf(created)),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    create.mutate();
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <TextInput
          label="Name"
          required
          maxLength={120}
          data-autofocus
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        {children}
        <Button type="submit" loading={create.isPending} disabled={name.trim() === ''}>
          Create
        </Button>
      </Stack>
    </form>
  );
}
