import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { itNeeds } from '../needs.ts';

const LIBRARY = join(import.meta.dirname, '../../libraries/python');

itNeeds(['python3'])('the Python library passes its own tests (libraries/python/tests)', () => {
  execFileSync('python3', ['-B', '-W', 'error', '-m', 'unittest', 'discover', '-t', '.', '-s', 'tests'], {
    cwd: LIBRARY,
    stdio: 'pipe',
  });
});
