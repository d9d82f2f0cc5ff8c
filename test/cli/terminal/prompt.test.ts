import { describe, expect, test } from 'bun:test';
import { EventEmitter } from 'node:events';
import { prompt } from '../../../src/cli/terminal/prompt.ts';

/** A fake terminal that records what it shows. */
class Terminal extends EventEmitter {
  shown = '';
  modes: boolean[] = [];
  setRawMode(raw: boolean): void {
    this.modes.push(raw);
  }
  resume(): void {}
  pause(): void {}
  write(text: string): void {
    this.shown += text;
  }
}

async function type(keys: string, secret: boolean): Promise<{ terminal: Terminal; answer: string | Error }> {
  const terminal = new Terminal();
  const asked = prompt(terminal, 'Key: ', { secret, output: terminal });
  terminal.emit('data', Buffer.from(keys));
  return { terminal, answer: await asked.catch((error) => error) };
}

describe('a prompt', () => {
  test('echoes what is typed, and erases what is deleted', async () => {
    const { terminal, answer } = await type('ent_2\x7f1\r', false);
    expect([answer, terminal.shown]).toEqual(['ent_1', 'Key: ent_2\b \b1\n']);
  });

  test('for a secret echoes nothing, not even its length', async () => {
    const { terminal, answer } = await type(' pbk_x\x7fsecret \n', true);
    expect([answer, terminal.shown]).toEqual(['pbk_secret', 'Key: \n']);
  });

  test.each(['\x03', 'pbk_\x03', '\x04'])('is cancelled by %j', async (keys) => {
    const { terminal, answer } = await type(keys, true);
    expect(String(answer)).toContain('nothing was stored');
    expect(terminal.modes).toEqual([true, false]);
  });

  test('restores the terminal and removes its listener', async () => {
    const { terminal } = await type('x\r', true);
    expect([terminal.modes, terminal.listenerCount('data')]).toEqual([[true, false], 0]);
  });
});
