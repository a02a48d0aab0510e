/**
 * Leaves in ./package.json only what builds the pages, so that an image is built without the product's
 * packages a second time and without those of the tests. `npm install` then takes the versions from the lock.
 */
import { readFileSync, writeFileSync } from 'node:fs';

/** The packages that the files of `web` import, and a peer of one of them. */
const PAGES = new Set([
  '@mantine/charts',
  '@mantine/core',
  '@mantine/hooks',
  '@mantine/notifications',
  '@tabler/icons-react',
  '@tanstack/react-query',
  '@vitejs/plugin-react',
  'gpt-tokenizer',
  'livekit-client',
  'react',
  'react-dom',
  'recharts',
  'vite',
  'wouter',
  'zod',
]);

const manifest = JSON.parse(readFileSync('package.json', 'utf8'));
for (const kind of ['dependencies', 'devDependencies'])
  manifest[kind] = Object.fromEntries(Object.entries(manifest[kind]).filter(([name]) => PAGES.has(name)));
writeFileSync('package.json', JSON.stringify(manifest, null, 2));
