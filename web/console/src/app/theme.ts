/**
 * Colours and defaults of the console. Text colours have a contrast of 4.5:1 against their background in both
 * schemes (WCAG AA).
 */
import { Alert, type CSSVariablesResolver, createTheme, type MantineColorsTuple } from '@mantine/core';

const indigo: MantineColorsTuple = [
  '#eef0ff',
  '#dfe1fd',
  '#bdc0f7',
  '#989df1',
  '#7a80ec',
  '#6169e8',
  '#4f46e5',
  '#4038c9',
  '#352fa8',
  '#2a2684',
];

/** Greys of the dark scheme, as blue as its surfaces. */
const dark: MantineColorsTuple = [
  '#cfd0dc',
  '#bcbdcc',
  '#868899',
  '#6b6d80',
  '#434457',
  '#363748',
  '#282837',
  '#1f1f2b',
  '#1b1b26',
  '#12121a',
];

export const theme = createTheme({
  primaryColor: 'indigo',
  colors: { indigo, dark },
  primaryShade: { light: 6, dark: 7 },
  autoContrast: true,
  defaultRadius: 'md',
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif',
  headings: { fontWeight: '650' },
  cursorType: 'pointer',
  respectReducedMotion: true,
  components: {
    // Some alert colours have too little contrast for the title.
    Alert: Alert.extend({ styles: { title: { color: 'var(--mantine-color-text)' } } }),
    // The close button needs a name for screen readers.
    CloseButton: { defaultProps: { 'aria-label': 'Close' } },
  },
});

/** Mantine's greys for secondary text lack contrast. */
export const resolveVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    '--mantine-color-body': '#f7f7fb',
    '--mantine-color-dimmed': '#565a6e',
    '--mantine-color-placeholder': '#676b7f',
    '--mantine-color-error': '#c2263e',
    '--card': '#ffffff',
    '--line': '#e3e3ee',
    '--user': '#0f766e',
    '--agent': '#4f46e5',
    '--mark': '#fff3c4',
  },
  dark: {
    '--mantine-color-body': '#12121a',
    '--mantine-color-dimmed': '#a9acbf',
    '--mantine-color-placeholder': '#969ab0',
    '--mantine-color-error': '#ff8a98',
    '--mantine-color-anchor': '#a3a8ff',
    '--card': '#1b1b26',
    '--line': '#2c2c3b',
    '--user': '#5eead4',
    '--agent': '#a3a8ff',
    '--mark': '#4a3f14',
  },
});
