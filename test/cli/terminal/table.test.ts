import { describe, expect, test } from 'bun:test';
import { type Fitting, layOut } from '../../../src/cli/terminal/table.ts';

const HEADINGS = ['id', 'status', 'url'];
const ROWS = [
  ['dlv_1', 'delivered', 'https://example.com/'],
  ['dlv_22', 'ok', ''],
];
const linesOf = (columns: number | null, fitting?: Fitting) => layOut(HEADINGS, ROWS, columns, fitting).lines;

describe('a table', () => {
  test('has columns as wide as their widest cell, and no blanks at the end of a line', () => {
    expect(linesOf(null)).toEqual(['id      status     url', 'dlv_1   delivered  https://example.com/', 'dlv_22  ok']);
  });

  test('stays a table on a terminal that is exactly as wide as it is', () => {
    expect(linesOf(39)).toEqual(linesOf(null));
  });

  test('becomes a block for each row on a terminal that is narrower', () => {
    expect(linesOf(38)).toEqual([
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
    const rows = [
      ['\x1b[31mx\x1b[0m', '1'],
      ['日本', '2'],
    ];
    expect(layOut(['a', 'b'], rows, null).lines).toEqual(['a     b', '\x1b[31mx\x1b[0m     1', '日本  2']);
  });
});

describe('a table that may lose something on a narrow terminal', () => {
  const fitting = { shorten: { url: 8 }, leaveOut: ['url', 'status'] };

  test('cuts a column first, as little as it must', () => {
    expect(layOut(HEADINGS, ROWS, 30, fitting)).toEqual({
      lines: ['id      status     url', 'dlv_1   delivered  example.c…/', 'dlv_22  ok'],
      leftOut: [],
      cutIds: [],
    });
  });

  test('then leaves columns out, and names them', () => {
    expect(layOut(HEADINGS, ROWS, 26, fitting)).toEqual({
      lines: ['id      status', 'dlv_1   delivered', 'dlv_22  ok'],
      leftOut: ['url'],
      cutIds: [],
    });
    expect(layOut(HEADINGS, ROWS, 16, fitting).leftOut).toEqual(['url', 'status']);
  });

  test('becomes blocks when even that is too wide, and is complete where there is no terminal', () => {
    expect(layOut(HEADINGS, ROWS, 5, fitting)).toEqual({ lines: linesOf(5), leftOut: [], cutIds: [] });
    expect(linesOf(null, fitting)).toEqual(linesOf(null));
  });

  test('keeps both ends of an id, which it names, and the path of a URL', () => {
    const rows = [['dlv_0199c2a6e0b17d3c8a54f1e2d3c4b5a6', 'https://billing.example.com/hooks/paybell']];
    const shorten = { 'delivery-id': 13, url: 20 };
    expect(layOut(['delivery-id', 'url'], rows, 60, { shorten, leaveOut: [] })).toEqual({
      lines: ['delivery-id        url', 'dlv_0199…d3c4b5a6  https://billing.example.com/hooks/paybell'],
      leftOut: [],
      cutIds: ['delivery-id'],
    });
    const narrow = layOut(['delivery-id', 'url'], rows, 36, { shorten, leaveOut: [] });
    expect(narrow.lines[1]).toBe('dlv_01…c4b5a6  billin…/hooks/paybell');
    expect(
      layOut(['url'], [['https://billing.example.com/hooks/paybell']], 8, { shorten: { url: 5 }, leaveOut: [] })
        .lines[1],
    ).toBe('…paybell');
  });

  test('cuts wide characters by what is seen', () => {
    const rows = [['日本語日本語', 'x']];
    expect(layOut(['name', 'b'], rows, 11, { shorten: { name: 4 }, leaveOut: [] }).lines[1]).toBe('日本語…   x');
  });
});
