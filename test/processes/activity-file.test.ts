import { tmpdir } from 'node:os';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  type ActivityFile,
  activityDescriptor,
  activityEnvironment,
  activityWriter,
  aliveDescriptor,
  closeActivityFile,
  noteAlive,
  openActivityFile,
  readActivity,
  readAlive,
} from '#processes/activity-file.ts';

function openFile(...folders: Parameters<typeof openActivityFile>): ActivityFile {
  const file = openActivityFile(...folders) as ActivityFile;
  onTestFinished(() => closeActivityFile(file.fd));
  return file;
}

describe('the file of a process that may hang', () => {
  it('has its last sign of life beside what it is doing', () => {
    const { fd } = openFile();
    expect([readActivity(fd), readAlive(fd)]).toEqual([null, null]);
    activityWriter(fd)('session ses_1');
    expect(readAlive(fd)).toBeNull();
    expect([noteAlive(fd, 1_234.5), noteAlive(fd, 1_734.75)]).toEqual([true, true]);
    activityWriter(fd)('session ses_2');
    expect([readActivity(fd), readAlive(fd)]).toEqual(['session ses_2', 1_734.75]);
  });

  it('says so if a sign of life cannot be noted', () => {
    expect([noteAlive(null, 1), noteAlive(-1, 1)]).toEqual([false, false]);
  });

  it('has no signs of life if it may be on a disk, for which an event loop would wait', () => {
    const missing = { path: '/nowhere', isInMemory: true };
    const file = openFile([missing, { path: tmpdir(), isInMemory: false }]);
    const environment = activityEnvironment(file);
    expect(file.isInMemory).toBe(false);
    expect([activityDescriptor(environment), aliveDescriptor(environment)]).toEqual([4, null]);
  });

  it('has both in memory, and a process without one writes nothing', () => {
    const inMemory = activityEnvironment({ fd: 7, isInMemory: true });
    expect([activityDescriptor(inMemory), aliveDescriptor(inMemory)]).toEqual([4, 4]);
    const without = activityEnvironment(null);
    expect([activityDescriptor(without), aliveDescriptor(without)]).toEqual([null, null]);
  });
});
