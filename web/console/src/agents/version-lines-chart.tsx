/** The chart of figures over time by version. */
import '@mantine/charts/styles.css';
import { LineChart, type LineChartProps } from '@mantine/charts';

const COLORS = ['indigo.5', 'orange.5', 'teal.6', 'grape.5', 'red.5', 'blue.5', 'lime.6', 'gray.5'];

/** The figures of an instant by number of the version; null where a version has none. */
export interface VersionsAt {
  /** As it is shown. */
  readonly at: string;
  readonly figures: readonly (readonly [version: number, figure: number | null])[];
}

export interface VersionLinesProps extends Pick<LineChartProps, 'h' | 'withLegend' | 'yAxisProps'> {
  readonly versions: readonly number[];
  readonly rows: readonly VersionsAt[];
}

export default function VersionLinesChart({ versions, rows, ...chart }: VersionLinesProps) {
  return (
    <LineChart
      {...chart}
      data={rows.map(({ at, figures }) => ({
        at,
        ...Object.fromEntries(figures.map(([version, figure]) => [nameOf(version), figure])),
      }))}
      dataKey="at"
      connectNulls
      textColor="var(--mantine-color-dimmed)"
      gridAxis="x"
      series={versions.map((version, index) => ({
        name: nameOf(version),
        color: COLORS[index % COLORS.length] ?? 'gray.5',
      }))}
    />
  );
}

function nameOf(version: number): string {
  return `Version ${version}`;
}
