import { describe, expect, test } from 'bun:test';
import { layOut } from '../../../src/cli/terminal/output.ts';

const HEADINGS = ['id', 'status', 'url'];
const ROWS = [
  ['dlv_1', 'delivered', 'https://example.com/'],
  ['dlv_22', 'ok', ''],
];

describe('a table', () => {
  test('has columns as wide as their widest cell, and no blanks at the end of a line', () => {
    expect(layOut(HEADINGS, ROWS, null)).toEqual([
      'id      status     url',
      'dlv_1   delivered  https://example.com/',
      'dlv_22  ok',
    ]);
  });

  test('stays a table on a terminal that is exactly as wide as it is', () => {
    expect(layOut(HEADINGS, ROWS, 39)).toEqual(layOut(HEADINGS, ROWS, null));
  });

  test('becomes a block for each row on a terminal that is narrower', () => {
    expect(layOut(HEADINGS, ROWS, 38)).toEqual([
      'id      dlv_1',
      'status  delivered',
      'url     https://example.com/',
      '',
      'id      dlv_22',
      'status  ok',
      'url',
    ]);
  });

  test('measures what is seen: colours take no room, wide characters two columns', () => {
    expect(
      layOut(
        ['a', 'b'],
        [
          ['\x1b[31mx\x1b[0m', '1'],
          ['日本', '2'],
        ],
        null,
      ),
    ).toEqual(['a     b', '\x1b[31mx\x1b[0m     1', '日本  2']);
  });
});
