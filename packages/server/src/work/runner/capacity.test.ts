import { expect, test } from 'vitest';
import { slotsOf } from './capacity.js';

const gb = 1e9;

test.each([
  { what: 'one per core', cores: 4, memoryBytes: 16 * gb, runners: 1, slots: 4 },
  {
    what: 'one per two cores that also run the networks',
    cores: 4,
    networksOnCpu: true,
    memoryBytes: 16 * gb,
    runners: 1,
    slots: 2,
  },
  {
    what: 'one on one core that also runs the networks',
    cores: 1,
    networksOnCpu: true,
    memoryBytes: 16 * gb,
    runners: 1,
    slots: 1,
  },
  { what: 'one per core of its share', cores: 8, memoryBytes: 64 * gb, runners: 3, slots: 2 },
  { what: 'one, even if there are more runners than cores', cores: 2, memoryBytes: 64 * gb, runners: 5, slots: 1 },
  { what: 'lower where memory is short', cores: 16, memoryBytes: 3.1 * gb, runners: 1, slots: 4 },
  { what: 'limited by its share of the memory', cores: 16, memoryBytes: 4.2 * gb, runners: 2, slots: 2 },
  { what: 'one in a small container', cores: 16, memoryBytes: 0.5 * gb, runners: 1, slots: 1 },
  { what: 'limited on large machines', cores: 192, memoryBytes: 768 * gb, runners: 1, slots: 32 },
])('the number of slots of a runner is $what: $slots', ({ slots, runners, networksOnCpu = false, ...machine }) => {
  expect(slotsOf(machine, runners, networksOnCpu)).toBe(slots);
});
