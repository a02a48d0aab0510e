/**
 * Tables: on a phone each row is a card; elsewhere wide tables scroll within themselves, also by keyboard.
 */
import { Table } from '@mantine/core';
import type { CSSProperties, ReactNode } from 'react';

export function DataTable({
  label,
  heads,
  children,
}: {
  label: string;
  heads: readonly string[];
  children: ReactNode;
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard (WCAG 2.1.1).
    <section className="card flush scroll-x" aria-label={label} tabIndex={0}>
      <Table
        className="stacked"
        style={headsOf(heads)}
        verticalSpacing="sm"
        horizontalSpacing="md"
        highlightOnHover
      >
        <Table.Thead>
          <Table.Tr>
            {heads.map((head) => (
              <Table.Th key={head} fz="xs" c="dimmed" className="nowrap">
                {head}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>{children}</Table.Tbody>
      </Table>
    </section>
  );
}

/** The headings as CSS variables: the style sheet puts them before each cell of a card. */
export function headsOf(heads: readonly string[]): CSSProperties {
  return Object.fromEntries(heads.map((head, index) => [`--head-${index + 1}`, JSON.stringify(head)]));
}

/** Content that may be wider than its card. */
export function Scrollable({ label, children }: { label: string; children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard (WCAG 2.1.1).
    <section className="scroll-x" aria-label={label} tabIndex={0}>
      {children}
    </section>
  );
}
