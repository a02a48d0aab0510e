/** The agent's voice and speech recognition. */
import {
  Button,
  Group,
  Select,
  SimpleGrid,
  Slider,
  Stack,
  Switch,
  TagsInput,
  Text,
  TextInput,
} from '@mantine/core';
import { IconPlayerPlay } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { ApiError, request } from '../api/client.ts';
import { messageOf, useRead } from '../api/queries.ts';
import type { AgentConfig, Models } from '../api/types.ts';
import { Section } from '../parts/page.tsx';
import { LetItHear } from '../speech-models/let-it-hear.tsx';
import { CustomSpeechSection } from './custom-speech-section.tsx';
import type { EditorProps } from './draft.ts';

const LANGUAGES = (
  'en ja zh ko es fr de pt it nl ar hi id tr ru bg sr hr cs sk pl uk ro hu el sv da no fi et lv lt ca he ' +
  'fa ur kk ka hy bn ta te kn mr gu pa ne th vi ms tl af'
).split(' ');
const LANGUAGE_NAMES = new Intl.DisplayNames(undefined, { type: 'language' });

export function VoiceTab(props: EditorProps) {
  return (
    <Stack>
      <VoiceSection {...props} />
      <HearingSection {...props} />
      <CustomSpeechSection {...props} />
    </Stack>
  );
}

function VoiceSection({ config, set }: EditorProps) {
  const models = useRead<Models>('/v1/agent/models');
  const { voice } = config;
  const voices = models.data?.voices ?? [];
  return (
    <Section title="Voice">
      <Stack>
        <SimpleGrid cols={{ base: 1, sm: 2 }}>
          <Select
            label="Voice"
            searchable
            allowDeselect={false}
            data={voices.map(({ id, name, languages }) => ({
              value: id,
              label: `${name} · ${languages.join(', ')}`,
            }))}
            value={voice.voice_id}
            onChange={(id) => id && set('voice', { voice_id: id })}
          />
          <Select
            label="Language"
            searchable
            allowDeselect={false}
            data={LANGUAGES.map((code) => ({ value: code, label: LANGUAGE_NAMES.of(code) ?? code }))}
            value={voice.speaking_language}
            onChange={(code) =>
              code && set('voice', { speaking_language: code as AgentConfig['voice']['speaking_language'] })
            }
          />
        </SimpleGrid>
        <div>
          <Text size="sm" fw={500} id="speed-label">
            Speed: {voice.speed.toFixed(2)}×
          </Text>
          <Slider
            min={0.5}
            max={2}
            step={0.05}
            label={null}
            thumbLabel="Speed"
            value={voice.speed}
            onChange={(speed) => set('voice', { speed })}
            maw={360}
          />
        </div>
        <Switch
          label="Expressive"
          description="The voice may perform cues such as laughter; they never appear in the transcript."
          checked={voice.expressive}
          onChange={(event) => set('voice', { expressive: event.currentTarget.checked })}
        />
        <Preview voiceId={voice.voice_id} speed={voice.speed} />
      </Stack>
    </Section>
  );
}

function HearingSection({ config, set }: EditorProps) {
  const models = useRead<Models>('/v1/agent/models');
  const { asr } = config;
  const asrIds = [...new Set([...(models.data?.asr.map(({ id }) => id) ?? []), asr.model])].filter(
    (id) => id !== '',
  );
  return (
    <Section title="Hearing">
      <Stack>
        <LetItHear />
        <Select
          label="Recogniser"
          data={asrIds}
          allowDeselect={false}
          value={asr.model}
          onChange={(id) => id && set('asr', { model: id })}
        />
        <TagsInput
          label="Words to recognise"
          description="Names and terms the recogniser should prefer, up to 50."
          maxTags={50}
          value={asr.keyterms}
          onChange={(keyterms) => set('asr', { keyterms })}
        />
        <Switch
          label="Several languages"
          checked={asr.multilingual}
          onChange={(event) => set('asr', { multilingual: event.currentTarget.checked })}
        />
        <Switch
          label="Only its own language"
          description="The agent sees other languages as unintelligible speech."
          checked={asr.strict_language}
          onChange={(event) => set('asr', { strict_language: event.currentTarget.checked })}
        />
      </Stack>
    </Section>
  );
}

function Preview({ voiceId, speed }: { voiceId: string; speed: number }) {
  const [text, setText] = useState('Hello, this is how I sound on a call. What can I do for you?');
  const preview = useMutation({
    mutationFn: async () => {
      const response = await request('POST', '/v1/tts', {
        text,
        reference_id: voiceId === 'default' ? null : voiceId,
        format: 'wav',
        prosody: { speed },
      });
      const url = URL.createObjectURL(await response.blob());
      const player = new Audio(url);
      player.addEventListener('ended', () => URL.revokeObjectURL(url));
      await player.play();
    },
  });
  return (
    <Stack gap="xs">
      <Group align="flex-end">
        <TextInput
          label="Preview"
          value={text}
          maxLength={300}
          onChange={(event) => setText(event.currentTarget.value)}
          style={{ flex: 1, minWidth: 220 }}
        />
        <Button
          variant="default"
          leftSection={<IconPlayerPlay size={16} />}
          loading={preview.isPending}
          disabled={text.trim() === ''}
          onClick={() => preview.mutate()}
        >
          Listen
        </Button>
      </Group>
      {preview.isError && (
        <Text size="sm" c="red" role="alert">
          {preview.error instanceof ApiError && preview.error.status === 404
            ? 'This server has no speech API for previews of voices. Save the draft and make a test call ' +
              'to hear it.'
            : messageOf(preview.error)}
        </Text>
      )}
    </Stack>
  );
}
