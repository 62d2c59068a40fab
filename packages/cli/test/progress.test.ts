import type { Task } from '@gen3d/sdk';
import { expect, test } from 'vitest';
import { showState } from '../src/terminal/progress.js';

const task: Task = {
  task_id: '01J9ZC3W8Q4V5N6M7P8R9S0T1A',
  type: 'image-to-3d',
  status: 'QUEUED',
  progress: 25,
  created_at: '2026-01-02T03:04:05.000Z',
  finished_at: null,
};

/** The display's input for a photo. */
function shown() {
  const states: string[] = [];
  const display = {
    update: (_: string, state: string) => states.push(state),
    finish: () => {},
    stop: () => {},
  };
  return { states, show: showState(display, 'cup.png') };
}

test('a waiting job shows its position, and a running one its stage', () => {
  const { states, show } = shown();
  show(task, { position: 3 });
  show({ ...task, status: 'IN_PROGRESS', progress: 60 }, { stage: 'bake' });
  // A server without these headers.
  show({ ...task, status: 'IN_PROGRESS', progress: 60 }, {});
  expect(states).toEqual(['queued, 2 ahead of it, 25 %', 'painting the texture, 60 %', 'creating the model, 60 %']);
});
