import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { type InputLine, MAX_LINE_BYTES, readLines } from '../../../src/cli/formats/input-lines.ts';

async function linesOf(chunks: readonly Uint8Array[]): Promise<InputLine[]> {
  const source = async function* () {
    yield* chunks;
  };
  return Array.fromAsync(readLines(source()));
}

function cut(bytes: Uint8Array, size: number): Uint8Array[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) => bytes.subarray(i * size, (i + 1) * size));
}

test('lines are the same wherever the stream is cut, even within a character', async () => {
  const line = fc.string({ unit: 'binary' }).filter((text) => !/[\r\n]|^\ufeff/.test(text) && text.isWellFormed());
  await fc.assert(
    fc.asyncProperty(fc.array(line), fc.integer({ min: 1, max: 9 }), async (texts, size) => {
      const bytes = new TextEncoder().encode(texts.map((text) => `${text}\n`).join(''));
      expect(await linesOf(cut(bytes, size))).toEqual(texts.map((text, index) => ({ line: index + 1, text })));
    }),
  );
});

test('a byte order mark, CRLF and a missing last line end are no part of any line', async () => {
  const found = await linesOf([Buffer.from('\ufeffone\r\ntwo\r\nthree')]);
  expect(found.map((line) => 'text' in line && line.text)).toEqual(['one', 'two', 'three']);
});

test('a line that is too long is passed over, and the next one is read', async () => {
  const endless = Array.from({ length: MAX_LINE_BYTES / 1024 + 48 }, () => Buffer.alloc(1024, 'x'));
  const found = await linesOf([...endless, Buffer.from('\nnext\n'), Buffer.alloc(MAX_LINE_BYTES, 'y')]);
  expect(found[0]).toEqual({ line: 1, error: 'is longer than 524288 bytes' });
  expect(found[1]).toEqual({ line: 2, text: 'next' });
  expect(found[2]).toEqual({ line: 3, text: 'y'.repeat(MAX_LINE_BYTES) });
});

test('a line that is not UTF-8 is named, and the next one is read', async () => {
  expect(await linesOf([Buffer.from([0xc3, 0x28, 0x0a, 0x41])])).toEqual([
    { line: 1, error: 'is not valid UTF-8' },
    { line: 2, text: 'A' },
  ]);
});
