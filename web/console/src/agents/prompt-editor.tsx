/**
 * The editor of the system prompt: counts tokens as the server does (o200k_base), and completes variables
 * after `{{`.
 */
import { Combobox, Group, Progress, Text, Textarea, useCombobox } from '@mantine/core';
import { useEffect, useRef, useState } from 'react';

const MAX_TOKENS = 4_000;
/** Longer prompts delay the first word of an answer. */
const RECOMMENDED_TOKENS = 2_000;

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
  const [prefix, setPrefix] = useState<string | null>(null);
  const completions = [...variables, ...SYSTEM_VARIABLES].filter(
    (name) => prefix !== null && name.toLowerCase().startsWith(prefix.toLowerCase()),
  );

  /** Finds the part of a variable's name before the cursor, and opens the completions for it. */
  const findPrefix = () => {
    const element = area.current;
    const typed = element && /\{\{\s*([\w.]*)$/.exec(element.value.slice(0, element.selectionStart))?.[1];
    setPrefix(typed ?? null);
    if (typed == null) combobox.closeDropdown();
    else {
      combobox.openDropdown();
      combobox.updateSelectedOptionIndex();
    }
  };
  /** Replaces the part before the cursor with the whole placeholder. */
  const complete = (name: string) => {
    const element = area.current;
    if (!element) return;
    const cursor = element.selectionStart;
    const before = element.value.slice(0, cursor).replace(/\{\{\s*[\w.]*$/, `{{${name}}}`);
    onChange(before + element.value.slice(cursor).replace(/^\s*\}\}/, ''));
    combobox.closeDropdown();
    requestAnimationFrame(() => {
      element.focus();
      element.setSelectionRange(before.length, before.length);
    });
  };

  return (
    <Combobox store={combobox} onOptionSubmit={complete} position="bottom-start">
      <Combobox.Target withKeyboardNavigation={completions.length > 0}>
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
            findPrefix();
          }}
          onClick={findPrefix}
          onBlur={() => combobox.closeDropdown()}
        />
      </Combobox.Target>
      <Combobox.Dropdown hidden={completions.length === 0}>
        <Combobox.Options aria-label="Variables">
          {completions.map((name) => (
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
  const isOver = tokens !== null && tokens > MAX_TOKENS;
  return (
    <Group gap="sm" mt="xs" wrap="nowrap">
      <Progress
        value={((tokens ?? 0) / MAX_TOKENS) * 100}
        color={isOver ? 'red' : 'indigo'}
        w={120}
        aria-label="Tokens used"
      />
      <Text size="sm" c={isOver ? 'red' : 'dimmed'} className="tabular" role="status">
        {tokens === null ? 'Counting…' : `${tokens} of ${MAX_TOKENS} tokens`}
        {tokens !== null && tokens > RECOMMENDED_TOKENS && !isOver
          ? ` (the agent answers faster below ${RECOMMENDED_TOKENS})`
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
