/** The editor of the rules of alerts: which rates are watched, and between which limits. */
import { Group, NativeSelect, NumberInput, Stack, Switch, Text } from '@mantine/core';
import { Add, Remove } from '../parts/list-buttons.tsx';
import { Section } from '../parts/page.tsx';
import {
  type AlertRule,
  errorsOf,
  LEARNED,
  type RuleErrors,
  type Side,
  watchableRates,
  withLimit,
} from './alert-rules.ts';
import type { EditorProps } from './draft.ts';
import { labelOf } from './scorecard-rates.ts';

const MOST_RULES = 20;
const FIRST_LIMIT = 0.1;

export function AlertRulesSection({ config, set }: EditorProps) {
  const rules = config.scorecard?.alerts ?? [];
  const errors = errorsOf(config);
  const rates = watchableRates(config);
  const change = (alerts: AlertRule[]) =>
    set('scorecard', { alerts: alerts.length === 0 ? undefined : alerts });
  const unused = rates.find(({ value }) => !rules.some(({ rate }) => rate === value));
  return (
    <Section
      title="Alerts about rates"
      aside={
        <Add
          label="alert"
          disabled={rules.length >= MOST_RULES || !unused}
          onClick={() => change([...rules, { rate: unused?.value ?? '', above: FIRST_LIMIT }])}
        />
      }
    >
      <Text size="sm" c="dimmed" mb="md">
        An alert opens here, and on webhooks that ask for it, when a rate of all calls leaves its band. A
        learned limit is taken from the calls of the last 28 days. The rules hold once they are published.
      </Text>
      {rules.length === 0 && <Text c="dimmed">None yet: add one, such as dead air above 10 %.</Text>}
      <Stack>
        {rules.map((rule, index) => (
          <RuleFields
            // biome-ignore lint/suspicious/noArrayIndexKey: a rule has no identity but its place.
            key={index}
            rule={rule}
            errors={errors[index] ?? {}}
            rates={rates}
            onChange={(next) => change(rules.map((one, at) => (at === index ? next : one)))}
            onRemove={() => change(rules.filter((_, at) => at !== index))}
          />
        ))}
      </Stack>
    </Section>
  );
}

interface RuleProps {
  readonly rule: AlertRule;
  readonly errors: RuleErrors;
  readonly rates: { value: string; label: string }[];
  readonly onChange: (rule: AlertRule) => void;
  readonly onRemove: () => void;
}

function RuleFields({ rule, errors, rates, onChange, onRemove }: RuleProps) {
  const name = labelOf(rule.rate);
  return (
    <Group align="flex-start" gap="sm" role="group" aria-label={`Alert about ${name}`}>
      <NativeSelect
        label="Rate"
        data={rates}
        value={rule.rate}
        error={errors.rate}
        onChange={(event) => onChange({ ...rule, rate: event.currentTarget.value })}
        w={210}
      />
      {(['above', 'below'] as const).map((side) => (
        <Limit key={side} side={side} rule={rule} error={errors[side]} onChange={onChange} />
      ))}
      <NumberInput
        label="Calls it needs"
        placeholder="30"
        min={10}
        max={100_000}
        allowDecimal={false}
        value={rule.at_least_calls ?? ''}
        error={errors.at_least_calls}
        onChange={(value) => {
          const { at_least_calls: _, ...others } = rule;
          onChange(typeof value === 'number' ? { ...others, at_least_calls: value } : others);
        }}
        w={120}
      />
      <Group pt={24}>
        <Remove label={`alert about ${name}`} onClick={onRemove} />
      </Group>
    </Group>
  );
}

const LABELS = { above: 'Alert above, %', below: 'Alert below, %' } as const;

function Limit({
  side,
  rule,
  error,
  onChange,
}: {
  side: Side;
  rule: AlertRule;
  error: string | undefined;
  onChange: (rule: AlertRule) => void;
}) {
  const limit = rule[side];
  const isLearned = limit === LEARNED;
  return (
    <Stack gap={6} w={150}>
      <NumberInput
        label={LABELS[side]}
        placeholder={isLearned ? 'Learned' : 'No limit'}
        disabled={isLearned}
        decimalScale={2}
        value={typeof limit === 'number' ? Math.round(limit * 10_000) / 100 : ''}
        error={error}
        onChange={(value) =>
          onChange(withLimit(rule, side, typeof value === 'number' ? value / 100 : undefined))
        }
      />
      <Switch
        size="xs"
        label="Learn it"
        aria-label={`Learn it: the limit ${side} for ${labelOf(rule.rate)}`}
        checked={isLearned}
        onChange={(event) =>
          onChange(withLimit(rule, side, event.currentTarget.checked ? LEARNED : undefined))
        }
      />
    </Stack>
  );
}
