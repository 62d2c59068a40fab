import { TaskErrorCode } from '@gen3d/schema';
import { expect, test } from 'vitest';
import { failureAdvice, jobName, retryMayHelp } from './jobs.js';

test('a job is named by its label, or else by the end of its id', () => {
  expect(jobName({ label: 'red ball.png', task_id: '01J9ZC3W8Q4V5N6M7P8R9S0T1A' })).toBe('red ball.png');
  expect(jobName({ label: null, task_id: '01J9ZC3W8Q4V5N6M7P8R9S0T1A' })).toBe('Model 9S0T1A');
});

test('every failure has advice, except a missing object, whose message says what to do', () => {
  const missing = TaskErrorCode.options.filter((code) => !(code in failureAdvice));
  expect(missing).toEqual(['no_foreground']);
});

test.each([
  [undefined, true],
  ['internal_error', true],
  ['image_fetch_failed', true],
  ['no_foreground', false],
  ['image_invalid', false],
])('after the error %s, trying the same photo again may help: %s', (code, mayHelp) => {
  const error = code === undefined ? undefined : { code, message: 'It failed.' };
  expect(retryMayHelp({ error } as Parameters<typeof retryMayHelp>[0])).toBe(mayHelp);
});
