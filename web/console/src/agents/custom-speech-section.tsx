/** A recogniser and a voice on servers of the agent's owner (docs/custom-speech.md). */
import { Select, SimpleGrid, Stack, Switch, Text, TextInput } from '@mantine/core';
import type { AgentConfig } from '../api/types.ts';
import { Section } from '../parts/page.tsx';
import type { EditorProps } from './draft.ts';
import { KeyField, type WithKey } from './key-field.tsx';

type CustomSpeech = NonNullable<AgentConfig['custom_speech']>;
type Recogniser = WithKey<NonNullable<CustomSpeech['asr']>>;
type Voice = WithKey<NonNullable<CustomSpeech['tts']>>;

const NEW_SERVER = { protocol: 'jambonz', url: '', model: '', language: '', fallback: true } as const;
const NEW_RECOGNISER: Recogniser = {
  ...NEW_SERVER,
  sample_rate_hz: 8_000,
  interim_results: true,
  has_secret: false,
};
const NEW_VOICE: Voice = { ...NEW_SERVER, voice: '', sample_rate_hz: 24_000, has_secret: false };

const PROTOCOLS = [
  { value: 'jambonz', label: 'jambonz: custom speech API' },
  { value: 'openai', label: 'OpenAI: audio routes' },
];

export function CustomSpeechSection({ config, set }: EditorProps) {
  const recogniser: Recogniser | undefined = config.custom_speech?.asr;
  const voice: Voice | undefined = config.custom_speech?.tts;
  return (
    <Section title="Your own speech servers">
      <Stack>
        <Text size="sm" c="dimmed">
          A recogniser or a voice on your own machine, or of a vendor that Parley has no engine for, behind
          one of two protocols. A test call uses it once the draft is saved.
        </Text>
        <Switch
          label="Hear with your own recogniser"
          checked={recogniser !== undefined}
          onChange={(event) =>
            set('custom_speech', { asr: event.currentTarget.checked ? NEW_RECOGNISER : undefined })
          }
        />
        {recogniser && (
          <RecogniserFields server={recogniser} onChange={(asr) => set('custom_speech', { asr })} />
        )}
        <Switch
          label="Speak with your own voice"
          checked={voice !== undefined}
          onChange={(event) =>
            set('custom_speech', { tts: event.currentTarget.checked ? NEW_VOICE : undefined })
          }
        />
        {voice && <VoiceFields server={voice} onChange={(tts) => set('custom_speech', { tts })} />}
      </Stack>
    </Section>
  );
}

interface FieldsProps<Server> {
  readonly server: Server;
  onChange(server: Server): void;
}

function RecogniserFields({ server, onChange }: FieldsProps<Recogniser>) {
  const isLive = server.protocol === 'jambonz';
  return (
    <fieldset className="server-fields">
      <legend>Recogniser</legend>
      <Stack>
        <ServerFields server={server} scheme={isLive ? 'wss' : 'https'} onChange={onChange} />
        {isLive && (
          <>
            <Select
              label="Audio sent"
              allowDeselect={false}
              maw={240}
              data={ratesOf([8_000, 16_000])}
              value={String(server.sample_rate_hz)}
              onChange={(rate) =>
                rate && onChange({ ...server, sample_rate_hz: Number(rate) as Recogniser['sample_rate_hz'] })
              }
            />
            <Switch
              label="It sends interim results"
              description="Without them, interruptions do not wait for words."
              checked={server.interim_results}
              onChange={(event) => onChange({ ...server, interim_results: event.currentTarget.checked })}
            />
          </>
        )}
        <Fallback server={server} engine="The recogniser above" onChange={onChange} />
      </Stack>
    </fieldset>
  );
}

function VoiceFields({ server, onChange }: FieldsProps<Voice>) {
  return (
    <fieldset className="server-fields">
      <legend>Voice</legend>
      <Stack>
        <ServerFields server={server} scheme="https" onChange={onChange} />
        <SimpleGrid cols={{ base: 1, sm: 2 }}>
          <TextInput
            label="Name of the voice"
            description="Empty: the server’s own choice."
            maxLength={256}
            value={server.voice}
            onChange={(event) => onChange({ ...server, voice: event.currentTarget.value })}
          />
          <Select
            label="Audio without a rate"
            description="If the answer names none."
            allowDeselect={false}
            data={ratesOf([8_000, 16_000, 22_050, 24_000])}
            value={String(server.sample_rate_hz)}
            onChange={(rate) =>
              rate && onChange({ ...server, sample_rate_hz: Number(rate) as Voice['sample_rate_hz'] })
            }
          />
        </SimpleGrid>
        <Fallback server={server} engine="The voice above" onChange={onChange} />
      </Stack>
    </fieldset>
  );
}

/** The fields that both kinds of servers have. */
function ServerFields<Server extends Recogniser | Voice>({
  server,
  scheme,
  onChange,
}: FieldsProps<Server> & { scheme: 'wss' | 'https' }) {
  return (
    <>
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <Select
          label="Protocol"
          allowDeselect={false}
          data={PROTOCOLS}
          value={server.protocol}
          onChange={(protocol) =>
            protocol && onChange({ ...server, protocol: protocol as Server['protocol'] })
          }
        />
        <TextInput
          label="Address"
          placeholder={`${scheme}://speech.example.com/${server.protocol === 'openai' ? 'v1' : 'speech'}`}
          maxLength={2_000}
          value={server.url}
          onChange={(event) => onChange({ ...server, url: event.currentTarget.value })}
        />
      </SimpleGrid>
      <KeyField server={server} onChange={onChange} />
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <TextInput
          label="Model"
          description="Empty: the server’s own choice."
          maxLength={256}
          value={server.model}
          onChange={(event) => onChange({ ...server, model: event.currentTarget.value })}
        />
        <TextInput
          label="Language"
          description="Sent instead of the agent’s, such as en-GB."
          maxLength={35}
          value={server.language}
          onChange={(event) => onChange({ ...server, language: event.currentTarget.value })}
        />
      </SimpleGrid>
    </>
  );
}

function Fallback<Server extends Recogniser | Voice>({
  server,
  engine,
  onChange,
}: FieldsProps<Server> & { engine: string }) {
  return (
    <Switch
      label="Take another when it fails"
      description={`${engine} goes on with the call.`}
      checked={server.fallback}
      onChange={(event) => onChange({ ...server, fallback: event.currentTarget.checked })}
    />
  );
}

function ratesOf(rates: readonly number[]) {
  return rates.map((rate) => ({ value: String(rate), label: `${rate.toLocaleString('en-US')} Hz` }));
}
