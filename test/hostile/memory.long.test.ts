import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { startReceiver } from '../delivery/receivers.ts';
import { type Behaviour, bomb, ENDLESS } from './receivers.ts';

/**
 * What receivers that never end cost in memory, in a process of its own that does nothing but post to them. Kept in
 * memory, what eight of them at a time pour out or what eight bombs hold would be hundreds of megabytes.
 */

const ROUNDS = '2';
const DEADLINE_MS = '400';
/** Seen: 13 MiB at most. */
const GROWTH_MAX_BYTES = 64 * 2 ** 20;

const COSTLY: Record<string, Behaviour> = { ...ENDLESS, 'a gzip bomb': bomb('gzip'), 'a brotli bomb': bomb('br') };

describe('requests to a receiver that sends', () => {
  test.each(Object.entries(COSTLY))('%s cost bounded memory', async (_what, does) => {
    await using receiver = await startReceiver(does);
    const args = [join(import.meta.dir, 'memory-child.ts'), `http://127.0.0.1:${receiver.port}/`, ROUNDS, DEADLINE_MS];
    const child = Bun.spawn([process.execPath, ...args], { stdout: 'pipe' });
    const { grownBytes, requests } = JSON.parse(await new Response(child.stdout).text()) as {
      grownBytes: number;
      requests: number;
    };
    expect(requests).toBe(24);
    expect(grownBytes).toBeLessThan(GROWTH_MAX_BYTES);
  });
});
