import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MessageChannel, Worker } from 'node:worker_threads';
import { expect, onTestFinished, test, vi } from 'vitest';
import { temporaryFolder } from '../../engine/src/temporary-folder.fixture.js';
import { Channel, type ErrorClasses, type Handlers, transfer } from './channel.js';
import { Child, forkModule } from './child.js';

class ColorError extends Error {
  override readonly name = 'ColorError';
  constructor(
    readonly code: string,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** Knows one code, as a caller does that checks the codes of the other side. */
const errors: ErrorClasses = {
  ColorError: ({ code, message }, options) =>
    code === 'too_dark' ? new ColorError(code, message, options) : undefined,
};

interface Calculator {
  double(values: Float32Array): Float32Array;
  fail(message: string): void;
  untilAborted(): string;
  add(value: number): void;
  sum(): number;
}

function connect(): { caller: Channel<Calculator>; added: number[] } {
  const { port1, port2 } = new MessageChannel();
  onTestFinished(() => port1.close());
  const added: number[] = [];
  const handlers: Handlers<Calculator> = {
    double: (values) => {
      const doubled = values.map((value) => 2 * value);
      return transfer(doubled, [doubled.buffer]);
    },
    fail: async (message) => {
      throw new ColorError(message === 'no object' ? 'too_dark' : 'unknown', message, { cause: new Error('night') });
    },
    untilAborted: (_, signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve('aborted'))),
    add: (value) => void added.push(value),
    sum: () => added.reduce((total, value) => total + value, 0),
  };
  new Channel(port2, handlers);
  return { caller: new Channel<Calculator>(port1, {}, errors), added };
}

test('concurrent calls each get their own result', async () => {
  const { caller } = connect();
  const results = await Promise.all([1, 2, 3].map((value) => caller.call('double', new Float32Array([value]))));
  expect(results.map(([value]) => value)).toEqual([2, 4, 6]);
});

test('a buffer in the transfer list is moved, and any other is copied', async () => {
  const { caller } = connect();
  const copied = new Float32Array(8);
  await caller.call('double', copied);
  expect(copied).toHaveLength(8);
  const moved = new Float32Array(8);
  await caller.call('double', transfer(moved, [moved.buffer]));
  expect(moved).toHaveLength(0);
});

test('an error of the remote function keeps its class, code, message and cause', async () => {
  const { caller } = connect();
  const error = await caller.call('fail', 'no object').catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ColorError);
  expect(error).toMatchObject({ code: 'too_dark', message: 'no object', cause: { message: 'night' } });
});

test('an error that the caller does not know is an Error with the same message and the stack of the other side', async () => {
  const { caller } = connect();
  const error = await caller.call('fail', 'other').catch((thrown: unknown) => thrown);
  expect(error).not.toBeInstanceOf(ColorError);
  expect(error).toMatchObject({ message: 'other', stack: expect.stringContaining('channel.test.ts') });
});

test('aborting the signal of a call aborts the signal of the remote function', async () => {
  const { caller } = connect();
  const abort = new AbortController();
  const result = caller.call('untilAborted', undefined, { signal: abort.signal });
  abort.abort();
  expect(await result).toBe('aborted');
});

test('a call whose signal is already aborted rejects with its reason, and does not reach the other side', async () => {
  const { caller } = connect();
  const signal = AbortSignal.abort(new Error('canceled'));
  await expect(caller.call('untilAborted', undefined, { signal })).rejects.toThrow('canceled');
});

test('notifications arrive in order and before later calls', async () => {
  const { caller, added } = connect();
  for (const value of [1, 2, 3]) caller.notify('add', value);
  expect(await caller.call('sum', undefined)).toBe(6);
  expect(added).toEqual([1, 2, 3]);
});

test('a thread that is busy can handle the messages that have arrived', () => {
  const { port1, port2 } = new MessageChannel();
  onTestFinished(() => port1.close());
  const added: number[] = [];
  const receiver = new Channel(port2, { add: (value: number) => added.push(value) });
  new Channel<Calculator>(port1).notify('add', 1);
  receiver.receiveNow();
  expect(added).toEqual([1]);
});

/** Runs `program` in a child process that does not know the protocol. */
function childProcess(program: string): Child<Calculator> {
  const file = join(temporaryFolder(), 'program.mjs');
  writeFileSync(file, program);
  const child = new Child<Calculator>('calculator', () => forkModule(file, {}));
  onTestFinished(() => void child.kill());
  return child;
}

