/** The form that creates a named object, then opens the object's page. */
import { Button, Stack, TextInput } from '@mantine/core';
import { type FormEvent, type ReactNode, useState } from 'react';
import { useLocation } from 'wouter';
import { useChange } from '../api/queries.ts';

/** Calls `create` with the name; `children` are the other inputs. Reloads the addresses in `touches`. */
export function CreateForm<Created>({
  create,
  touches,
  pageOf,
  suggestedName = '',
  isReady = true,
  children,
}: {
  create: (name: string) => Promise<Created>;
  touches: readonly string[];
  pageOf: (created: Created) => string;
  /** The name until another one is typed. */
  suggestedName?: string;
  /** Whether the other inputs are complete. */
  isReady?: boolean;
  children: ReactNode;
}) {
  const [typed, setTyped] = useState<string | null>(null);
  const [, navigate] = useLocation();
  const name = typed ?? suggestedName;
  const creation = useChange(() => create(name.trim()), {
    touches,
    onDone: (created) => navigate(pageOf(created)),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    creation.mutate();
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
          onChange={(event) => setTyped(event.currentTarget.value)}
        />
        {children}
        <Button type="submit" loading={creation.isPending} disabled={name.trim() === '' || !isReady}>
          Create
        </Button>
      </Stack>
    </form>
  );
}
