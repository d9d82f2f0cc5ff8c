import { expect, test } from 'bun:test';
import { Progress } from '../../../src/cli/terminal/progress.ts';

function terminal(isTTY: boolean) {
  const written: string[] = [];
  return { isTTY, written, write: (text: string) => written.push(text) };
}

test('on a terminal progress is redrawn at most ten times a second, and cleared at the end', () => {
  const screen = terminal(true);
  let nowMs = 0;
  const progress = new Progress(screen, () => nowMs);
  for (nowMs = 0; nowMs <= 100; nowMs += 50) progress.show(0.5, `at ${nowMs}`);
  progress.clear();
  const halfFull = `${'█'.repeat(15)}${'░'.repeat(15)} 50 %`;
  expect(screen.written).toEqual([`\r\x1b[2K${halfFull} at 0`, `\r\x1b[2K${halfFull} at 100`, '\r\x1b[2K']);
});

test('without a total only the count is shown', () => {
  const screen = terminal(true);
  new Progress(screen, () => 0).show(null, '7 webhooks');
  expect(screen.written).toEqual(['\r\x1b[2K7 webhooks']);
});

test('nothing is written to a file or a pipe', () => {
  const pipe = terminal(false);
  const progress = new Progress(pipe, () => 0);
  progress.show(0.5, 'half');
  progress.clear();
  expect(pipe.written).toEqual([]);
});
