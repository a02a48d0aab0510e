/** The key of a server of the agent's owner: written only, because the API never returns it. */
import { TextInput } from '@mantine/core';

/** A server with the newly typed key, if one was typed. */
export type WithKey<Server> = Server & { api_key?: string };

/** Changes the key of a server; an empty one keeps what is stored. */
export function KeyField<Server extends { has_secret: boolean }>({
  server,
  onChange,
}: {
  server: WithKey<Server>;
  onChange: (server: WithKey<Server>) => void;
}) {
  return (
    <TextInput
      label="Key"
      type="password"
      autoComplete="off"
      description={
        server.has_secret
          ? 'A key is stored. Leave this empty to keep it; for another host enter it again.'
          : 'Stored encrypted and never shown again.'
      }
      value={server.api_key ?? ''}
      onChange={(event) => {
        const { api_key: _, ...rest } = server;
        const typed = event.currentTarget.value;
        onChange((typed === '' ? rest : { ...rest, api_key: typed }) as WithKey<Server>);
      }}
    />
  );
}
