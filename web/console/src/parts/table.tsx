/** Tables that scroll inside themselves where they are too wide, by keyboard too. */
import { Table } from '@mantine/core';
import type { ReactNode } from 'react';

export function DataTable({ label, heads, children }: { label: string; heads: readonly string[]; children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard (WCAG 2.1.1).
    <section className="card flush scroll-x" aria-label={label} tabIndex={0}>
      <Table verticalSpacing="sm" horizontalSpacing="md" highlightOnHover miw={640}>
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

/** What may be wider than its card. */
export function Scrollable({ label, children }: { label: string; children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard (WCAG 2.1.1).
    <section className="scroll-x" aria-label={label} tabIndex={0}>
      {children}
    </section>
  );
}
