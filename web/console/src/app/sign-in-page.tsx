/** Sign-in with an API key, stored for this tab or on this device. */
import {
  Alert,
  Anchor,
  Button,
  Center,
  Checkbox,
  Code,
  PasswordInput,
  Stack,
  Text,
  Title,
} from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { call } from '../api/client.ts';
import { forgetKey, storeKey } from '../api/credentials.ts';
import { messageOf } from '../api/queries.ts';
import type { Account } from '../api/types.ts';

/** `isKeyRefused` is set if the key used to sign in is no longer accepted. */
export function SignInPage({ isKeyRefused, onSignedIn }: { isKeyRefused: boolean; onSignedIn: () => void }) {
  const [key, setKey] = useState('');
  const [isRemembered, setRemembered] = useState(false);
  const signIn = useMutation({
    mutationFn: async () => {
      storeKey(key.trim(), isRemembered);
      await call<Account>('GET', '/v1/account');
    },
    onSuccess: onSignedIn,
    onError: forgetKey,
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    signIn.mutate();
  };
  return (
    <Center component="main" mih="100vh" p="md">
      <form className="card" onSubmit={submit} style={{ width: '100%', maxWidth: 420 }}>
        <Stack>
          <img src="/icon.svg" alt="" width="40" height="40" />
          <div>
            <Title order={1} size="h2">
              Parley console
            </Title>
            <Text c="dimmed">Sign in with an API key of your account.</Text>
          </div>
          {/* Password managers file a key under a user name. */}
          <input type="text" name="username" autoComplete="username" value="Parley" readOnly hidden />
          <PasswordInput
            label="API key"
            placeholder="pk_…"
            autoComplete="current-password"
            required
            value={key}
            onChange={(event) => setKey(event.currentTarget.value)}
            visibilityToggleButtonProps={{ 'aria-label': 'Show the key' }}
          />
          <Checkbox
            label="Stay signed in on this device"
            checked={isRemembered}
            onChange={(event) => setRemembered(event.currentTarget.checked)}
          />
          {isKeyRefused && !signIn.isError && (
            <Alert color="yellow" role="alert" variant="outline" title="You were signed out">
              Your key was revoked or has expired. Sign in with another one to continue where you were.
            </Alert>
          )}
          {signIn.isError && (
            <Alert color="red" role="alert" variant="outline">
              {messageOf(signIn.error)}
            </Alert>
          )}
          <Button type="submit" loading={signIn.isPending} disabled={key.trim() === ''}>
            Sign in
          </Button>
          <Text size="sm" c="dimmed">
            The operator’s key is in <Code>credentials.json</Code> in the data directory, whose path is
            printed when Parley starts. Just looking?{' '}
            <Anchor href="/" underline="always">
              Talk to the demo agent
            </Anchor>
            .
          </Text>
        </Stack>
      </form>
    </Center>
  );
}
