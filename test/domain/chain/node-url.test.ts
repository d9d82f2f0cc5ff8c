import { expect, test } from 'bun:test';
import { parseNodeUrl } from '../../../src/domain/chain/node-url.ts';

test.each([
  ['https://node.example.com/jsonrpc#TRON-PRO-API-KEY=a1-b2', 'TRON-PRO-API-KEY', 'a1-b2'],
  ['https://node.example.com/#Authorization=Bearer%20a=b', 'Authorization', 'Bearer a=b'],
])('the fragment of %s is a header', (text, name, value) => {
  const target = parseNodeUrl(text);
  expect(target?.header).toEqual({ name, value });
  expect(target?.url.href).not.toContain('#');
});

test('a URL without a fragment has no header', () => {
  expect(parseNodeUrl('http://127.0.0.1:8545')).toMatchObject({ header: null });
});

test.each([
  'ftp://node.example.com',
  'node.example.com',
  'https://node.example.com/#key',
  'https://node.example.com/#=value',
  'https://node.example.com/#Name=',
  'https://node.example.com/#Name=a%0ab',
  'https://node.example.com/#Name=%zz',
  'https://node.example.com/#Na me=a',
  'https://node.example.com/#Host=other',
  'https://node.example.com/#content-type=text/plain',
])('%s is not a node', (text) => {
  expect(parseNodeUrl(text)).toBeNull();
});