const ignoreMessages = "process.on('message', () => {});";

test('when a process ends, all pending calls and later ones reject with its exit', async () => {
  const child = childProcess("process.on('message', () => process.exit(7));");
  const pending = [child.call('sum', undefined), child.call('sum', undefined)];
  const exit = await child.ended;
  expect(exit).toMatchObject({ name: 'ExitError', message: 'the calculator ended with code 7', code: 7, signal: null });
  for (const call of [...pending, child.call('sum', undefined)]) await expect(call).rejects.toBe(exit);
  expect(child.hasEnded).toBe(true);
});

test('a process that another one kills is told from one that is killed here', async () => {
  const [killed, ended] = [childProcess(ignoreMessages), childProcess(ignoreMessages)];
  process.kill(killed.pid!, 'SIGKILL');
  expect(await killed.ended).toMatchObject({ signal: 'SIGKILL', killedByOthers: true });
  expect(await ended.kill()).toMatchObject({ signal: 'SIGKILL', killedByOthers: false });
});

test('a process that exceeds the time limit of a call is killed', async () => {
  const child = childProcess(ignoreMessages);
  await expect(child.call('sum', undefined, { timeoutMs: 10 })).rejects.toMatchObject({
    message: 'the calculator did not respond within 0.01 s',
    timedOut: true,
    signal: 'SIGKILL',
  });
});

test('a child that was started for one call ends when its signal is aborted, and the call rejects with the reason', async () => {
  const child = childProcess(ignoreMessages);
  const abort = new AbortController();
  const called = child.callOnce('sum', undefined, abort.signal);
  abort.abort(new Error('canceled'));
  await expect(called).rejects.toThrow('canceled');
  expect(child.hasEnded).toBe(true);
});

test('a child that was started for one call ends after it', async () => {
  const answer = "process.on('message', ({ id }) => process.send({ type: 'response', id, result: 3 }));";
  const child = childProcess(answer);
  const called = child.callOnce('sum', undefined, new AbortController().signal);
  expect(await called).toBe(3);
  expect(child.hasEnded).toBe(true);
});

test('a process that cannot be started has an exit without code and signal, with the reason', async () => {
  const start = () => forkModule('program.mjs', { execPath: '/nowhere/node' });
  const emitted = new Child<Calculator>('calculator', start);
  await expect(emitted.call('sum', undefined)).rejects.toMatchObject({
    message: expect.stringMatching(/^the calculator cannot be started: .*ENOENT/),
    code: null,
    signal: null,
  });
  const thrown = new Child<Calculator>('calculator', () => {
    throw new Error('spawn ENOMEM');
  });
  await expect(thrown.call('sum', undefined)).rejects.toThrow('the calculator cannot be started: spawn ENOMEM');
  expect((await thrown.kill()).cause).toMatchObject({ message: 'spawn ENOMEM' });
});

test('a process that cannot be started is not sent a signal, which would reach the whole process group', async () => {
  const endpoint = forkModule('program.mjs', { execPath: '/nowhere/node' });
  const sent = vi.spyOn(endpoint, 'kill').mockReturnValue(true);
  const child = new Child<Calculator>('calculator', () => endpoint);
  expect((await child.kill()).message).toMatch(/^the calculator cannot be started: .*ENOENT/);
  expect(sent).not.toHaveBeenCalled();
});

test('a thread that crashes rejects its calls with the reason, and does not end the process', async () => {
  const program = "require('worker_threads').parentPort.once('message', () => { throw new Error('out of range'); });";
  const child = new Child<Calculator>('calculator', () => new Worker(program, { eval: true }));
  await expect(child.call('sum', undefined)).rejects.toThrow('the calculator crashed: out of range');
});

test('what is not a message is ignored, and so is a notification without a function', async () => {
  const { port1, port2 } = new MessageChannel();
  onTestFinished(() => port1.close());
  new Channel(port2, { sum: () => 1 });
  const caller = new Channel<Pick<Calculator, 'sum' | 'add'>>(port1);
  for (const value of [null, 'text', {}, { type: 'other' }, { type: 'call', name: 1 }, { type: 'response', id: 'x' }]) {
    port1.postMessage(value);
  }
  for (const name of ['toString', 'constructor', '__proto__']) port1.postMessage({ type: 'call', name, input: 1 });
  caller.notify('add', 1);
  await expect(caller.call('add', 1)).rejects.toThrow('There is no function "add"');
  expect(await caller.call('sum', undefined)).toBe(1);
});
