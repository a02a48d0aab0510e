/**
 * The system prompt: its length in o200k_base tokens, counted as on the server, and completion of variables
 * after `{{`.
 */
import { Combobox, Group, Progress, Text, Textarea, useCombobox } from '@mantine/core';
import { useEffect, useRef, useState } from 'react';

/** Maximum and recommended number of tokens. */
const LIMIT = 4_000;
const RECOMMENDED = 2_000;

const SYSTEM_VARIABLES = [
  'channel',
  'timezone',
  'today',
  'language',
  'caller_number',
  'dialed_number',
  'caller_number_spoken',
].map((name) => `system.${name}`);

export function PromptEditor({
  value,
  variables,
  onChange,
}: {
  value: string;
  variables: readonly string[];
  onChange: (text: string) => void;
}) {
  const area = useRef<HTMLTextAreaElement>(null);
  const combobox = useCombobox();
  const [started, setStarted] = useState<string | null>(null);
  const offered = [...variables, ...SYSTEM_VARIABLES].filter(
    (name) => started !== null && name.toLowerCase().startsWith(started.toLowerCase()),
  );

  const look = () => {
    const element = area.current;
    const begun = element && /\{\{\s*([\w.]*)$/.exec(element.value.slice(0, element.selectionStart))?.[1];
    setStarted(begun ?? null);
    if (begun == null) combobox.closeDropdown();
    else {
      combobox.openDropdown();
      combobox.updateSelectedOptionIndex();
    }
  };
  const complete = (name: string) => {
    const element = area.current;
    if (!element) return;
    const at = element.selectionStart;
    const before = element.value.slice(0, at).replace(/\{\{\s*[\w.]*$/, `{{${name}}}`);
    onChange(before + element.value.slice(at).replace(/^\s*\}\}/, ''));
    combobox.closeDropdown();
    requestAnimationFrame(() => {
      element.focus();
      element.setSelectionRange(before.length, before.length);
    });
  };

  return (
    <Combobox store={combobox} onOptionSubmit={complete} position="bottom-start">
      <Combobox.Target withKeyboardNavigation={offered.length > 0}>
        <Textarea
          ref={area}
          label="System prompt"
          description="Who the agent is, what it knows and how it behaves. Type {{ for variables."
          autosize
          minRows={10}
          maxRows={28}
          maxLength={100_000}
          value={value}
          onChange={(event) => {
            onChange(event.currentTarget.value);
            look();
          }}
          onClick={look}
          onBlur={() => combobox.closeDropdown()}
        />
      </Combobox.Target>
      <Combobox.Dropdown hidden={offered.length === 0}>
        <Combobox.Options aria-label="Variables">
          {offered.map((name) => (
            <Combobox.Option key={name} value={name} className="mono">
              {`{{${name}}}`}
            </Combobox.Option>
          ))}
        </Combobox.Options>
      </Combobox.Dropdown>
      <TokenCount text={value} />
    </Combobox>
  );
}

function TokenCount({ text }: { text: string }) {
  const tokens = useTokenCount(text);
  const isOver = tokens !== null && tokens > LIMIT;
  return (
    <Group gap="sm" mt="xs" wrap="nowrap">
      <Progress
        value={((tokens ?? 0) / LIMIT) * 100}
        color={isOver ? 'red' : 'indigo'}
        w={120}
        aria-label="Tokens used"
      />
      <Text size="sm" c={isOver ? 'red' : 'dimmed'} className="tabular" role="status">
        {tokens === null ? 'Counting…' : `${tokens} of ${LIMIT} tokens`}
        {tokens !== null && tokens > RECOMMENDED && !isOver
          ? ` (below ${RECOMMENDED} the agent answers faster)`
          : ''}
      </Text>
    </Group>
  );
}

/** Token count of a text, updated when typing pauses. Null until the tokenizer is loaded. */
function useTokenCount(text: string): number | null {
  const [tokens, setTokens] = useState<number | null>(null);
  useEffect(() => {
    let isCurrent = true;
    const timer = setTimeout(async () => {
      const { countTokens } = await import('gpt-tokenizer/encoding/o200k_base');
      if (isCurrent) setTokens(countTokens(text, { disallowedSpecial: new Set() }));
    }, 300);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [text]);
  return tokens;
}
